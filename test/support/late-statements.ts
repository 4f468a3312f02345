import type { Statement } from 'better-sqlite3'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'

/** The texts that SQLite has taken in this process. */
const taken = new Set<string>()

/**
 * The writer prepares some two hundred statements, of which a small test runs a few: a text that was prepared before is
 * prepared again only when it is first run. Every text is thus prepared where it stands at least once in each process that runs tests.
 */
export function preparesLate(db: Sqlite): Sqlite {
  const prepare: (sql: string) => Statement = db.prepare.bind(db)
  const late = (sql: string): unknown => {
    if (taken.has(sql)) return new LateStatement(() => prepare(sql))
    const statement = prepare(sql)
    taken.add(sql)
    return statement
  }
  return Object.assign(db, { prepare: late })
}

type Way = 'pluck' | 'raw' | 'expand' | 'safeIntegers'

class LateStatement {
  readonly #prepare: () => Statement
  readonly #ways: [Way, boolean][] = []
  #statement: Statement | undefined

  constructor(prepare: () => Statement) {
    this.#prepare = prepare
  }

  run(...values: unknown[]): unknown {
    return (this.#statement ?? this.#prepared()).run(...values)
  }

  get(...values: unknown[]): unknown {
    return (this.#statement ?? this.#prepared()).get(...values)
  }

  all(...values: unknown[]): unknown {
    return (this.#statement ?? this.#prepared()).all(...values)
  }

  iterate(...values: unknown[]): unknown {
    return (this.#statement ?? this.#prepared()).iterate(...values)
  }

  bind(...values: unknown[]): Statement {
    return this.#prepared().bind(...values)
  }

  columns(): unknown {
    return this.#prepared().columns()
  }

  pluck(on = true): this {
    return this.#in('pluck', on)
  }

  raw(on = true): this {
    return this.#in('raw', on)
  }

  expand(on = true): this {
    return this.#in('expand', on)
  }

  safeIntegers(on = true): this {
    return this.#in('safeIntegers', on)
  }

  #in(way: Way, on: boolean): this {
    if (this.#statement === undefined) this.#ways.push([way, on])
    else this.#statement[way](on)
    return this
  }

  #prepared(): Statement {
    if (this.#statement !== undefined) return this.#statement
    const statement = this.#prepare()
    for (const [way, on] of this.#ways) statement[way](on)
    return (this.#statement = statement)
  }
}
