import type { Statement } from 'better-sqlite3'
import type { CascadeFilter } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'

/** In so many traces somebody, or a namespace, is found by the index; in more of them, soon enough among the newest. */
const RARE = 2_000

const firstOf = (roots: string): string => `SELECT min(part.id) FROM traces part WHERE part.root IN (${roots})
 GROUP BY part.root HAVING min(part.id) < @before ORDER BY 1 DESC`

interface Bind {
  name: string
  before: bigint
}

/** Finds the cascades of what is in few of them, without looking through all others. */
export class RareCascades {
  readonly #isService: Statement<[string], number>
  readonly #actorTraces: Statement<[string], number>
  readonly #ofActor: Statement<[Bind], number>
  readonly #namespaceTraces: Statement<[string], number>
  readonly #inNamespace: Statement<[Bind], number>

  constructor(db: Sqlite) {
    const count = (table: string, column: string): Statement<[string], number> =>
      db
        .prepare<[string], number>(
          `SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${column} = ? LIMIT ${RARE + 1})`,
        )
        .pluck()
    this.#isService = db
      .prepare<[string], number>('SELECT EXISTS (SELECT 1 FROM resources WHERE service = ?)')
      .pluck()
    this.#actorTraces = count('trace_actors', 'actor')
    this.#namespaceTraces = count('trace_namespaces', 'namespace')
    this.#ofActor = db
      .prepare<[Bind], number>(
        firstOf(`SELECT traces.root FROM trace_actors JOIN traces ON traces.id = trace_actors.trace
          WHERE trace_actors.actor = @name`),
      )
      .pluck()
    // What a cascade wrote stands under its first trace, which may be gone before the others.
    this.#inNamespace = db
      .prepare<[Bind], number>(
        firstOf(`SELECT traces.root FROM trace_namespaces JOIN traces ON traces.id = trace_namespaces.trace
          WHERE trace_namespaces.namespace = @name
          UNION SELECT traces.root FROM trace_namespaces JOIN traces ON traces.continues = trace_namespaces.trace
          WHERE trace_namespaces.namespace = @name`),
      )
      .pluck()
  }

  /** The first traces of all cascades that the filter may let through, newest first; undefined where they may be many. */
  before(before: bigint, { actor, namespace }: CascadeFilter): number[] | undefined {
    if (actor !== undefined && this.#isRareActor(actor)) return this.#ofActor.all({ name: actor, before })
    if (namespace !== undefined && (this.#namespaceTraces.get(namespace) ?? 0) <= RARE)
      return this.#inNamespace.all({ name: namespace, before })
    return undefined
  }

  /** A service takes part without having written anything. */
  #isRareActor(actor: string): boolean {
    return (this.#actorTraces.get(actor) ?? 0) <= RARE && this.#isService.get(actor) !== 1
  }
}
