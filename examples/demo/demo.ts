import { once } from 'node:events'
import { constants } from 'node:os'
import { refuseBusyPorts, refuseSilence } from './processes/busy-ports.ts'
import { relatedTo, waitUntilRelated, waitUntilSettled } from './cascade-watch.ts'
import { buildDashboard } from './build-dashboard.ts'
import { runCauseway, startCauseway } from './processes/causeway-process.ts'
import { settleCausewaySettings, type CausewaySettings } from './processes/causeway-settings.ts'
import { onLauncherGone } from './processes/launcher-watch.ts'
import { describeStory, lookUp, nextSteps, traceIdOf } from './next-steps.ts'
import { readOptions, USAGE, type Options } from './options.ts'
import { tellStory, type Story } from './story.ts'

const PATIENCE_MS = 60_000
const SIGNALLED = 128

const stop = new AbortController()
// A second Ctrl-C would otherwise end it before it has ended what it started.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))
onLauncherGone(() => stop.abort('SIGHUP'))

try {
  const options = readOptions(process.argv.slice(2))
  if (options === undefined) process.stdout.write(USAGE)
  else if (options.endpoint === undefined) await runWithOwnCauseway(options)
  else await runAgainst(options.endpoint, options)
} catch (error) {
  const reason: unknown = stop.signal.aborted ? stop.signal.reason : error
  if (isSignal(reason)) process.exitCode = SIGNALLED + constants.signals[reason]
  else fail(reason)
}

async function runWithOwnCauseway(options: Options): Promise<void> {
  const say = speaker(options)
  const settings = settleCausewaySettings(options)
  const { otlp, query, storagePath } = settings
  await refuseBusyPorts(settings.listeners)
  await buildDashboard(fail, stop.signal)
  say(`Causeway starts: OTLP on ${otlp}, queries on ${query}, database ${storagePath}\n`)
  await using running = new AsyncDisposableStack()
  const receiver = startCauseway(settings, stop)
  running.defer(async () => (await receiver.catch(() => undefined))?.[Symbol.asyncDispose]())
  const story = await tellStory({ otlp, receiver, say, complain: fail, stop: stop.signal })
  say(`${describeStory(story)}\n\nWaiting for the cascade of α to settle ...\n`)
  const longestMs = settings.settlingMs + PATIENCE_MS
  if (!(await waitUntilSettled(story.alpha, { query, longestMs, stop: stop.signal }))) {
    fail(`The cascade of α has not settled within ${longestMs / 1000} s; what there is of it:`)
  }
  if (options.json) printJson(story)
  else {
    say(await cascadeOf(story, settings))
    say(await nextSteps(story, settings, options.keep))
  }
  if (options.keep) await untilInterrupted()
}

async function runAgainst(otlp: string, options: Options): Promise<void> {
  const say = speaker(options)
  const { query } = options
  await refuseSilence(otlp, '--endpoint')
  if (query !== undefined) await refuseSilence(query, '--query')
  const story = await tellStory({ otlp, say, complain: fail, stop: stop.signal })
  say(describeStory(story))
  if (query !== undefined) {
    const waiting = { query, longestMs: PATIENCE_MS, stop: stop.signal }
    if (!(await waitUntilRelated(story.gamma, story.alpha, waiting))) {
      fail(`${query} has not heard of γ within ${PATIENCE_MS / 1000} s; what it relates to α:`)
    }
    say(await describeRelated(story, query))
  }
  if (options.json) printJson(story)
  else say(lookUp(story, query))
}

async function untilInterrupted(): Promise<void> {
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
  if (!isSignal(stop.signal.reason)) throw stop.signal.reason
}

function isSignal(reason: unknown): reason is NodeJS.Signals {
  return typeof reason === 'string'
}

/** What `causeway cascade` prints, or at least the CPIDs when it fails. */
async function cascadeOf(story: Story, { args, query }: CausewaySettings): Promise<string> {
  try {
    return (await runCauseway(['cascade', story.alpha, ...args], stop.signal)).trimEnd()
  } catch (error) {
    stop.signal.throwIfAborted()
    fail(error)
    return describeRelated(story, query)
  }
}

async function describeRelated({ alpha }: Story, query: string): Promise<string> {
  const related = await relatedTo(alpha, { query, stop: stop.signal })
  return ['\nRelated to α:', ...related].join('\n  ')
}

function printJson(story: Story): void {
  console.log(JSON.stringify({ ...story, traceId: traceIdOf(story.alpha) }))
}

function speaker({ json }: Options): (text: string) => void {
  return json ? () => undefined : console.log
}

/** Says what went wrong; the demo goes on, but will have failed. */
function fail(reason: unknown): void {
  console.error(reason instanceof Error ? reason.message : reason)
  process.exitCode = 1
}
