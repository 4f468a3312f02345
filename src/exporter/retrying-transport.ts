import { type Clock } from '../model/clock.ts'
import { type SendOutcome, type Transport } from '../model/send-outcome.ts'
import { type Sleep } from './sleep.ts'

/** The `retry_on_failure` settings of an exporter, all times in milliseconds. */
export interface RetrySettings {
  enabled: boolean
  initialIntervalMs: number
  multiplier: number
  /** Spreads each delay over [1 - factor, 1 + factor] times the interval. */
  randomizationFactor: number
  maxIntervalMs: number
  /** When to give a batch up, counted from its first attempt; 0 means never. */
  maxElapsedMs: number
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
  /** Called before each wait; log it as `WILL_RETRY` of failure-log.ts. */
  onRetry: (notice: RetryNotice) => void
}

/** A timer given more fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Repeats a send that may be repeated, waiting longer each time and never less than the backend asked for
 * (OTLP specification, "Failures" and "Throttling"). It answers retry only when the signal aborts, which ends
 * the wait at once; what is out of retries is refused. It closes the transport it wraps.
 */
export function retrying(transport: Transport, retry: RetrySettings, tools: RetryTools): Transport {
  return {
    async send(request, signal) {
      const startedMs = tools.clock.monotonicMs()
      const stopped = (): boolean => signal.aborted
      let intervalMs = retry.initialIntervalMs
      for (;;) {
        const outcome = await transport.send(request, signal)
        if (outcome.kind !== 'retry' || stopped()) return outcome
        if (!retry.enabled) return givenUp(`not retried, since retry_on_failure is off: ${outcome.reason}`)
        const delayMs = delayBefore(intervalMs, outcome.afterMs, retry, tools.random)
        if (retry.maxElapsedMs > 0 && tools.clock.monotonicMs() - startedMs + delayMs > retry.maxElapsedMs) {
          return givenUp(`no more retries left within ${retry.maxElapsedMs} ms: ${outcome.reason}`)
        }
        tools.onRetry({ reason: outcome.reason, delayMs })
        await tools.sleep(delayMs, signal)
        if (stopped()) return outcome
        intervalMs = Math.min(intervalMs * retry.multiplier, retry.maxIntervalMs)
      }
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

function delayBefore(
  intervalMs: number,
  afterMs: number | undefined,
  retry: RetrySettings,
  random: () => number,
): number {
  const spread = 1 + retry.randomizationFactor * (2 * random() - 1)
  return Math.min(Math.max(Math.round(intervalMs * spread), afterMs ?? 0), MAX_TIMER_MS)
}

function givenUp(reason: string): SendOutcome {
  return { kind: 'refused', splittable: false, reason }
}
