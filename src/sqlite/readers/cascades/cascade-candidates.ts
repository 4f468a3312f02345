import type { Statement } from 'better-sqlite3'
import type { CascadeFilter } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'
import { RareCascades } from './rare-cascades.ts'

/** How many traces are looked through at once. */
const WINDOW = 4_000
const PAGE = 500

/**
 * The first trace of each cascade, which stands for it. A CPID that turned out to have sources is no root, and what is
 * left of its provisional traces no cascade. `where` narrows the traces down.
 */
const firstTraces = (from: string, where: string): string => `SELECT first_trace.id FROM ${from}
 LEFT JOIN mergelogs ON mergelogs.cpid = first_trace.root
 LEFT JOIN scopes ON scopes.id = mergelogs.scope
 LEFT JOIN resources ON resources.id = scopes.resource
 WHERE ${where} AND NOT (first_trace.provisional = 1 AND coalesce(length(mergelogs.sources), 0) > 0)
   AND NOT EXISTS (SELECT 1 FROM traces part WHERE part.root = first_trace.root AND part.episode < first_trace.episode)
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
   AND (@actor IS NULL OR resources.service = @actor OR EXISTS
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
  object: string | null
  service: string | null
  cluster: string | null
  actor: string | null
  namespace: string | null
  from: bigint | null
  to: bigint | null
}

/** Finds the cascades that a filter lets through, newest first, as the numbers of their first traces. */
export class CascadeCandidates {
  readonly #window: Statement<[FilterBind & { least: bigint; before: bigint }], number>
  readonly #among: Statement<[FilterBind & { ids: string }], number>
  readonly #newest: Statement<[bigint], bigint | null>
  readonly #open: Statement<[bigint], number>
  readonly #rare: RareCascades

  constructor(db: Sqlite) {
    this.#window = db
      .prepare<[FilterBind & { least: bigint; before: bigint }], number>(
        firstTraces('traces first_trace', 'first_trace.id >= @least AND first_trace.id < @before'),
      )
      .pluck()
    this.#among = db
      .prepare<[FilterBind & { ids: string }], number>(
        firstTraces(
          'json_each(@ids) wanted JOIN traces first_trace ON first_trace.id = wanted.value',
          'true',
        ),
      )
      .pluck()
    this.#newest = db
      .prepare<[bigint], bigint | null>('SELECT max(id) FROM traces WHERE id < ?')
      .pluck()
      .safeIntegers()
    this.#open = db
      .prepare<[bigint], number>(
        `SELECT min(id) FROM traces WHERE root IN (SELECT root FROM traces WHERE state = 0)
         GROUP BY root HAVING min(id) < ? ORDER BY 1 DESC`,
      )
      .pluck()
    this.#rare = new RareCascades(db)
  }

  /** Page by page; an empty one means only that there is more to look through. */
  *before(id: bigint, filter: CascadeFilter): Generator<number[]> {
    const bind = bindOf(filter)
    const ids = filter.state === 'open' ? this.#open.all(id) : this.#rare.before(id, filter)
    if (ids !== undefined) {
      for (let at = 0; at < ids.length; at += PAGE) {
        yield this.#among.all({ ...bind, ids: JSON.stringify(ids.slice(at, at + PAGE)) })
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

  /** Those among these traces that stand for a cascade and that a filter lets through, newest first. */
  among(ids: readonly number[], filter: CascadeFilter = {}): number[] {
    return this.#among.all({ ...bindOf(filter), ids: JSON.stringify(ids) })
  }
}

function bindOf(filter: CascadeFilter): FilterBind {
  const { state, object, service, cluster, actor, namespace, fromNs, toNs } = filter
  return {
    open: state === undefined ? null : Number(state === 'open'),
    object: object?.replace(/^\/+|\/+$/g, '') ?? null,
    service: service ?? null,
    cluster: cluster ?? null,
    actor: actor ?? null,
    namespace: namespace ?? null,
    from: fromNs ?? null,
    to: toNs ?? null,
  }
}
