import { outgoingLog } from '../../src/exporter/outgoing-log.ts'
import { jsonOfProtobuf } from '../../src/otlp/json/protobuf-to-json.ts'
import { SqliteLogOutbox } from '../../src/sqlite/sending/log-outbox-reader.ts'
import type { Sqlite } from '../../src/sqlite/open-database.ts'
import { SqliteOutbox } from '../../src/sqlite/sending/outbox-reader.ts'

/** A log record as a backend receives it. */
export interface SentLog {
  /** The text of its body, or its event name where it has none. */
  what: string
  traceId: string
  spanId: string
  /** Those whose values are texts. */
  attributes: Record<string, unknown>
}

export interface LogJson {
  body?: { stringValue?: string }
  eventName?: string
  traceId?: string
  spanId?: string
  attributes?: { key: string; value?: { stringValue?: string } }[]
}

/** Every log record that was decided on and has not been sent by every exporter, in order. */
export function sentLogs(db: Sqlite, after = 0): SentLog[] {
  const outbox = new SqliteLogOutbox(db, new SqliteOutbox(db))
  return outbox.after(after, 1_000_000).flatMap((item) => {
    const bytes = outgoingLog(item)
    return bytes === undefined ? [] : [logOf(jsonOfProtobuf('LogRecord', bytes))]
  })
}

export function logOf({ body, eventName, traceId, spanId, attributes }: LogJson): SentLog {
  return {
    what: body?.stringValue ?? eventName ?? '',
    traceId: traceId ?? '',
    spanId: spanId ?? '',
    attributes: Object.fromEntries((attributes ?? []).map(({ key, value }) => [key, value?.stringValue])),
  }
}
