import Database from 'better-sqlite3'
import type { SkipReason } from '../../model/kubernetes-observations.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import { OnConnection, type Sqlite } from './open-database.ts'

/** The sort key of a line, across all files. */
export interface LineKey {
  readonly atNs: UnixNanos
  /** 0 for none. */
  readonly version: bigint
  /** The hash of its content. */
  readonly hash: Buffer
}

export interface OrderedLine extends LineKey {
  /** Empty if the line describes no write. */
  readonly observations: Uint8Array
  readonly skipped: SkipReason | undefined
}

/** The number of lines in a set, and their combined hash. */
export interface SetOfLines {
  readonly lines: number
  readonly digest: bigint
}

interface Row {
  at_ns: bigint
  version: bigint
  hash: Buffer
  observations: Buffer
  skipped: SkipReason | null
}

export const NO_LINES: SetOfLines = { lines: 0, digest: 0n }

export function withLine({ lines, digest }: SetOfLines, hash: Buffer): SetOfLines {
  return { lines: lines + 1, digest: digest ^ BigInt(`0x${hash.toString('hex')}`) }
}

/**
 * Sorts the lines of recordings and removes duplicates, in a temporary file that ends with the process. There may be more lines than fit
 * into memory.
 */
export class OrderedLines extends OnConnection implements Disposable {
  readonly #insert = this.db.prepare(
    'INSERT OR IGNORE INTO lines (at_ns, version, hash, timed, observations, skipped) VALUES (?, ?, ?, ?, ?, ?)',
  )
  readonly #next = this.exactRows<[bigint, bigint, Buffer, number], Row>(
    `SELECT at_ns, version, hash, observations, skipped FROM lines WHERE (at_ns, version, hash) > (?, ?, ?)
       ORDER BY at_ns, version, hash LIMIT ?`,
  )
  readonly #upTo = this.column<[bigint, bigint, Buffer], Buffer>(
    'SELECT hash FROM lines WHERE (at_ns, version, hash) <= (?, ?, ?)',
  )
  readonly #below = this.column<[bigint], bigint>(
    'SELECT at_ns FROM lines WHERE timed = 0 AND version <= ? ORDER BY version DESC, at_ns DESC LIMIT 1',
  ).safeIntegers()
  readonly #above = this.exactRows<[bigint], { id: bigint; at_ns: bigint }>(
    'SELECT id, at_ns FROM lines WHERE timed = 0 AND version > ? ORDER BY version, at_ns',
  )
  readonly #raise = this.db.prepare('UPDATE lines SET at_ns = ? WHERE id = ?')
  /** The time up to which versions without a time of their own have been returned. Those keep their place. */
  #fixedNs: UnixNanos = -1n

  constructor() {
    super(openTemporary())
  }

  /**
   * Adds a line; false if it is a duplicate. If it is not `isTimed`, its time is a lower bound: it comes after all untimed lines with lower
   * versions.
   */
  add({ atNs, version, hash, observations, skipped }: OrderedLine, isTimed: boolean): boolean {
    if (isTimed) return this.#insert.run(atNs, version, hash, 1, observations, skipped).changes > 0
    const belowNs = this.#below.get(version) ?? 0n
    const ownNs = belowNs > atNs ? belowNs : atNs
    if (this.#insert.run(ownNs, version, hash, 0, observations, skipped).changes === 0) return false
    const late: bigint[] = []
    for (const above of this.#above.iterate(version)) {
      if (above.at_ns >= ownNs) break
      if (above.at_ns > this.#fixedNs) late.push(above.id)
    }
    for (const id of late) this.#raise.run(ownNs, id)
    return true
  }

  /** The next lines after a key, or from the first. */
  after(key: LineKey | undefined, most: number): OrderedLine[] {
    const { atNs = -1n, version = 0n, hash = Buffer.alloc(0) } = key ?? {}
    if (atNs > this.#fixedNs) this.#fixedNs = atNs
    return this.#next.all(atNs, version, hash, most).map((row) => ({
      ...{ atNs: row.at_ns, version: row.version, hash: row.hash, observations: row.observations },
      skipped: row.skipped ?? undefined,
    }))
  }

  /** The lines up to and including a key. */
  upTo({ atNs, version, hash }: LineKey): SetOfLines {
    let set = NO_LINES
    for (const one of this.#upTo.iterate(atNs, version, hash)) set = withLine(set, one)
    return set
  }

  [Symbol.dispose](): void {
    this.db.close()
  }
}

function openTemporary(): Sqlite {
  // An empty name makes SQLite use a temporary file.
  const db = new Database('')
  db.pragma('journal_mode = OFF')
  db.pragma('synchronous = OFF')
  db.exec(`
    CREATE TABLE lines (id INTEGER PRIMARY KEY, at_ns INTEGER, version INTEGER, hash BLOB UNIQUE, timed INTEGER, observations BLOB, skipped TEXT);
    CREATE UNIQUE INDEX in_order ON lines (at_ns, version, hash);
    CREATE INDEX untimed ON lines (version, at_ns) WHERE timed = 0;
  `)
  return db
}
