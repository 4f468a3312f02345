import { logOf, type SentLog } from '../../lab/harness/sinks/log-json.ts'
import { outgoingLog } from '../../src/exporter/drain.ts'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { SqliteLogOutbox, SqliteOutbox } from '../../src/store/sqlite/outbox.ts'

/** Every log record that was decided on and has not been sent by every exporter, in order. */
export function sentLogs(db: Sqlite, after = 0): SentLog[] {
  const outbox = new SqliteLogOutbox(db, new SqliteOutbox(db))
  return outbox.after(after, 1_000_000).flatMap((item) => {
    const bytes = outgoingLog(item)
    return bytes === undefined ? [] : [logOf(jsonOfProtobuf('LogRecord', bytes))]
  })
}
