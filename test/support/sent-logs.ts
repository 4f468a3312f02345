import { outgoingLog } from '../../src/exporter/outgoing-log.ts'
import { jsonOfProtobuf } from '../../src/otlp/json/protobuf-to-json.ts'
import { SqliteLogOutbox } from '../../src/sqlite/sending/log-outbox-reader.ts'
import { logOf, type SentLog } from '../../lab/harness/sinks/log-json.ts'
import type { Sqlite } from '../../src/sqlite/open-database.ts'
import { SqliteOutbox } from '../../src/sqlite/sending/outbox-reader.ts'

/** Every log record that was decided on and has not been sent by every exporter, in order. */
export function sentLogs(db: Sqlite, after = 0): SentLog[] {
  const outbox = new SqliteLogOutbox(db, new SqliteOutbox(db))
  return outbox.after(after, 1_000_000).flatMap((item) => {
    const bytes = outgoingLog(item)
    return bytes === undefined ? [] : [logOf(jsonOfProtobuf('LogRecord', bytes))]
  })
}
