import type { Statement } from 'better-sqlite3'
import {
  type ArchivedFacts,
  type ArchivedLog,
  type ArchivedMergelog,
  type ArchivedSpan,
  type ArchivePosition,
  type ArchiveReader,
  type ArchiveReading,
  noFacts,
} from '../../model/archive.ts'
import { envelopeBytes, outgoingSpan } from '../../model/otlp/outgoing-records.ts'
import { isOutOfMemory } from '../../model/faults.ts'
import { SENT_FOR_CHILD } from '../../model/outbox.ts'
import { MIB } from '../../model/time-and-size.ts'
import {
  actorOf,
  bytesOf,
  cascadeOf,
  changeOf,
  cpid,
  cpidOf,
  logOf,
  mergelogOf,
  objectEventOf,
  placementOf,
  sentOf,
  text,
  whole,
  type Row,
  type Value,
} from './archived-rows.ts'
import { ArchivedSpans } from './archived-spans.ts'
import { CHANGED } from './archives.ts'
import { cpidsOf } from './merge-graph.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { type DecisionRow, SqliteOutbox } from './outbox.ts'

/** The most rows read at a time, for each queue. */
const ROWS = 10_000
/** Fewer, since each change needs several queries while exporters wait. */
const CHANGES = 2_000
const BYTES = 16 * MIB
/** A mergelog has up to a thousand edges. */
const EDGES = 20_000
const CPID_BYTES = 16

const SENDER = 'LEFT JOIN scopes p ON p.id = %.scope LEFT JOIN resources r ON r.id = p.resource'
const sender = (of: string): string => SENDER.replace('%', of)

/** Reads the next rows for an archive, through its own connection. */
export class SqliteArchiveReader extends OnConnection implements ArchiveReader {
  readonly #outbox: SqliteOutbox
  readonly #spans: ArchivedSpans
  readonly #decided = this.exactRows<[number, number], DecidedRow>(DECIDED).raw()
  readonly #prepared = new Map<string, Statement<Value[], Row>>()

  constructor(db: Sqlite) {
    super(db)
    this.#outbox = new SqliteOutbox(db)
    this.#spans = new ArchivedSpans(db)
  }

  after(position: ArchivePosition): ArchiveReading | undefined {
    return this.db.transaction(() => this.#after(position))()
  }

  #after(position: ArchivePosition): ArchiveReading | undefined {
    this.#spans.begin()
    const facts = noFacts()
    const decisions = this.#decisions(position.decision)
    const arrivals = this.#arrivals(position.arrival, decisions.upToSpan, facts)
    const cutAt = this.#addDecided(decisions.decided, facts)
    const changes = this.#changes(position, facts)
    const mergelogs = this.#refusedMergelogs(position.refusedMergelog, facts)
    const items = this.#refusedItems(position.refusedItem, facts)
    const upTo: ArchivePosition = {
      version: position.version,
      arrival: arrivals.upTo,
      decision: cutAt ?? decisions.upTo,
      change: changes.upTo,
      refusedMergelog: mergelogs.upTo,
      refusedItem: items,
    }
    const hasMoved = (Object.keys(upTo) as (keyof ArchivePosition)[]).some(
      (key) => upTo[key] !== position[key],
    )
    const hasMore =
      arrivals.hasMore || decisions.hasMore || cutAt !== undefined || changes.hasMore || mergelogs.hasMore
    return hasMoved ? { facts, upTo, hasMore, lost: mergelogs.lost } : undefined
  }

  /**
   * Arrivals that are linked and no longer wait: a waiting one may still get a CPID. If decisions are left for the next reading, arrivals
   * stop where these do (`inStepWith`), so that a span is read once.
   */
  #arrivals(after: number, inStepWith: number, facts: ArchivedFacts): { upTo: number; hasMore: boolean } {
    const [row] = this.#all(
      `SELECT min(linked_arrival, coalesce((SELECT min(arrival) - 1 FROM waiting), linked_arrival)) AS up_to FROM progress`,
    )
    const end = Math.max(after, whole(row?.['up_to']))
    let upTo = inStepWith > after ? Math.min(end, inStepWith) : end
    if (upTo <= after) return { upTo, hasMore: false }
    const within = (read: Read): void => {
      upTo = Math.min(upTo, read.last ?? upTo)
    }
    const spans: ArchivedSpan[] = []
    let bytes = 0
    for (const span of this.#spans.after(after, upTo)) {
      spans.push(span)
      bytes += span.raw.length
      if (spans.length >= ROWS || bytes >= BYTES) {
        upTo = span.arrival
        break
      }
    }
    const logs: ArchivedLog[] = []
    within(
      this.#read(
        `SELECT s.id, c.uuid AS cpid, s.time_ns, s.event_name, s.severity, r.service, r.cluster, s.trace_id, s.span_id, s.raw,
           p.hash AS scope_hash, r.hash AS resource_hash
         FROM logs s LEFT JOIN cpids c ON c.id = s.cpid ${sender('s')} WHERE s.id > ? AND s.id <= ? ORDER BY s.id`,
        [after, upTo],
        (found) => {
          logs.push(logOf(found))
          return bytesOf(found)
        },
      ),
    )
    const mergelogs: { arrival: number; mergelog: ArchivedMergelog }[] = []
    within(
      this.#read(
        `SELECT s.arrival AS id, c.uuid AS cpid, s.time_ns, s.arrived_ms, s.sources, s.object, s.reason, r.service, r.cluster
         FROM mergelogs s CROSS JOIN cpids c ON c.id = s.cpid ${sender('s')}
         WHERE s.arrival > ? AND s.arrival <= ? ORDER BY s.arrival`,
        [after, upTo],
        (found) => {
          const mergelog = mergelogOf(found)
          mergelogs.push({ arrival: whole(found['id']), mergelog })
          return mergelog.sources.length * (BYTES / EDGES)
        },
      ),
    )
    facts.spans.push(...spans.filter(({ arrival }) => arrival <= upTo))
    facts.logs.push(...logs.filter(({ arrival }) => arrival <= upTo))
    facts.mergelogs.push(
      ...mergelogs.filter(({ arrival }) => arrival <= upTo).map(({ mergelog }) => mergelog),
    )
    this.#addObjectEvents(facts.spans, facts)
    return { upTo, hasMore: upTo < end }
  }

  #addObjectEvents(spans: readonly ArchivedSpan[], facts: ArchivedFacts): void {
    for (const span of spans.filter(({ namesObjects }) => namesObjects))
      for (const row of this.#all(
        `SELECT x.role, b.object, b.cluster, x.version, x.uid FROM span_objects x CROSS JOIN objects b ON b.id = x.object
         WHERE x.span = ?`,
        span.arrival,
      ))
        facts.objectEvents.push(objectEventOf(row, span))
  }

  /** `upToSpan`: the arrival up to which decisions were read, if there are more. */
  #decisions(after: number): { decided: DecidedRow[]; upTo: number; hasMore: boolean; upToSpan: number } {
    const decided: DecidedRow[] = []
    let bytes = 0
    for (const row of this.#decided.iterate(after, ROWS)) {
      decided.push(row)
      bytes += row[5]?.length ?? 0
      if (bytes >= BYTES) break
    }
    const last = decided.at(-1)
    const [row] = this.#all('SELECT last_decision AS n FROM progress')
    const lastOfAll = whole(row?.['n'])
    if (last === undefined)
      return { decided, upTo: Math.max(after, lastOfAll), hasMore: false, upToSpan: Infinity }
    const upTo = whole(last[0])
    const hasMore = upTo < lastOfAll
    const upToSpan = decided.reduce((most, { 6: span }) => Math.max(most, whole(span ?? 0n)), 0)
    return { decided, upTo, hasMore, upToSpan: hasMore ? upToSpan : Infinity }
  }

  /** Adds sent spans and their traces. Returns the last decision if the bytes reach the limit. */
  #addDecided(decided: readonly DecidedRow[], facts: ArchivedFacts): number | undefined {
    const scopes = new Set<number>()
    let bytes = 0
    for (const row of decided) {
      const [decision, trace, parent, flags, scope, extra, spanId, causeEnd] = row
      const span = spanId === null ? undefined : this.#spans.span(Number(spanId))
      const item =
        spanId !== null && span === undefined
          ? this.#outbox.item(Number(decision))
          : this.#outbox.itemWith([decision, trace, parent, flags, scope, extra], span)
      if (item === undefined) continue
      const sent = builtOf(() => outgoingSpan(item))
      const envelopes = this.#outbox.envelopes(item.scope)
      if (sent !== undefined) facts.sentSpans.push({ bytes: sent, envelopes })
      if (span !== undefined)
        this.#addPlacement({ trace, parent_id: parent, flags, cause_end_ns: causeEnd }, span, facts)
      bytes += item.raw?.length ?? 0
      if (!scopes.has(item.scope)) bytes += envelopes === undefined ? 0 : envelopeBytes(envelopes)
      scopes.add(item.scope)
      if (bytes >= BYTES) return Number(decision)
    }
    return undefined
  }

  /** Adds nothing for a span that stayed in its own trace. */
  #addPlacement(row: Row, span: ArchivedSpan, facts: ArchivedFacts): void {
    const trace = this.#spans.trace(whole(row['trace']))
    if (trace !== undefined) facts.placements.push(placementOf(row, trace, span))
  }

  #changes({ arrival, change }: ArchivePosition, facts: ArchivedFacts): { upTo: number; hasMore: boolean } {
    let upTo = change
    const traces = new Set<number>()
    const rows = this.#all(
      'SELECT change, kind, item, other, sources FROM archive_changes WHERE change > ? ORDER BY change LIMIT ?',
      change,
      CHANGES,
    )
    let bytes = 0
    for (const row of rows) {
      if (bytes >= BYTES) break
      upTo = whole(row['change'])
      const item = whole(row['item'])
      switch (whole(row['kind'])) {
        case CHANGED.trace:
          traces.add(item)
          break
        case CHANGED.spanCpid:
          // An item that is not archived yet will be archived in its current state.
          if (item <= arrival) bytes += this.#attributed(item, facts)
          break
        case CHANGED.replacedMergelog:
          bytes += ((row['sources'] as Buffer).length / CPID_BYTES) * (BYTES / EDGES)
          if (!this.#replaced(item, row['sources'] as Buffer, facts)) break
          for (const found of this.#all(CPID, item)) facts.cpids.push(cpidOf(found))
          for (const found of this.#all('SELECT id FROM traces WHERE root = ?', item))
            traces.add(whole(found['id']))
          this.#addChanges(this.#all(CHANGES_OF_ROOT, item), facts)
      }
    }
    for (const found of this.#all(CHANGED_CPIDS, change, upTo)) facts.cpids.push(cpidOf(found))
    this.#addChanges(this.#all(CHANGES_IN_TRACES, change, upTo), facts)
    for (const trace of traces) {
      for (const found of this.#all(CASCADE, trace)) facts.cascades.push(cascadeOf(found))
      for (const found of this.#all(ACTORS, trace)) facts.actors.push(actorOf(found))
    }
    return { upTo, hasMore: rows.length === CHANGES || bytes >= BYTES }
  }

  #addChanges(rows: readonly Row[], facts: ArchivedFacts): void {
    for (const found of rows) {
      const trace = this.#spans.trace(whole(found['trace']))
      if (trace !== undefined) facts.changes.push(changeOf(found, trace))
    }
  }

  /** Adds a span that got a CPID. Returns its size in bytes. */
  #attributed(id: number, facts: ArchivedFacts): number {
    const span = this.#spans.span(id)
    if (span === undefined) return 0
    facts.attributed.push(span)
    this.#addObjectEvents([span], facts)
    for (const placed of this.#all(`${PLACED} WHERE d.span = ? AND d.flags & ${SENT_FOR_CHILD}`, id))
      this.#addPlacement(placed, span, facts)
    return span.raw.length
  }

  /** Adds the edges that a replaced mergelog had and its CPID no longer has. False for a pruned CPID, which stays in the archive. */
  #replaced(id: number, before: Buffer, facts: ArchivedFacts): boolean {
    const [now] = this.#all(
      `SELECT c.uuid AS cpid, m.sources, m.arrived_ms, r.cluster
       FROM mergelogs m CROSS JOIN cpids c ON c.id = m.cpid ${sender('m')} WHERE m.cpid = ?`,
      id,
    )
    if (now === undefined) return false
    const kept = new Set(cpidsOf(now['sources'] as Buffer))
    const edge = {
      cpid: cpid(now['cpid']),
      cluster: text(now['cluster']),
      arrivedMs: whole(now['arrived_ms']),
    }
    for (const source of cpidsOf(before)) if (!kept.has(source)) facts.removedEdges.push({ ...edge, source })
    return true
  }

  #refusedMergelogs(after: number, facts: ArchivedFacts): { upTo: number; hasMore: boolean; lost: number } {
    const rows = this.#all(
      `SELECT x.id, x.arrived_ms, x.cpid, x.sources, x.reason, x.sender, r.service, r.cluster
       FROM rejected_mergelogs x ${sender('x')} WHERE x.id > ? ORDER BY x.id LIMIT ?`,
      after,
      ROWS,
    )
    for (const row of rows)
      facts.refusedMergelogs.push({
        number: whole(row['id']),
        arrivedMs: whole(row['arrived_ms']),
        cpid: String(row['cpid']),
        sources: String(row['sources']),
        reason: String(row['reason']),
        sender: text(row['sender']),
        ...sentOf(row),
      })
    const hasMore = rows.length === ROWS
    const [progress] = this.#all('SELECT last_refused AS n FROM progress')
    const upTo = hasMore
      ? (facts.refusedMergelogs.at(-1)?.number ?? after)
      : Math.max(after, whole(progress?.['n']))
    return { upTo, hasMore, lost: upTo - after - rows.length }
  }

  #refusedItems(after: number, facts: ArchivedFacts): number {
    const rows = this.#all('SELECT * FROM rejected_items WHERE id > ? ORDER BY id LIMIT ?', after, ROWS)
    for (const row of rows)
      facts.refusedItems.push({
        number: whole(row['id']),
        arrivedMs: whole(row['arrived_ms']),
        items: whole(row['items']),
        message: String(row['message']),
      })
    return facts.refusedItems.at(-1)?.number ?? after
  }

  /** Reads rows up to a limit of count or size. `last` is the id of the last row if it stopped before the end. */
  #read(sql: string, values: Value[], take: (row: Row) => number): Read {
    let bytes = 0
    let rows = 0
    for (const row of this.#statement(sql).iterate(...values)) {
      bytes += take(row)
      if (++rows >= ROWS || bytes >= BYTES) return { last: whole(row['id']) }
    }
    return {}
  }

  #all(sql: string, ...values: Value[]): Row[] {
    return this.#statement(sql).all(...values)
  }

  #statement(sql: string): Statement<Value[], Row> {
    let statement = this.#prepared.get(sql)
    if (statement === undefined) {
      statement = this.exactRows<Value[], Row>(sql)
      this.#prepared.set(sql, statement)
    }
    return statement
  }
}

interface Read {
  readonly last?: number
}

/** As in the views of the same names (migrations/schema/audit-views.ts). */
const CPID_COLUMNS = `SELECT c.uuid AS cpid, c.state, c.first_seen_ms,
  c.explained = 1 AND (c.state = 1 OR c.has_mergelog = 1 AND c.unexplained_sources = 0) AS explained,
  m.time_ns, length(m.sources) = 0 AS is_root, m.object, m.reason, r.service, r.cluster`
const OF_CPID = `LEFT JOIN mergelogs m ON m.cpid = c.id ${sender('m')}`
const CPID = `${CPID_COLUMNS} FROM cpids c ${OF_CPID} WHERE c.id = ?`

const changed = (kind: number): string =>
  `x.kind = ${kind} AND x.change > ? AND x.change <= ? ORDER BY x.change`
const CHANGED_CPIDS = `${CPID_COLUMNS} FROM archive_changes x NOT INDEXED CROSS JOIN cpids c ON c.id = x.item ${OF_CPID}
  WHERE ${changed(CHANGED.cpid)}`
const CHANGES_IN_TRACES = `SELECT h.trace, b.uuid AS cpid, h.driven FROM archive_changes x NOT INDEXED
  CROSS JOIN change_spans h ON h.trace = x.item AND h.cpid = x.other CROSS JOIN cpids b ON b.id = h.cpid
  WHERE ${changed(CHANGED.changeSpan)}`

const CHANGES_OF_ROOT = `SELECT h.trace, b.uuid AS cpid, h.driven FROM traces t CROSS JOIN change_spans h ON h.trace = t.id
  CROSS JOIN cpids b ON b.id = h.cpid WHERE t.root = ?`

const IN_TRACE = `a.uuid AS root, t.episode, t.trace_id AS in_trace, t.first_ns,
  (SELECT r.cluster FROM mergelogs m ${sender('m')} WHERE m.cpid = a.id) AS root_cluster`

const ACTORS = `SELECT ${IN_TRACE}, y.actor, y.writes, y.gaps, y.began FROM trace_actors y CROSS JOIN traces t ON t.id = y.trace
  CROSS JOIN cpids a ON a.id = t.root WHERE y.trace = ?`

/** A trace of a cascade by id. */
export const CASCADE = `SELECT ${IN_TRACE}, t.failed_spans, t.doubtful_times, m.object AS reference,
  (SELECT y.actor FROM trace_actors y WHERE y.trace = t.id AND y.began = 1) AS began_by,
  (SELECT json_group_array(y.service) FROM trace_services y WHERE y.trace = t.id) AS service_names,
  (SELECT json_group_array(y.actor) FROM trace_actors y WHERE y.trace = t.id) AS actors,
  (SELECT json_group_array(y.namespace) FROM trace_namespaces y WHERE y.trace = coalesce(t.continues, t.id)) AS namespaces, t.state, t.last_ns, t.controller_spans, t.services, t.merges,
  CASE t.state WHEN 1 THEN t.missing ELSE (SELECT count(DISTINCT k.id) FROM traces u JOIN change_spans h ON h.trace = u.id
    JOIN cpids k ON k.id = h.cpid WHERE u.root = t.root AND coalesce(u.continues, u.id) = coalesce(t.continues, t.id)
    AND k.has_mergelog = 0 AND k.explained = 0) END AS missing,
  m.object_name, m.reason, coalesce(m.writer, r.service) AS service, r.cluster, t.truncated, f.trace_id AS continues, t.clock_skew,
  coalesce((SELECT y.actor FROM traces u JOIN trace_actors y ON y.trace = u.id WHERE u.root = t.root AND y.began = 1
    ORDER BY u.episode LIMIT 1), m.writer, r.service) AS actor,
  (SELECT coalesce(sum(y.gaps), 0) FROM trace_actors y WHERE y.trace = t.id) AS gaps,
  (SELECT coalesce(sum(y.missed), 0) FROM trace_actors y WHERE y.trace = t.id) AS missed,
  t.provisional = 1 AND coalesce(length(m.sources), 0) > 0 AS gone
  FROM traces t JOIN cpids a ON a.id = t.root LEFT JOIN mergelogs m ON m.cpid = a.id ${sender('m')}
  LEFT JOIN traces f ON f.id = t.continues WHERE t.id = ?`

const CAUSE_END = `(SELECT w.end_ns FROM spans w WHERE w.id = d.cause
  AND w.origin <> (SELECT s.origin FROM spans s WHERE s.id = d.span)) AS cause_end_ns`
const PLACED = `SELECT d.trace, d.parent_id, d.flags, ${CAUSE_END} FROM outbox d`
const DECIDED = `SELECT d.decision, d.trace, d.parent_id, d.flags, d.scope, d.extra, d.span, ${CAUSE_END} FROM outbox d
  WHERE d.decision > ? ORDER BY d.decision LIMIT ?`

type DecidedRow = [...DecisionRow, span: bigint | null, causeEndNs: bigint | null]

/** A decision that cannot be built is skipped, as exporters do. */
function builtOf(build: () => Buffer | undefined): Buffer | undefined {
  try {
    return build()
  } catch (error) {
    if (isOutOfMemory(error)) throw error
    return undefined
  }
}
