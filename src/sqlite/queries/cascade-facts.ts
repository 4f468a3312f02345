import type { Statement } from 'better-sqlite3'
import { cpidOfBytes } from '../../model/cpid.ts'
import type { CascadeFacts, CascadeFilter, Pages, Position } from '../../model/query-port.ts'
import type { Sqlite } from '../open-database.ts'

const PAGE = 500
const MAX_ID = 2n ** 63n - 1n

/**
 * The first trace of each cascade, which stands for it. A CPID that turned out to have sources is no root, and what is
 * left of its provisional traces no cascade.
 */
const FACTS = `SELECT f.id, f.trace_id, c.uuid, m.object, r.service,
  (SELECT max(x.state = 0) FROM traces x WHERE x.root = f.root) AS open,
  (SELECT min(x.first_ns) FROM traces x WHERE x.root = f.root) AS start_ns,
  (SELECT max(x.last_ns) FROM traces x WHERE x.root = f.root) AS last_ns,
  (SELECT count(*) FROM traces x WHERE x.root = f.root) AS traces,
  (SELECT sum(x.controller_spans) FROM traces x WHERE x.root = f.root) AS spans,
  (SELECT count(DISTINCT v.service) FROM traces x JOIN trace_services v ON v.trace = x.id WHERE x.root = f.root) AS services,
  (SELECT sum(x.merges) FROM traces x WHERE x.root = f.root) AS merges,
  (SELECT sum(CASE x.state WHEN 1 THEN x.missing ELSE
     (SELECT count(*) FROM change_spans h JOIN cpids k ON k.id = h.cpid
      WHERE h.trace = x.id AND k.has_mergelog = 0 AND k.explained = 0) END)
   FROM traces x WHERE x.root = f.root) AS missing,
  (SELECT max(x.truncated) FROM traces x WHERE x.root = f.root) AS truncated
 FROM json_each(@ids) j JOIN traces f ON f.id = j.value
 JOIN cpids c ON c.id = f.root LEFT JOIN mergelogs m ON m.cpid = f.root
 LEFT JOIN scopes s ON s.id = m.scope LEFT JOIN resources r ON r.id = s.resource
 WHERE NOT EXISTS (SELECT 1 FROM traces x WHERE x.root = f.root AND x.episode < f.episode)
   AND NOT (f.provisional = 1 AND coalesce(length(m.sources), 0) > 0)
   AND (@open IS NULL OR (SELECT max(x.state = 0) FROM traces x WHERE x.root = f.root) = @open)
   AND (@object IS NULL OR m.object = @object
     OR substr(m.object, 1, length(@object) + 1) IN (@object || '?', @object || '/'))
   AND (@service IS NULL OR r.service = @service OR EXISTS
     (SELECT 1 FROM traces x JOIN trace_services v ON v.trace = x.id WHERE x.root = f.root AND v.service = @service))
 ORDER BY f.id DESC`

interface FactsBind {
  ids: string
  open: number | null
  object: string | null
  service: string | null
}

interface FactsRow {
  id: bigint
  trace_id: Buffer
  uuid: Buffer
  object: string | null
  service: string | null
  open: bigint
  start_ns: bigint
  last_ns: bigint
  traces: bigint
  spans: bigint
  services: bigint
  merges: bigint
  missing: bigint
  truncated: bigint
}

/** Reads what cascades come to, newest first. */
export class CascadeFactsReader {
  readonly #facts: Statement<[FactsBind], FactsRow>
  readonly #before: Statement<[bigint, number], number>
  readonly #open: Statement<[bigint], number>
  readonly #first: Statement<[number], number>

  constructor(db: Sqlite) {
    this.#facts = db.prepare<[FactsBind], FactsRow>(FACTS).safeIntegers()
    this.#before = db
      .prepare<[bigint, number], number>('SELECT id FROM traces WHERE id < ? ORDER BY id DESC LIMIT ?')
      .pluck()
    this.#open = db
      .prepare<[bigint], number>(
        `SELECT min(id) FROM traces WHERE root IN (SELECT root FROM traces WHERE state = 0)
         GROUP BY root HAVING min(id) < ? ORDER BY 1 DESC`,
      )
      .pluck()
    this.#first = db
      .prepare<[number], number>('SELECT id FROM traces WHERE root = ? ORDER BY episode LIMIT 1')
      .pluck()
  }

  /** The cascade of a root, if it is one. */
  of(root: number): CascadeFacts | undefined {
    const first = this.#first.get(root)
    return first === undefined ? undefined : this.#read([first], {})[0]
  }

  *pages(filter: CascadeFilter, after: Position = []): Pages<CascadeFacts> & Generator<CascadeFacts[]> {
    const [before = MAX_ID] = after
    const candidates = filter.state === 'open' ? this.#openOnes(before) : this.#allBefore(before)
    for (const ids of candidates) yield this.#read(ids, filter)
  }

  *#openOnes(before: bigint): Generator<number[]> {
    const ids = this.#open.all(before)
    for (let at = 0; at < ids.length; at += PAGE) yield ids.slice(at, at + PAGE)
  }

  *#allBefore(before: bigint): Generator<number[]> {
    for (let from = before; ;) {
      const ids = this.#before.all(from, PAGE)
      yield ids
      const last = ids.at(-1)
      if (last === undefined || ids.length < PAGE) return
      from = BigInt(last)
    }
  }

  #read(ids: readonly number[], { state, object, service }: CascadeFilter): CascadeFacts[] {
    const rows = this.#facts.all({
      ids: JSON.stringify(ids),
      open: state === undefined ? null : Number(state === 'open'),
      object: object ?? null,
      service: service ?? null,
    })
    return rows.map(factsOf)
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
    object: row.object ?? undefined,
    service: row.service === null || row.service === '' ? undefined : row.service,
  }
}
