import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { HttpClient } from '../../packages/control-plane/api/http-client.ts'
import { Chance } from '../../packages/control-plane/chance.ts'
import { REAL_CLOCK } from '../../packages/control-plane/real-clock.ts'
import type { ControllerContext } from '../../packages/control-plane/runtime/controller.ts'
import { tracedWork } from '../../packages/control-plane/runtime/traced-work.ts'
import type { Cue, Report } from './report.ts'
import { startTelemetry, tracing } from './telemetry.ts'

/** A slow machine may need long to send the last of a story; what is sent for a story that broke off is of no use. */
const LONGEST_FLUSH_MS = { over: 15_000, brokenOff: 3_000 }
const MAX_SEEDS = 2 ** 32

/**
 * Runs a process of the demo: until `play` is over, or until the demo says so, or until the channel between them ends
 * because the demo died. What the SDK still holds is sent first.
 */
export async function onStage(play: (surroundings: ControllerContext) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  for (const event of ['disconnect', 'SIGINT', 'SIGTERM']) process.once(event, () => stop.abort())
  let longestFlushMs = LONGEST_FLUSH_MS.brokenOff
  process.on('message', (cue: Cue) => {
    if (cue !== 'end' || stop.signal.aborted) return
    longestFlushMs = LONGEST_FLUSH_MS.over
    stop.abort()
  })
  if (!process.connected) stop.abort()
  const sdk = startTelemetry(complain)
  const client = new HttpClient(process.env['DEMO_API_SERVER'] ?? '')
  const onWritten = (written: object) => report({ kind: 'wrote', ...written } as Report)
  try {
    await play({
      client,
      clock: REAL_CLOCK,
      chance: new Chance(randomInt(MAX_SEEDS)),
      signal: stop.signal,
      doWork: tracedWork(client, { ...tracing(), onWritten }),
      complain: (error) => complain(messageOf(error)),
      ready: () => report({ kind: 'ready' }),
    })
  } catch (error) {
    if (!stop.signal.aborted) {
      complain(messageOf(error))
      process.exitCode = 1
    }
  }
  // The SDK has complained already about what it could not send.
  await Promise.race([sdk.shutdown().catch(() => undefined), sleep(longestFlushMs)])
  process.exit()
}

function report(what: Report): void {
  if (process.connected) process.send?.(what)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** One line for what may be an error with its stack, written as JSON. */
function complain(message: string): void {
  const whole = /"message":"((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message
  console.error(whole.split('\n', 1).join(''))
}
