import type { Statement } from 'better-sqlite3'
import { cpidOfBytes } from '../../../model/cpid.ts'
import type { CascadeFacts, CascadeFilter, Pages, Position } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'
import { CascadeCandidates } from './cascade-candidates.ts'

const PAGE = 50
const MAX_ID = 2n ** 63n - 1n

const FACTS = `SELECT f.id, f.trace_id, c.uuid, m.object, m.reason, r.service, r.cluster, t.open, t.start_ns, t.last_ns,
  t.traces, t.spans, t.merges, t.missing, t.truncated, t.clock_skew,
  (SELECT count(DISTINCT v.service) FROM traces x JOIN trace_services v ON v.trace = x.id WHERE x.root = f.root) AS services
 FROM json_each(@ids) j JOIN traces f ON f.id = j.value
 JOIN (SELECT x.root, max(x.state = 0) AS open, max(x.clock_skew) AS clock_skew,
   coalesce(min(CASE WHEN x.doubtful_times = 0 THEN x.first_ns END), min(x.first_ns)) AS start_ns,
   coalesce(max(CASE WHEN x.doubtful_times = 0 THEN x.last_ns END), max(x.last_ns)) AS last_ns, count(*) AS traces,
   sum(x.controller_spans) AS spans, sum(x.merges) AS merges, max(x.truncated) AS truncated,
   sum(CASE x.state WHEN 1 THEN x.missing ELSE (SELECT count(DISTINCT k.id) FROM traces u
     JOIN change_spans h ON h.trace = u.id JOIN cpids k ON k.id = h.cpid WHERE u.root = x.root
     AND coalesce(u.continues, u.id) = coalesce(x.continues, x.id) AND k.has_mergelog = 0 AND k.explained = 0) END) AS missing
   FROM traces x WHERE x.root IN (SELECT g.root FROM json_each(@ids) i JOIN traces g ON g.id = i.value)
   GROUP BY x.root) t ON t.root = f.root
 JOIN cpids c ON c.id = f.root LEFT JOIN mergelogs m ON m.cpid = f.root
 LEFT JOIN scopes s ON s.id = m.scope LEFT JOIN resources r ON r.id = s.resource
 ORDER BY f.id DESC`

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
        'SELECT min(t.id) FROM json_each(?) j JOIN traces t ON t.root = j.value GROUP BY t.root',
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
  *ofRoots(roots: readonly number[], after: Position = []): Pages<CascadeFacts> & Generator<CascadeFacts[]> {
    const [before = MAX_ID] = after
    const firsts = this.#firsts.all(JSON.stringify(roots)).filter((id) => id < before)
    yield* this.#pagesOf(this.#candidates.among(firsts))
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
    cluster: textOf(row.cluster),
    reason: textOf(row.reason),
  }
}

function textOf(column: string | null): string | undefined {
  return column === null || column === '' ? undefined : column
}
