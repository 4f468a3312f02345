import { cpidOfBytes } from '../../model/merge-graph.ts'
import {
  type CascadeFacts,
  type CascadeFilter,
  type Pages,
  type Position,
  textOrNone,
  type TraceFacts,
} from '../../model/queries.ts'
import { SELF_REASONS } from '../../model/seen-write.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { SupersededVersions } from './superseded-versions.ts'

const CASCADES_A_PAGE = 50
const MAX_ID = 2n ** 63n - 1n

/** CPIDs of a cascade whose own mergelog has not arrived. `part` is one of the cascade's traces. */
const MISSING = `SELECT count(DISTINCT cpids.id) FROM traces sibling
     JOIN change_spans ON change_spans.trace = sibling.id
     JOIN cpids ON cpids.id = change_spans.cpid
     WHERE sibling.root = part.root AND coalesce(sibling.continues, sibling.id) = coalesce(part.continues, part.id)
       AND cpids.has_mergelog = 0 AND cpids.explained = 0`

/** The facts of all traces of a root, combined. */
const CASCADES = `SELECT part.root, max(part.state = 0) AS open, max(part.clock_skew) AS clock_skew,
   coalesce(min(CASE WHEN part.doubtful_times = 0 THEN part.first_ns END), min(part.first_ns)) AS start_ns,
   coalesce(max(CASE WHEN part.doubtful_times = 0 THEN part.last_ns END), max(part.last_ns)) AS last_ns,
   count(*) AS traces, sum(part.controller_spans) AS spans, sum(part.failed_spans) AS failed,
   sum(part.merges) AS merges, max(part.truncated) AS truncated,
   sum(CASE part.state WHEN 1 THEN part.missing ELSE (${MISSING}) END) AS missing
   FROM traces part WHERE part.root IN
     (SELECT asked.root FROM json_each(@ids) wanted JOIN traces asked ON asked.id = wanted.value)
   GROUP BY part.root`

const FACTS = `SELECT first_trace.id, first_trace.trace_id, cpids.uuid, mergelogs.object, mergelogs.reason,
  coalesce(mergelogs.writer, resources.service) AS service, resources.cluster, cascade.open, cascade.start_ns, cascade.last_ns, cascade.traces, cascade.spans, cascade.failed,
  cascade.merges, cascade.missing, cascade.truncated, cascade.clock_skew,
  (SELECT count(DISTINCT trace_services.service) FROM traces part
   JOIN trace_services ON trace_services.trace = part.id WHERE part.root = first_trace.root) AS services,
  (SELECT trace_actors.actor FROM traces part JOIN trace_actors ON trace_actors.trace = part.id
   WHERE part.root = first_trace.root AND trace_actors.began = 1 ORDER BY part.episode LIMIT 1) AS actor,
  (SELECT coalesce(sum(trace_actors.gaps), 0) FROM traces part JOIN trace_actors ON trace_actors.trace = part.id
   WHERE part.root = first_trace.root) AS gaps,
  (SELECT coalesce(sum(trace_actors.missed), 0) FROM traces part JOIN trace_actors ON trace_actors.trace = part.id
   WHERE part.root = first_trace.root) AS missed
 FROM json_each(@ids) wanted
 JOIN traces first_trace ON first_trace.id = wanted.value
 JOIN (${CASCADES}) cascade ON cascade.root = first_trace.root
 JOIN cpids ON cpids.id = first_trace.root
 LEFT JOIN mergelogs ON mergelogs.cpid = first_trace.root
 LEFT JOIN scopes ON scopes.id = mergelogs.scope
 LEFT JOIN resources ON resources.id = scopes.resource
 ORDER BY first_trace.id DESC`

type Counted = 'traces' | 'spans' | 'failed' | 'services' | 'gaps' | 'missed' | 'merges' | 'missing'

type FactsRow = Record<
  Counted | 'id' | 'open' | 'start_ns' | 'last_ns' | 'truncated' | 'clock_skew',
  bigint
> &
  Record<'object' | 'reason' | 'service' | 'cluster' | 'actor', string | null> &
  Record<'trace_id' | 'uuid', Buffer>

/** Reads the facts of cascades, newest first. */
export class CascadeFactsReader extends OnConnection {
  readonly #candidates: CascadeCandidates
  readonly #facts = this.exactRows<[{ ids: string }], FactsRow>(FACTS)
  readonly #first = this.column<[number], number>(
    'SELECT id FROM traces WHERE root = ? ORDER BY episode LIMIT 1',
  )
  readonly #firsts = this.column<[string], number>(
    'SELECT min(traces.id) FROM json_each(?) wanted JOIN traces ON traces.root = wanted.value GROUP BY traces.root',
  )
  readonly #superseded: SupersededVersions

  constructor(db: Sqlite) {
    super(db)
    this.#candidates = new CascadeCandidates(db)
    this.#superseded = new SupersededVersions(db)
  }

  /** The cascade of a root; undefined if it is not a root. */
  of(root: number): CascadeFacts | undefined {
    const first = this.#first.get(root)
    return first === undefined ? undefined : this.#read(this.#candidates.among([first]))[0]
  }

  *pages(filter: CascadeFilter, after: Position = []): Pages<CascadeFacts> & Generator<CascadeFacts[]> {
    const [before = MAX_ID] = after
    for (const ids of this.#candidates.before(before, filter)) yield* this.#pagesOf(ids)
  }

  /** The cascades of these roots, newest first. */
  *ofRoots(
    roots: readonly number[],
    after: Position = [],
    filter: CascadeFilter = {},
  ): Pages<CascadeFacts> & Generator<CascadeFacts[]> {
    const [before = MAX_ID] = after
    const firsts = this.#firsts.all(JSON.stringify(roots)).filter((id) => id < before)
    yield* this.#pagesOf(this.#candidates.among(firsts, filter))
  }

  *#pagesOf(ids: readonly number[]): Generator<CascadeFacts[]> {
    if (ids.length === 0) yield []
    for (let at = 0; at < ids.length; at += CASCADES_A_PAGE)
      yield this.#read(ids.slice(at, at + CASCADES_A_PAGE))
  }

  #read(ids: readonly number[]): CascadeFacts[] {
    if (ids.length === 0) return []
    return this.#facts
      .all({ ids: JSON.stringify(ids) })
      .map((row) => ({ ...factsOf(row), supersededBy: this.#superseded.by(row.object ?? '') }))
  }
}

function factsOf(row: FactsRow): Omit<CascadeFacts, 'supersededBy'> {
  return {
    position: [row.id],
    root: cpidOfBytes(row.uuid),
    traceId: row.trace_id,
    open: row.open === 1n,
    startNs: row.start_ns,
    lastNs: row.last_ns,
    traces: Number(row.traces),
    spans: Number(row.spans),
    failed: Number(row.failed),
    services: Number(row.services),
    merges: Number(row.merges),
    missing: Number(row.missing),
    truncated: row.truncated === 1n,
    clockSkew: row.clock_skew === 1n,
    object: textOrNone(row.object),
    service: textOrNone(row.service),
    actor: textOrNone(row.actor),
    gaps: Number(row.gaps),
    missedVersions: Number(row.missed),
    cluster: textOrNone(row.cluster),
    reason: textOrNone(row.reason),
  }
}

/** How many traces are searched at once. */
const WINDOW = 4_000
const CANDIDATES_A_PAGE = 500

/** The form of such a reason: `schedule: creation by cronjob-controller`. */
const BEGAN_BY_ITSELF = `mergelogs.reason GLOB '*: ?* by *'
 AND substr(mergelogs.reason, 1, instr(mergelogs.reason, ': ') - 1) IN ('${SELF_REASONS.join("', '")}')
 AND substr(mergelogs.reason, 1, instr(mergelogs.reason, ' by ') - 1) NOT GLOB '*: * *'`

/**
 * The first trace of each cascade, which stands for it. A CPID that got sources is no root any more, and its remaining provisional traces
 * are no cascade. `where` restricts the traces.
 */
const firstTraces = (from: string, where: string): string => `SELECT first_trace.id FROM ${from}
 LEFT JOIN mergelogs ON mergelogs.cpid = first_trace.root
 LEFT JOIN scopes ON scopes.id = mergelogs.scope
 LEFT JOIN resources ON resources.id = scopes.resource
 WHERE ${where} AND NOT (first_trace.provisional = 1 AND coalesce(length(mergelogs.sources), 0) > 0)
   AND NOT EXISTS (SELECT 1 FROM traces part WHERE part.root = first_trace.root AND part.episode < first_trace.episode)
   AND (@cause IS NULL OR @cause = CASE WHEN ${BEGAN_BY_ITSELF} THEN 'self' ELSE 'operator' END)
   AND (@cluster IS NULL OR resources.cluster = @cluster)
   AND (@object IS NULL OR mergelogs.object = @object
     OR instr('/' || CASE instr(mergelogs.object, '?') WHEN 0 THEN mergelogs.object
       ELSE substr(mergelogs.object, 1, instr(mergelogs.object, '?') - 1) END || '/', '/' || @object || '/') > 0)
   AND (@open IS NULL OR (SELECT max(part.state = 0) FROM traces part WHERE part.root = first_trace.root) = @open)
   AND (@from IS NULL OR (SELECT max(part.last_ns) FROM traces part WHERE part.root = first_trace.root) >= @from)
   AND (@to IS NULL OR (SELECT min(part.first_ns) FROM traces part WHERE part.root = first_trace.root) <= @to)
   AND (@service IS NULL OR resources.service = @service OR EXISTS
     (SELECT 1 FROM traces part JOIN trace_services ON trace_services.trace = part.id
      WHERE part.root = first_trace.root AND trace_services.service = @service))
   AND (@actor IS NULL OR resources.service = @actor OR mergelogs.writer = @actor OR EXISTS
     (SELECT 1 FROM traces part JOIN trace_actors ON trace_actors.trace = part.id
      WHERE part.root = first_trace.root AND trace_actors.actor = @actor) OR EXISTS
     (SELECT 1 FROM traces part JOIN trace_services ON trace_services.trace = part.id
      WHERE part.root = first_trace.root AND trace_services.service = @actor))
   AND (@namespace IS NULL OR EXISTS
     (SELECT 1 FROM traces part JOIN trace_namespaces ON trace_namespaces.trace = coalesce(part.continues, part.id)
      WHERE part.root = first_trace.root AND trace_namespaces.namespace = @namespace))
 ORDER BY first_trace.id DESC`

interface FilterBind {
  open: number | null
  cause: string | null
  object: string | null
  service: string | null
  cluster: string | null
  actor: string | null
  namespace: string | null
  from: bigint | null
  to: bigint | null
}

/** Finds cascades that match a filter, newest first; returns the ids of their first traces. */
class CascadeCandidates extends OnConnection {
  readonly #window = this.column<[FilterBind & { least: bigint; before: bigint }], number>(
    firstTraces('traces first_trace', 'first_trace.id >= @least AND first_trace.id < @before'),
  )
  readonly #among = this.column<[FilterBind & { ids: string }], number>(
    firstTraces('json_each(@ids) wanted JOIN traces first_trace ON first_trace.id = wanted.value', 'true'),
  )
  readonly #newest = this.column<[bigint], bigint | null>(
    'SELECT max(id) FROM traces WHERE id < ?',
  ).safeIntegers()
  readonly #open = this.column<[bigint], number>(
    `SELECT min(id) FROM traces WHERE root IN (SELECT root FROM traces WHERE state = 0)
       GROUP BY root HAVING min(id) < ? ORDER BY 1 DESC`,
  )
  readonly #rare: RareCascades

  constructor(db: Sqlite) {
    super(db)
    this.#rare = new RareCascades(db)
  }

  /** Yields pages. After an empty page there may be more. */
  *before(id: bigint, filter: CascadeFilter): Generator<number[]> {
    const bind = bindOf(filter)
    const ids = filter.state === 'open' ? this.#open.all(id) : this.#rare.before(id, filter)
    if (ids !== undefined) {
      for (let at = 0; at < ids.length; at += CANDIDATES_A_PAGE) {
        yield this.#among.all({ ...bind, ids: JSON.stringify(ids.slice(at, at + CANDIDATES_A_PAGE)) })
      }
      return
    }
    for (let before = id; ;) {
      const newest = this.#newest.get(before) ?? null
      if (newest === null) return
      const least = newest - BigInt(WINDOW)
      yield this.#window.all({ ...bind, least, before })
      before = least
    }
  }

  /** Which of these traces are the first of a cascade and match a filter, newest first. */
  among(ids: readonly number[], filter: CascadeFilter = {}): number[] {
    return this.#among.all({ ...bindOf(filter), ids: JSON.stringify(ids) })
  }
}

function bindOf(filter: CascadeFilter): FilterBind {
  const { state, cause, object, service, cluster, actor, namespace, fromNs, toNs } = filter
  return {
    open: state === undefined ? null : Number(state === 'open'),
    cause: cause ?? null,
    object: object?.replace(/^\/+|\/+$/g, '') ?? null,
    service: service ?? null,
    cluster: cluster ?? null,
    actor: actor ?? null,
    namespace: namespace ?? null,
    from: fromNs ?? null,
    to: toNs ?? null,
  }
}

/** An actor or namespace with at most this many traces is looked up by index. With more, the newest traces will soon show one. */
const RARE = 2_000

/** Finds cascades by a value that few of them have, by index. */
class RareCascades {
  readonly #sql: PreparedStatements

  constructor(db: Sqlite) {
    this.#sql = new PreparedStatements(db)
  }

  /** The first traces of all cascades that may match, newest first; undefined if there may be many. */
  before(before: bigint, { actor, namespace }: CascadeFilter): number[] | undefined {
    if (actor !== undefined && this.#isRareActor(actor))
      return this.#firstOf(
        `SELECT traces.root FROM trace_actors JOIN traces ON traces.id = trace_actors.trace
         WHERE trace_actors.actor = @name UNION SELECT cpid FROM mergelogs WHERE writer = @name`,
        { name: actor, before },
      )
    // The writes of a cascade are stored under its first trace, which may be pruned before the others.
    if (namespace !== undefined && this.#isRare('trace_namespaces', 'namespace', namespace))
      return this.#firstOf(
        `SELECT traces.root FROM trace_namespaces JOIN traces ON traces.id = trace_namespaces.trace
         WHERE trace_namespaces.namespace = @name
         UNION SELECT traces.root FROM trace_namespaces JOIN traces ON traces.continues = trace_namespaces.trace
         WHERE trace_namespaces.namespace = @name`,
        { name: namespace, before },
      )
    return undefined
  }

  /** A service may take part in a cascade without writing anything. */
  #isRareActor(actor: string): boolean {
    return (
      this.#isRare('trace_actors', 'actor', actor) &&
      this.#isRare('mergelogs', 'writer', actor) &&
      this.#sql.number('SELECT 1 FROM resources WHERE service = ? LIMIT 1', actor) === undefined
    )
  }

  #isRare(table: string, column: string, value: string): boolean {
    const counted = `SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${column} = ? LIMIT ${RARE + 1})`
    return (this.#sql.number(counted, value) ?? 0) <= RARE
  }

  #firstOf(roots: string, bind: { name: string; before: bigint }): number[] {
    return this.#sql
      .rows<{ id: number }>(
        `SELECT min(part.id) AS id FROM traces part WHERE part.root IN (${roots})
         GROUP BY part.root HAVING min(part.id) < @before ORDER BY 1 DESC`,
        bind,
      )
      .map(({ id }) => id)
  }
}

/** The most roots that are looked up for a CPID without a linked cascade. */
const MAX_ROOTS = 8

/** The roots of a CPID, newest first: those that drive it (rule 6 of docs/linking.md), and those passed on with it. */
interface RootsInTwoKinds {
  readonly driving: readonly number[]
  readonly passedOn: readonly number[]
}

/** Finds the traces of roots and the roots of CPIDs. */
export class CascadeTraces extends OnConnection {
  readonly #ofRoot = this.exactRows<[number], TraceRow>(
    `SELECT ${TRACE_COLUMNS} FROM traces WHERE root = ? ORDER BY episode`,
  )
  /** The CPIDs of a cascade with a mergelog, by time of the mergelog. */
  readonly merged = this.column<[number, number], number>(
    `SELECT DISTINCT mergelogs.cpid FROM traces JOIN change_spans ON change_spans.trace = traces.id
       JOIN mergelogs ON mergelogs.cpid = change_spans.cpid
       WHERE traces.root = ? ORDER BY mergelogs.time_ns, mergelogs.cpid LIMIT ?`,
  )
  /** The root of the outgoing trace with this id. */
  readonly rootOf = this.column<[Buffer], number>('SELECT root FROM traces WHERE trace_id = ?')
  readonly missing = this.column<[number, number], number>(
    `SELECT DISTINCT cpids.id FROM traces JOIN change_spans ON change_spans.trace = traces.id
       JOIN cpids ON cpids.id = change_spans.cpid
       WHERE traces.root = ? AND cpids.has_mergelog = 0 AND cpids.explained = 0 ORDER BY cpids.id LIMIT ?`,
  )
  readonly #rootsOf = this.db.prepare<[number], { root: number; driven: number }>(
    `SELECT traces.root, max(change_spans.driven) AS driven
         FROM change_spans JOIN traces ON traces.id = change_spans.trace
         LEFT JOIN mergelogs ON mergelogs.cpid = traces.root
         WHERE change_spans.cpid = ? AND NOT (traces.provisional = 1 AND coalesce(length(mergelogs.sources), 0) > 0)
         GROUP BY traces.root ORDER BY min(traces.id) DESC`,
  )
  readonly #rootsAmong = this.column<[string, number], number>(
    `SELECT traces.root FROM json_each(?) wanted JOIN traces ON traces.root = wanted.value
       GROUP BY traces.root ORDER BY min(traces.id) DESC LIMIT ?`,
  )

  ofRoot(root: number): TraceFacts[] {
    return this.#ofRoot.all(root).map(traceFactsOf)
  }

  /** The roots of the traces with a change span of the CPID; if it was not linked yet, its roots in the graph. */
  rootsOf(cpid: number, graphRoots: () => readonly number[]): RootsInTwoKinds {
    const roots = this.#rootsOf.all(cpid)
    if (roots.length === 0)
      return { driving: [], passedOn: this.#rootsAmong.all(JSON.stringify(graphRoots()), MAX_ROOTS) }
    return {
      driving: roots.filter(({ driven }) => driven === 1).map(({ root }) => root),
      passedOn: roots.filter(({ driven }) => driven === 0).map(({ root }) => root),
    }
  }
}

const TRACE_COLUMNS = `id, trace_id, episode, state, first_ns, last_ns, last_decision, sent_spans,
  coalesce(continues, id) AS cascade`

interface TraceRow {
  id: bigint
  trace_id: Buffer
  episode: bigint
  state: bigint
  first_ns: bigint
  last_ns: bigint
  last_decision: bigint
  sent_spans: bigint
  cascade: bigint
}

function traceFactsOf(row: TraceRow): TraceFacts {
  return {
    id: Number(row.id),
    traceId: row.trace_id,
    episode: Number(row.episode),
    cascade: Number(row.cascade),
    spans: Number(row.sent_spans),
    open: row.state === 0n,
    startNs: row.first_ns,
    lastNs: row.last_ns,
    lastDecision: Number(row.last_decision),
  }
}
