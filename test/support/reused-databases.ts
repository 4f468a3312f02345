import Database, { type Statement } from 'better-sqlite3'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { LateStatement } from './late-statements.ts'

/** Databases in memory that were given back, for the next one who wants such a one. */
const MOST_KEPT = 8
/** What changes more of a database than its rows, and pragmas that change nothing. */
const CHANGES_MORE = /\b(CREATE|DROP|ALTER|ATTACH|DETACH|VACUUM|REINDEX|ANALYZE|PRAGMA)\b/i
const ASKS = /^\s*PRAGMA\s+(data_version|page_count|freelist_count|page_size|busy_timeout)\s*$/i
const SHAPE = ['page_count', 'freelist_count', 'schema_version'] as const
/** Emptied first: triggers on the others keep its changes while there is an archive. */
const FIRST = 'archives'

/** The texts that SQLite has taken in this process: each is prepared at once where it stands first. */
const taken = new Set<string>()

type SqlFunction = (...values: unknown[]) => unknown

/**
 * Lends databases in memory that hold what these bytes do. One that is closed is emptied and lent again, its schema read and its
 * statements prepared, which take longer than most tests take for what they do. One that has grown, or of which more than rows
 * was changed, is closed in earnest.
 */
export class ReusedDatabases {
  readonly #bytes: Buffer
  readonly #kept: Reused[] = []
  #content: Content | undefined

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  lend(): Sqlite {
    const reused = this.#kept.pop() ?? this.#another()
    return reused.lend(() => {
      if (this.#kept.length < MOST_KEPT && reused.isAsBefore()) this.#kept.push(reused)
      else reused.db.close()
    })
  }

  #another(): Reused {
    const db = new Database(this.#bytes)
    db.pragma('temp_store = MEMORY')
    return new Reused(db, (this.#content ??= contentOf(db)))
  }
}

/** What all of these databases hold at first. */
interface Content {
  readonly shape: string
  readonly tables: readonly Table[]
}

interface Table {
  readonly name: string
  readonly columns: string
  readonly rows: readonly unknown[][]
}

class Reused {
  readonly db: Sqlite
  readonly #idle = new Map<string, Statement[]>()
  readonly #functions = new Map<string, SqlFunction>()
  readonly #content: Content
  /** Prepared for the first that did not grow: most drawn tests leave ones that did. */
  #renewals: readonly (() => unknown)[] | undefined
  #isMoreChanged = false

  constructor(db: Sqlite, content: Content) {
    this.db = db
    this.#content = content
  }

  /** Whoever has it closes it, which `closed` is told. */
  lend(closed: () => void): Sqlite {
    const { db } = this
    const lent: { text: string; late: LateStatement }[] = []
    let isOpen = true
    const opened = (): Sqlite => {
      if (!isOpen) throw new TypeError('The database connection is not open')
      return db
    }
    const changed = (): Sqlite => {
      this.#isMoreChanged = true
      return opened()
    }
    const own = {
      prepare: (text: string) => {
        const open = opened()
        if (!taken.has(text)) {
          this.#look(text)
          this.#idleIn(text, '[]').push(open.prepare(text))
          if (!CHANGES_MORE.test(text)) taken.add(text)
        }
        const late = new LateStatement((ways, prepared) => {
          return this.#idleIn(text, ways).pop() ?? prepared(open.prepare(text))
        })
        lent.push({ text, late })
        return late
      },
      exec: (text: string) => {
        this.#look(text)
        opened().exec(text)
        return facade
      },
      pragma: (text: string, options?: Database.PragmaOptions) => {
        this.#look(`PRAGMA ${text}`)
        return opened().pragma(text, options)
      },
      function: (name: string, ...rest: [Database.RegistrationOptions, SqlFunction] | [SqlFunction]) => {
        if (rest.length === 1) this.#define(opened(), name, {}, rest[0])
        else this.#define(opened(), name, ...rest)
        return facade
      },
      aggregate: (...of: Parameters<Sqlite['aggregate']>) => changed().aggregate(...of),
      table: (...of: Parameters<Sqlite['table']>) => changed().table(...of),
      loadExtension: (path: string) => changed().loadExtension(path),
      defaultSafeIntegers: (on?: boolean) => changed().defaultSafeIntegers(on),
      unsafeMode: (on?: boolean) => changed().unsafeMode(on),
      transaction: (...of: Parameters<Sqlite['transaction']>) => opened().transaction(...of),
      serialize: () => opened().serialize(),
      close: () => {
        if (!isOpen) return facade
        isOpen = false
        this.#take(lent)
        closed()
        return facade
      },
    }
    const facade = Object.create(db, {
      ...Object.getOwnPropertyDescriptors(own),
      open: { get: () => isOpen },
    }) as Sqlite
    return facade
  }

  /** Empties it again. False if it is not what it was. */
  isAsBefore(): boolean {
    const { db } = this
    const { shape, tables } = this.#content
    if (this.#isMoreChanged || db.inTransaction || shapeOf(db) !== shape) return false
    this.#renewals ??= renewalsOf(db, tables)
    db.exec('BEGIN')
    for (const renew of this.#renewals) renew()
    db.exec('COMMIT')
    return shapeOf(db) === shape
  }

  #look(text: string): void {
    if (CHANGES_MORE.test(text) && !ASKS.test(text)) this.#isMoreChanged = true
  }

  /** A function that is defined anew would have every statement prepared anew: the one that is called is exchanged instead. */
  #define(db: Sqlite, name: string, options: Database.RegistrationOptions, own: SqlFunction): void {
    const key = JSON.stringify([name, own.length, options])
    if (!this.#functions.has(key)) {
      const call: SqlFunction = (...values) => this.#functions.get(key)?.(...values)
      db.function(name, options, Object.defineProperty(call, 'length', { value: own.length }))
    }
    this.#functions.set(key, own)
  }

  #idleIn(text: string, ways: string): Statement[] {
    const key = `${ways} ${text}`
    const idle = this.#idle.get(key) ?? []
    this.#idle.set(key, idle)
    return idle
  }

  #take(lent: readonly { text: string; late: LateStatement }[]): void {
    for (const { text, late } of lent) {
      const ended = late.end()
      if (ended !== undefined) this.#idleIn(text, ended.ways).push(ended.statement)
    }
  }
}

function contentOf(db: Sqlite): Content {
  const names = db
    .prepare<[string], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND (name NOT LIKE 'sqlite_%' OR name = 'sqlite_sequence')
       ORDER BY name <> ?`,
    )
    .pluck()
    .all(FIRST)
  const columnsOf = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck()
  const tables = names.map((name) => {
    const columns = columnsOf
      .all(name)
      .map((column) => `"${column}"`)
      .join()
    const rows = db.prepare<[], unknown[]>(`SELECT ${columns} FROM ${name}`).raw().safeIntegers().all()
    return { name, columns, rows }
  })
  return { shape: shapeOf(db), tables }
}

function shapeOf(db: Sqlite): string {
  return SHAPE.map((name) => db.pragma(name, { simple: true })).join()
}

/** What empties the tables, and then fills them with the rows that they had. */
function renewalsOf(db: Sqlite, tables: readonly Table[]): (() => unknown)[] {
  const emptied = tables.map(({ name }) => {
    const statement = db.prepare(`DELETE FROM ${name}`)
    return () => statement.run()
  })
  const filled = tables.flatMap(({ name, columns, rows: [first, ...others] }) => {
    if (first === undefined) return []
    const insert = db.prepare(`INSERT INTO ${name} (${columns}) VALUES (${first.map(() => '?').join()})`)
    return [first, ...others].map((row) => () => insert.run(row))
  })
  return [...emptied, ...filled]
}
