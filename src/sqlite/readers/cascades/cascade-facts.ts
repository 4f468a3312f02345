import type { Statement } from 'better-sqlite3'
import { cpidOfBytes } from '../../../model/cpid.ts'
import type { CascadeFacts, CascadeFilter, Pages, Position } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'
import { CascadeCandidates } from './cascade-candidates.ts'

const PAGE = 50
const MAX_ID = 2n ** 63n - 1n

/** CPIDs of a cascade, of which `part` is a trace, whose own mergelog has not arrived. */
const MISSING = `SELECT count(DISTINCT cpids.id) FROM traces sibling
     JOIN change_spans ON change_spans.trace = sibling.id
     JOIN cpids ON cpids.id = change_spans.cpid
     WHERE sibling.root = part.root AND coalesce(sibling.continues, sibling.id) = coalesce(part.continues, part.id)
       AND cpids.has_mergelog = 0 AND cpids.explained = 0`

/** All traces of a root together. */
const CASCADES = `SELECT part.root, max(part.state = 0) AS open, max(part.clock_skew) AS clock_skew,
   coalesce(min(CASE WHEN part.doubtful_times = 0 THEN part.first_ns END), min(part.first_ns)) AS start_ns,
   coalesce(max(CASE WHEN part.doubtful_times = 0 THEN part.last_ns END), max(part.last_ns)) AS last_ns,
   count(*) AS traces, sum(part.controller_spans) AS spans, sum(part.merges) AS merges, max(part.truncated) AS truncated,
   sum(CASE part.state WHEN 1 THEN part.missing ELSE (${MISSING}) END) AS missing
   FROM traces part WHERE part.root IN
     (SELECT asked.root FROM json_each(@ids) wanted JOIN traces asked ON asked.id = wanted.value)
   GROUP BY part.root`

const FACTS = `SELECT first_trace.id, first_trace.trace_id, cpids.uuid, mergelogs.object, mergelogs.reason,
  resources.service, resources.cluster, cascade.open, cascade.start_ns, cascade.last_ns, cascade.traces, cascade.spans,
  cascade.merges, cascade.missing, cascade.truncated, cascade.clock_skew,
  (SELECT count(DISTINCT trace_services.service) FROM traces part
   JOIN trace_services ON trace_services.trace = part.id WHERE part.root = first_trace.root) AS services,
  (SELECT trace_actors.actor FROM traces part JOIN trace_actors ON trace_actors.trace = part.id
   WHERE part.root = first_trace.root AND trace_actors.began = 1 ORDER BY part.episode LIMIT 1) AS actor,
  (SELECT coalesce(sum(trace_actors.gaps), 0) FROM traces part JOIN trace_actors ON trace_actors.trace = part.id
   WHERE part.root = first_trace.root) AS gaps
 FROM json_each(@ids) wanted
 JOIN traces first_trace ON first_trace.id = wanted.value
 JOIN (${CASCADES}) cascade ON cascade.root = first_trace.root
 JOIN cpids ON cpids.id = first_trace.root
 LEFT JOIN mergelogs ON mergelogs.cpid = first_trace.root
 LEFT JOIN scopes ON scopes.id = mergelogs.scope
 LEFT JOIN resources ON resources.id = scopes.resource
 ORDER BY first_trace.id DESC`

interface FactsRow {
  id: bigint
  trace_id: Buffer
  uuid: Buffer
  object: string | null
  reason: string | null
  service: string | null
  cluster: string | null
  open: bigint
  start_ns: bigint
  last_ns: bigint
  traces: bigint
  spans: bigint
  services: bigint
  actor: string | null
  gaps: bigint
  merges: bigint
  missing: bigint
  truncated: bigint
  clock_skew: bigint
}

/** Reads what cascades come to, newest first. */
export class CascadeFactsReader {
  readonly #candidates: CascadeCandidates
  readonly #facts: Statement<[{ ids: string }], FactsRow>
  readonly #first: Statement<[number], number>
  readonly #firsts: Statement<[string], number>

  constructor(db: Sqlite) {
    this.#candidates = new CascadeCandidates(db)
    this.#facts = db.prepare<[{ ids: string }], FactsRow>(FACTS).safeIntegers()
    this.#first = db
      .prepare<[number], number>('SELECT id FROM traces WHERE root = ? ORDER BY episode LIMIT 1')
      .pluck()
    this.#firsts = db
      .prepare<[string], number>(
        'SELECT min(traces.id) FROM json_each(?) wanted JOIN traces ON traces.root = wanted.value GROUP BY traces.root',
      )
      .pluck()
  }

  /** The cascade of a root, if it is one. */
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
    for (let at = 0; at < ids.length; at += PAGE) yield this.#read(ids.slice(at, at + PAGE))
  }

  #read(ids: readonly number[]): CascadeFacts[] {
    return ids.length === 0 ? [] : this.#facts.all({ ids: JSON.stringify(ids) }).map(factsOf)
  }
}

function factsOf(row: FactsRow): CascadeFacts {
  return {
    position: [row.id],
    root: cpidOfBytes(row.uuid),
    traceId: row.trace_id,
    open: row.open === 1n,
    startNs: row.start_ns,
    lastNs: row.last_ns,
    traces: Number(row.traces),
    spans: Number(row.spans),
    services: Number(row.services),
    merges: Number(row.merges),
    missing: Number(row.missing),
    truncated: row.truncated === 1n,
    clockSkew: row.clock_skew === 1n,
    object: textOf(row.object),
    service: textOf(row.service),
    actor: textOf(row.actor),
    gaps: Number(row.gaps),
    cluster: textOf(row.cluster),
    reason: textOf(row.reason),
  }
}

function textOf(column: string | null): string | undefined {
  return column === null || column === '' ? undefined : column
}
