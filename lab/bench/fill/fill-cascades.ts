import { createHash, randomBytes } from 'node:crypto'
import type { Statement } from 'better-sqlite3'
import { type Cpid, cpidOfBytes } from '../../../src/model/merge-graph.ts'
import { encodeSpan, scopeEnvelope, serviceEnvelope } from '../../../src/model/otlp/encode-telemetry.ts'
import { SENT_SYNTHETIC } from '../../../src/model/outbox.ts'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { TRACE_INDEX_SIZES } from '../../../src/store/sqlite/trace-id-index.ts'
import { RECOUNT_SCOPE_USES } from '../../../src/store/sqlite/transactions.ts'
import { StoredSpans } from '../measure/stored-spans.ts'

export const SPANS_PER_CASCADE = 1_000
/** One cascade in twenty is broad: a CPID for each span. */
const BROAD_EVERY = 20
const BROAD_CPIDS = 1_000
/** Cascades that happen at the same time, so that their rows lie between one another. */
const AT_ONCE = 20
const SERVICES = ['deployment-ctl', 'replicaset-ctl', 'scheduler', 'endpoints-ctl']
const MS = 1_000_000n

export interface FilledCascades {
  spans: number
  cpids: number
  /** The number of the last one. */
  arrivals: number
  /** Roots with 1,000 related CPIDs, and roots of ordinary cascades. */
  broad: Cpid[]
  ordinary: Cpid[]
}

/**
 * Writes settled cascades of 1,000 spans straight into the tables: a tenth as many CPIDs as spans, half of them in a few
 * broad cascades. Indexes on rows of spans are made at the end. The last cascade begins at `lastMs`.
 */
export function fillCascades(db: Sqlite, spans: number, lastMs = Date.now()): FilledCascades {
  const cascades = Math.max(BROAD_EVERY, Math.round(spans / SPANS_PER_CASCADE))
  const filler = new Filler(db, lastMs - cascades * 100)
  const indexes = dropIndexes(db, ['spans_by_origin', 'outbox_by_trace', 'span_objects_by_version'])
  for (let first = 0; first < cascades; first += AT_ONCE) {
    db.transaction(() => filler.fill(first, Math.min(first + AT_ONCE, cascades)))()
  }
  filler.finish()
  for (const sql of indexes) db.exec(sql)
  return filler.filled
}

function dropIndexes(db: Sqlite, names: readonly string[]): string[] {
  return names.map((name) => {
    const sql = db.prepare<[string], string>('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(name)
    if (sql === undefined) throw new Error(`the schema has no index ${name}`)
    db.exec(`DROP INDEX ${name}`)
    return sql
  })
}

class Filler {
  readonly filled: FilledCascades
  readonly #db: Sqlite
  readonly #startMs: number
  readonly #spans: StoredSpans
  #cpid = 0
  #arrival = 0
  #decision = 0

  constructor(db: Sqlite, startMs: number) {
    this.#db = db
    this.#startMs = startMs
    this.filled = { spans: 0, cpids: 0, arrivals: 0, broad: [], ordinary: [] }
    this.#spans = new StoredSpans(db)
    SERVICES.forEach((service, at) => {
      db.prepare('INSERT INTO resources (id, hash, service, cluster, envelope) VALUES (?, ?, ?, ?, ?)').run(
        at + 1,
        randomBytes(32),
        service,
        'bench',
        serviceEnvelope(service),
      )
      db.prepare('INSERT INTO scopes (id, resource, hash, envelope) VALUES (?, ?, ?, ?)').run(
        at + 1,
        at + 1,
        randomBytes(32),
        scopeEnvelope('bench'),
      )
    })
  }

  /** Cascades `from` up to `to`, span by span in turns. */
  fill(from: number, to: number): void {
    const running = Array.from({ length: to - from }, (_, at) => this.#begin(from + at))
    for (let step = 0; step < SPANS_PER_CASCADE; step++) {
      for (const cascade of running) {
        const { cpids, trace, startNs } = cascade
        const cpid = cpids[Math.floor((step * cpids.length) / SPANS_PER_CASCADE)] ?? cpids[0]
        if (cpid === undefined) continue
        if (cpid.sentAt === undefined) this.#merge(cascade, cpid, step)
        const row = ++this.#arrival
        this.#spans.add({ row, cpid, trace, step, startNs, decision: ++this.#decision, service: step % 4 })
      }
    }
    for (const { trace, root, startNs } of running) {
      this.#statement('UPDATE traces SET last_decision = ? WHERE id = ?').run(this.#decision, trace)
      this.#sendOwn(trace, { name: 'cascade', cpid: root, startNs, lengthNs: 2000n * MS })
    }
    this.filled.spans += running.length * SPANS_PER_CASCADE
  }

  finish(): void {
    this.#db
      .prepare('UPDATE progress SET last_arrival = ?, linked_arrival = ?, last_decision = ?, live_cpids = ?')
      .run(this.#arrival, this.#arrival, this.#decision, this.#cpid)
    for (const sql of RECOUNT_SCOPE_USES) this.#db.exec(sql)
    this.#indexTraces()
    this.filled.cpids = this.#cpid
    this.filled.arrivals = this.#arrival
  }

  /** In batches as Causeway's; one batch stays out, so that the next ids put earlier ones into the index. */
  #indexTraces(): void {
    const { batch } = TRACE_INDEX_SIZES
    const idAt = (sql: string, ...values: number[]): number | undefined =>
      this.#db
        .prepare<number[], number>(sql)
        .pluck()
        .get(...values)
    const last = idAt('SELECT id FROM origin_traces ORDER BY id DESC LIMIT 1 OFFSET ?', batch) ?? 0
    for (let from = 0; from < last;) {
      const next = idAt(
        'SELECT id FROM origin_traces WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?',
        from,
        batch - 1,
      )
      const upTo = Math.min(next ?? last, last)
      this.#statement(
        `INSERT INTO origin_trace_index (trace_id, origin)
         SELECT trace_id, id FROM origin_traces WHERE id > ? AND id <= ? ORDER BY trace_id`,
      ).run(from, upTo)
      from = upTo
    }
    this.#statement('UPDATE progress SET indexed_origins = ?').run(last)
  }

  #begin(number: number): Running {
    const isBroad = number % BROAD_EVERY === 0
    const count = isBroad
      ? BROAD_CPIDS
      : Math.round((SPANS_PER_CASCADE / 10 - BROAD_CPIDS / BROAD_EVERY) / 0.95)
    const first = this.#cpid + 1
    this.#cpid += count
    const cpids = Array.from({ length: count }, (_, at): FilledCpid => cpidWith(first + at, at))
    const [root] = cpids
    if (root === undefined) throw new Error('a cascade has at least its root')
    const startNs = BigInt(this.#startMs + number * 100) * MS
    const endNs = startNs + 2000n * MS
    const trace = number + 1
    this.#statement(
      `INSERT INTO traces (id, trace_id, root, episode, root_span, state, opened_ms, last_arrival_ms, due_ms, first_ns,
         last_ns, sent_spans, sent_bytes, controller_spans, services, merges, missing, truncated, root_sent, provisional,
         last_decision, last_wall_ms, sent_from_ns, sent_to_ns)
       VALUES (?, ?, ?, 0, ?, 1, 0, 0, 0, ?, ?, 1000, 400000, 1000, 4, ?, 0, 0, 1, 0, 0, ?, ?, ?)`,
    ).run(trace, root.uuid, root.id, root.spanId, startNs, endNs, count - 1, this.#startMs, startNs, endNs)
    for (const service of SERVICES)
      this.#statement('INSERT INTO trace_services VALUES (?, ?)').run(trace, service)
    ;(isBroad ? this.filled.broad : this.filled.ordinary).push(cpidOfBytes(root.uuid))
    return { trace, root, cpids, startNs }
  }

  #merge({ trace, root, cpids, startNs }: Running, cpid: FilledCpid, step: number): void {
    const arrival = ++this.#arrival
    const atNs = startNs + BigInt(step) * 2n * MS
    const parent = cpid.place === 0 ? undefined : cpids[Math.floor((cpid.place - 1) / 3)]
    cpid.sentAt = step
    this.#statement(
      `INSERT INTO cpids (id, uuid, first_seen_ms, missing_since_ms, has_mergelog, explained, in_degree, roots, prune_ns,
         merged_ns)
       VALUES (?, ?, ?, 0, 1, 1, ?, ?, ?, ?)`,
    ).run(cpid.id, cpid.uuid, Number(atNs / MS), parent === undefined ? 0 : 1, `[${root.id}]`, atNs, atNs)
    const object = `apps/v1/deployments/default/web-${cpid.id}`
    const isNamed = cpid.place % 10 === 0
    if (isNamed) {
      this.#statement('INSERT INTO objects (id, cluster, object) VALUES (?, ?, ?)').run(
        cpid.id,
        'bench',
        object,
      )
    }
    this.#statement(
      `INSERT INTO mergelogs (arrival, cpid, time_ns, arrived_ms, sources, scope, object, object_id)
       VALUES (?, ?, ?, ?, ?, 1, ?, ?)`,
    ).run(
      arrival,
      cpid.id,
      atNs,
      Number(atNs / MS),
      parent?.uuid ?? Buffer.alloc(0),
      isNamed ? object : null,
      isNamed ? cpid.id : null,
    )
    if (parent !== undefined) this.#statement('INSERT INTO edges VALUES (?, ?)').run(parent.id, cpid.id)
    this.#statement('INSERT INTO change_spans (cpid, trace, span_id, depth) VALUES (?, ?, ?, 1)').run(
      cpid.id,
      trace,
      cpid.spanId,
    )
    const name = parent === undefined ? 'change apps/v1/deployments' : 'merge'
    const parentId = parent?.spanId ?? 0n
    this.#sendOwn(trace, { name, cpid, startNs: atNs, lengthNs: 0n, parentId, spanId: cpid.spanId })
  }

  #sendOwn(trace: number, own: OwnSpan): void {
    const { name, cpid, startNs, lengthNs, parentId = cpid.spanId, spanId = cpid.spanId + 1n } = own
    const bytes = encodeSpan({
      traceId: cpid.uuid,
      spanId,
      parentId,
      name,
      startNs,
      endNs: startNs + lengthNs,
      attributes: { 'cpid.id': cpidOfBytes(cpid.uuid), 'cpid.synthetic': true },
      links: [],
    })
    this.#statement(
      'INSERT INTO outbox (decision, trace, span, parent_id, flags, scope, extra) VALUES (?, ?, NULL, ?, ?, 1, ?)',
    ).run(++this.#decision, trace, parentId, SENT_SYNTHETIC, bytes)
  }

  readonly #statements = new Map<string, Statement>()

  #statement(sql: string): Statement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

interface Running {
  trace: number
  root: FilledCpid
  cpids: FilledCpid[]
  startNs: bigint
}

interface OwnSpan {
  name: string
  cpid: FilledCpid
  startNs: bigint
  lengthNs: bigint
  parentId?: bigint
  spanId?: bigint
}

/** `place` among those of its cascade; `sentAt` is the step at which it came up. */
export interface FilledCpid {
  id: number
  uuid: Buffer
  text: string
  spanId: bigint
  place: number
  sentAt: number | undefined
}

function cpidWith(id: number, place: number): FilledCpid {
  const uuid = createHash('md5').update(String(id)).digest()
  return {
    id,
    uuid,
    text: cpidOfBytes(uuid),
    spanId: uuid.readBigInt64BE(8) >> 1n,
    place,
    sentAt: undefined,
  }
}
