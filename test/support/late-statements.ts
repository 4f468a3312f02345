import type { Statement } from 'better-sqlite3'

type Way = 'pluck' | 'raw' | 'expand' | 'safeIntegers'

/** Prepares a text that is then asked in these ways, or finds a statement that was. */
type TakeStatement = (ways: string, prepared: (statement: Statement) => Statement) => Statement

/**
 * A statement that is prepared when it is first run: the writer has some two hundred, of which a small test runs a few.
 */
export class LateStatement {
  readonly #take: TakeStatement
  readonly #ways: [Way, boolean][] = []
  #statement: Statement | undefined
  #isChanged = false
  #isOver = false

  constructor(take: TakeStatement) {
    this.#take = take
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
    const statement = this.#prepared()
    this.#isChanged = true
    return statement.bind(...values)
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

  /** Nothing is asked of it any more. Gives back what was prepared, if it is as it was then, and in which ways. */
  end(): { ways: string; statement: Statement } | undefined {
    const statement = this.#statement
    this.#isOver = true
    this.#statement = undefined
    return statement === undefined || this.#isChanged
      ? undefined
      : { ways: JSON.stringify(this.#ways), statement }
  }

  #in(way: Way, on: boolean): this {
    if (this.#statement === undefined) this.#ways.push([way, on])
    else {
      this.#isChanged = true
      this.#statement[way](on)
    }
    return this
  }

  #prepared(): Statement {
    if (this.#isOver) throw new TypeError('The database connection is not open')
    this.#statement ??= this.#take(JSON.stringify(this.#ways), (statement) => {
      for (const [way, on] of this.#ways) statement[way](on)
      return statement
    })
    return this.#statement
  }
}
