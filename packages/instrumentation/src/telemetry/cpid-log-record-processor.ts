import { context, type Attributes, type Context } from '@opentelemetry/api'
import { CPID_ANCESTORS, CPID_ID, MERGELOG_EVENT } from '../attributes.ts'
import { getTraceContext } from '../context/active-trace-context.ts'

/** The used members of an SDK log record. */
export interface EmittedLogRecord {
  readonly attributes?: Attributes
  readonly eventName?: string
  setAttribute(key: string, value: unknown): unknown
}

/**
 * A log record processor for any SDK (OpenTelemetry specification, Logs SDK, LogRecordProcessor), to be put before the one
 * that exports: records made inside a trace context get `cpid.id` and `cpid.ancestors`, unless they have a `cpid.id`.
 * Mergelogs are not changed.
 */
export class CpidLogRecordProcessor {
  onEmit(record: EmittedLogRecord, emittedIn: Context = context.active()): void {
    const traceContext = getTraceContext(emittedIn)
    if (traceContext === undefined || record.eventName === MERGELOG_EVENT) return
    if (record.attributes?.[CPID_ID] !== undefined) return
    const { cpid, ancestors } = traceContext
    record.setAttribute(CPID_ID, cpid)
    if (ancestors.length > 0) record.setAttribute(CPID_ANCESTORS, ancestors)
  }

  /** False: this processor alone needs no records to be made. */
  enabled(): boolean {
    return false
  }

  forceFlush(): Promise<void> {
    return Promise.resolve()
  }

  shutdown(): Promise<void> {
    return Promise.resolve()
  }
}
