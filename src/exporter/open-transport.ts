import { setTimeout as wait } from 'node:timers/promises'
import type { ComponentConfig, ExporterConfig, RetryConfig } from '../config/causeway-config.ts'
import { typeNamed } from '../config/component-type.ts'
import type { Signal } from '../model/otlp-requests.ts'
import type { SendOutcome, Transport } from '../model/outbox.ts'
import type { Clock } from '../model/time-and-size.ts'
import type { Credentials } from '../platform/credentials.ts'
import { systemClock } from '../platform/system-clock.ts'
import type { Archive } from './archive.ts'
import type { ArchiveHost, ExporterTypes } from './exporter-type.ts'

interface SendingHooks {
  components: ExporterTypes
  userAgent: string
  /** The credentials of exporters by id. */
  authenticators: readonly ComponentConfig[]
  /** How long a request may take, whatever is configured, in milliseconds. */
  longestMs?: number
  writeLine: (line: string) => void
  /** Called with a warning for the operator, such as unreadable certificates; sending goes on. */
  onTrouble: (reason: string) => void
}

interface TransportHooks extends SendingHooks {
  onRetry: (notice: RetryNotice) => void
  /** Aborted when retries are to stop; requests in flight go on. */
  ending?: AbortSignal
}

/** Opens the transport of a configured exporter for a signal, with retries. Rejects when a setting is unusable. */
export async function openTransport(
  config: ExporterConfig,
  signal: Signal,
  hooks: TransportHooks,
): Promise<Transport> {
  const transport = await openOnce(config, signal, hooks)
  const { retry } = config.sending
  if (retry === undefined) return transport
  const { onRetry, ending } = hooks
  const tools = { clock: systemClock, sleep, random: Math.random, onRetry }
  return retrying(transport, retry, ending === undefined ? tools : { ...tools, ending })
}

/** The same without retries. Rejects when a setting is unusable. */
export async function openOnce(
  config: ExporterConfig,
  signal: Signal,
  hooks: SendingHooks,
): Promise<Transport> {
  const { components, userAgent, longestMs, writeLine, onTrouble } = hooks
  const exporter = await typeNamed(components.exporters, config.type)?.load()
  if (exporter === undefined) throw new Error(`there is no exporter of the type ${config.type}`)
  using open = new DisposableStack()
  const credentials = open.use(await openCredentials(config, hooks))
  const host = { clock: systemClock, userAgent, longestMs, writeLine, onTrouble, credentials }
  const transport = exporter.openTransport(config.settings, signal, host)
  // From here on the transport disposes of them.
  open.move()
  return transport
}

/** Opens an archive of the configuration. Rejects when a setting is unusable. */
export async function openArchive(
  config: ExporterConfig,
  instance: string,
  { components, userAgent, writeLine, onTrouble, onLoss }: SendingHooks & Pick<ArchiveHost, 'onLoss'>,
): Promise<Archive> {
  const module = await typeNamed(components.exporters, config.type)?.archive?.load()
  if (module === undefined) throw new Error(`there is no archive of the type ${config.type}`)
  return module.openArchive(config.settings, {
    clock: systemClock,
    userAgent,
    writeLine,
    onTrouble,
    onLoss,
    instance,
  })
}

async function openCredentials(
  { auth }: ExporterConfig,
  { components, authenticators, onTrouble }: SendingHooks,
): Promise<Credentials | undefined> {
  if (auth === undefined) return undefined
  const named = authenticators.find(({ id }) => id === auth)
  const module = named && (await typeNamed(components.extensions, named.type)?.loadCredentials?.())
  if (named === undefined || module === undefined) throw new Error(`the authenticator ${auth} is not there`)
  return module.openCredentials(named.id, named.settings, { onTrouble })
}

export interface RetryNotice {
  reason: string
  delayMs: number
}

export interface RetryTools {
  clock: Pick<Clock, 'monotonicMs'>
  sleep: Sleep
  /** A number from 0 up to 1. */
  random: () => number
  /** Called before each wait; log it as `WILL_RETRY`. */
  onRetry: (notice: RetryNotice) => void
  /** Aborted when retries are to stop; requests in flight go on. */
  ending?: AbortSignal
}

/** The longest Retry-After that is honoured, unless `max_interval` is longer. A Collector gives up after the same time. */
const LONGEST_ASKED_MS = 300_000
/** The longest delay of a timer; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Retries with growing delays, not shorter than the backend asked for, up to five minutes (OTLP specification, "Failures" and "Throttling"). It
 * answers retry only when the signal or `ending` aborts, which ends the wait at once; after the last retry it answers refused. It closes
 * the transport it wraps.
 */
export function retrying(transport: Transport, retry: RetryConfig, tools: RetryTools): Transport {
  return {
    async send(request, signal) {
      const startedMs = tools.clock.monotonicMs()
      const stopped = (): boolean => signal.aborted || tools.ending?.aborted === true
      let ended: AbortSignal | undefined
      let intervalMs = retry.initialIntervalMs
      for (;;) {
        const outcome = await transport.send(request, signal)
        if (outcome.kind !== 'retry' || stopped()) return outcome
        if (!retry.enabled) return givenUp(`not retried, since retry_on_failure is off: ${outcome.reason}`)
        const delayMs = retryDelayMs(intervalMs, outcome.afterMs, retry, tools.random)
        if (retry.maxElapsedMs > 0 && tools.clock.monotonicMs() - startedMs + delayMs > retry.maxElapsedMs) {
          return givenUp(`no more retries left within ${retry.maxElapsedMs} ms: ${outcome.reason}`)
        }
        tools.onRetry({ reason: outcome.reason, delayMs })
        ended ??= tools.ending === undefined ? signal : AbortSignal.any([signal, tools.ending])
        await tools.sleep(delayMs, ended)
        if (stopped()) return outcome
        intervalMs = Math.min(intervalMs * retry.multiplier, retry.maxIntervalMs)
      }
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

export function retryDelayMs(
  intervalMs: number,
  afterMs: number | undefined,
  retry: RetryConfig,
  random: () => number,
): number {
  const spread = 1 + retry.randomizationFactor * (2 * random() - 1)
  const askedMs = Math.min(afterMs ?? 0, Math.max(LONGEST_ASKED_MS, retry.maxIntervalMs))
  return Math.min(Math.max(Math.round(intervalMs * spread), askedMs), MAX_TIMER_MS)
}

function givenUp(reason: string): SendOutcome {
  return { kind: 'refused', splittable: false, reason }
}

/** Resolves after `ms` milliseconds, or at once when the signal aborts; never rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

export const sleep: Sleep = async (ms, signal) => {
  try {
    await wait(ms, undefined, { signal })
  } catch {
    // Aborted: the wait ends early.
  }
}

/** The Collector's log message when a backend is down. */
export const WILL_RETRY = 'Exporting failed. Will retry the request after interval.'

/** The Collector's log message when data is dropped. */
export const DROPPING = 'Exporting failed. Dropping data.'
