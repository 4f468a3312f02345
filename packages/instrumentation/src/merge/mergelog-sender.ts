import {
  type Attributes,
  context,
  type Context,
  type Counter,
  type HrTime,
  type Logger,
  type LoggerProvider,
  logs,
  type MeterProvider,
  metrics,
  trace,
  TraceFlags,
} from '@opentelemetry/api'
import {
  CPID_NEW,
  CPID_OBJECT,
  CPID_REASON,
  CPID_SOURCES,
  CPID_WRITER,
  MERGELOG_EVENT,
} from '../attributes.ts'
import type { Mergelog } from './merge-trace-contexts.ts'
import { SCOPE } from '../scope.ts'

const MS_PER_SECOND = 1_000
const NS_PER_MS = 1_000_000

/** Details of a mergelog for auditors. */
export interface MergelogDetail {
  /** The reference of the object that carries the new CPID. */
  object?: string | undefined
  /** Why the change was made, in a few words. */
  reason?: string | undefined
  /** Who made the change, if not the reporter. */
  writer?: string | undefined
}

/**
 * Passes mergelogs to the OpenTelemetry SDK: as log records, or as events of the active span if no logger is enabled. Never throws;
 * mergelogs that neither accepts are counted as lost.
 */
export class MergelogSender {
  readonly #losses = new LossCounter()
  readonly #nowMs: () => number
  readonly #provider: LoggerProvider | undefined

  /** Mergelogs go to whichever logger provider is registered, unless one is given. */
  constructor(nowMs: () => number, provider?: LoggerProvider) {
    this.#nowMs = nowMs
    this.#provider = provider
  }

  /** How many mergelogs neither a logger nor a span took. */
  get losses(): number {
    return this.#losses.count
  }

  /** `atMs` is when the changes merged, in milliseconds since 1970: now unless given. */
  send(mergelog: Mergelog, detail: MergelogDetail, atMs?: number): void {
    this.#losses.publish()
    try {
      const attributes = attributesOf(mergelog, detail)
      const timestamp = hrTime(atMs ?? this.#nowMs())
      if (
        !emitRecord(this.#provider ?? logs, bodyOf(mergelog), attributes, timestamp) &&
        !addEvent(attributes, timestamp)
      ) {
        this.#losses.add()
      }
    } catch {
      this.#losses.add()
    }
  }
}

function emitRecord(
  provider: Pick<LoggerProvider, 'getLogger'>,
  body: string,
  attributes: Attributes,
  timestamp: HrTime,
): boolean {
  const logger = provider.getLogger(SCOPE)
  const takenIn = contextTaken(logger)
  if (takenIn === undefined) return false
  logger.emit({ eventName: MERGELOG_EVENT, timestamp, body, attributes, context: takenIn })
  return true
}

/** The context for the record. A logger may drop records of unsampled spans, so a mergelog is then sent without its span. */
function contextTaken(logger: Logger): Context | undefined {
  const active = context.active()
  if (logger.enabled({ context: active, eventName: MERGELOG_EVENT })) return active
  const spanless = trace.deleteSpan(active)
  return logger.enabled({ context: spanless, eventName: MERGELOG_EVENT }) ? spanless : undefined
}

function addEvent(attributes: Attributes, timestamp: HrTime): boolean {
  const span = trace.getActiveSpan()
  if (span === undefined || !span.isRecording()) return false
  if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return false
  span.addEvent(MERGELOG_EVENT, attributes, timestamp)
  return true
}

/** An HrTime, since OpenTelemetry reads a small number as a `performance.now()` value. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / MS_PER_SECOND)
  return [seconds, Math.floor((ms - seconds * MS_PER_SECOND) * NS_PER_MS)]
}

function attributesOf({ cpid, sources }: Mergelog, { object, reason, writer }: MergelogDetail): Attributes {
  const attributes: Attributes = { [CPID_NEW]: cpid, [CPID_SOURCES]: [...sources] }
  if (object !== undefined) attributes[CPID_OBJECT] = object
  if (reason !== undefined) attributes[CPID_REASON] = reason
  if (writer !== undefined) attributes[CPID_WRITER] = writer
  return attributes
}

function bodyOf({ cpid, sources }: Mergelog): string {
  return sources.length === 0 ? `change ${cpid} begins` : `${sources.length} changes merge into ${cpid}`
}

/** The counter of mergelogs that neither a logger nor a span took. */
const LOST_MERGELOGS = 'cpid.instrumentation.lost_mergelogs'

/** Counts losses, and reports them to the registered meter provider, even one registered late. */
class LossCounter {
  #count = 0
  #reported = 0
  #provider: MeterProvider | undefined
  #counter: Counter | undefined

  get count(): number {
    return this.#count
  }

  add(): void {
    this.#count++
    this.publish()
  }

  /** Reports new losses, and all of them to a newly registered meter provider; creates the counter even at 0. */
  publish(): void {
    try {
      const provider = metrics.getMeterProvider()
      if (provider !== this.#provider) {
        this.#provider = provider
        this.#reported = 0
        this.#counter = provider.getMeter(SCOPE).createCounter(LOST_MERGELOGS, {
          unit: '{mergelog}',
          description: 'Mergelogs that neither a logger nor a sampled span took.',
        })
        this.#counter.add(0)
      }
      if (this.#reported === this.#count) return
      this.#counter?.add(this.#count - this.#reported)
      this.#reported = this.#count
    } catch {
      // A failing meter provider must not fail the controller; the count is kept.
    }
  }
}
