import { createHash } from 'node:crypto'
import { cpidOfBytes } from '../../../src/model/merge-graph.ts'
import { encodeSpan, scopeEnvelope, serviceEnvelope } from '../../../src/model/otlp/encode-telemetry.ts'
import { SENT_SYNTHETIC } from '../../../src/model/outbox.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting, type Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { RECOUNT_SCOPE_USES } from '../../../src/store/sqlite/transactions.ts'

const MS = 1_000_000n

/** Makes a database of so many changes that have settled, and that an exporter of this name has not sent. */
export async function fillHeld(path: string, count: number, exporter: string): Promise<void> {
  const db = openForWriting(path)
  await migrate(db)
  db.pragma('journal_mode = MEMORY')
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -1000000')
  db.transaction(() => fill(db, count, exporter))()
  db.pragma('journal_mode = WAL')
  db.close()
}

function fill(db: Sqlite, count: number, exporter: string): void {
  const hash = (text: string): Buffer => createHash('md5').update(text).digest()
  const addResource = db.prepare('INSERT INTO resources (id, hash, service, envelope) VALUES (1, ?, ?, ?)')
  addResource.run(hash('resource'), 'kubectl', serviceEnvelope('kubectl'))
  db.prepare('INSERT INTO scopes (id, resource, hash, envelope) VALUES (1, 1, ?, ?)').run(
    hash('scope'),
    scopeEnvelope('bench'),
  )
  const addCpid = db.prepare(
    `INSERT INTO cpids (id, uuid, first_seen_ms, missing_since_ms, has_mergelog, explained, roots, prune_ns, merged_ns)
     VALUES (?, ?, ?, 0, 1, 1, ?, ?, ?)`,
  )
  const addMergelog = db.prepare(
    `INSERT INTO mergelogs (arrival, cpid, time_ns, arrived_ms, sources, scope) VALUES (?, ?, ?, ?, x'', 1)`,
  )
  const addTrace = db.prepare(
    `INSERT INTO traces (id, trace_id, root, episode, root_span, state, opened_ms, last_arrival_ms, due_ms, first_ns,
       last_ns, sent_spans, sent_bytes, controller_spans, services, merges, missing, truncated, root_sent, provisional,
       last_decision, last_wall_ms)
     VALUES (?, ?, ?, 0, ?, 1, 0, 0, 0, ?, ?, 1, 200, 0, 0, 0, 0, 0, 1, 0, ?, ?)`,
  )
  const addChange = db.prepare('INSERT INTO change_spans (cpid, trace, span_id, depth) VALUES (?, ?, ?, 0)')
  const addDecision = db.prepare(
    'INSERT INTO outbox (decision, trace, span, parent_id, flags, scope, extra) VALUES (?, ?, NULL, 0, ?, 1, ?)',
  )
  const startMs = Date.now() - 24 * 3_600_000
  for (let id = 1; id <= count; id++) {
    const uuid = hash(String(id))
    const spanId = uuid.readBigInt64BE(8) >> 1n
    const atMs = startMs + Math.floor((id * 3_600_000) / count)
    const atNs = BigInt(atMs) * MS
    addCpid.run(id, uuid, atMs, `[${id}]`, atNs, atNs)
    addMergelog.run(id, id, atNs, atMs)
    addTrace.run(id, uuid, id, spanId, atNs, atNs, id, atMs)
    addChange.run(id, id, spanId)
    const change = {
      traceId: uuid,
      spanId,
      parentId: 0n,
      name: 'change',
      startNs: atNs,
      endNs: atNs,
      links: [],
    }
    const attributes = { 'cpid.id': cpidOfBytes(uuid), 'cpid.synthetic': true }
    addDecision.run(id, id, SENT_SYNTHETIC, encodeSpan({ ...change, attributes }))
  }
  db.prepare(
    'UPDATE progress SET last_arrival = ?, linked_arrival = ?, last_decision = ?, live_cpids = ?',
  ).run(count, count, count, count)
  for (const sql of RECOUNT_SCOPE_USES) db.exec(sql)
  db.prepare('INSERT INTO exporters (name, position) VALUES (?, 0)').run(exporter)
}
