import { serialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import type { Cached, KeptSpanBlocks } from '../../model/store-ports.ts'
import { LongTracesOfBlocks } from './long-traces.ts'
import { isDamage, OnConnection, type Sqlite } from './open-database.ts'
import { FORMAT, StoredBlocks } from './span-block-facts.ts'

/**
 * Stores summaries of full blocks, the oldest first. A block that cannot be read is left to searches: if it were reported as damage of the
 * database, nothing more would be stored.
 */
export class SpanBlockKeeper extends OnConnection implements KeptSpanBlocks, Cached {
  readonly #rowsABlock: number
  readonly #damaged = { received: new Set<number>(), own: new Set<number>() }
  #steps: Iterator<'read' | 'nothing'> | undefined

  constructor(db: Sqlite, rowsABlock: number) {
    super(db)
    this.#rowsABlock = rowsABlock
  }

  keep(mayGoOn: () => boolean): boolean {
    this.#steps ??= this.#keepAll()
    while (this.#steps.next().value === 'read') if (!mayGoOn()) return true
    return false
  }

  forget(): void {
    this.#steps = undefined
  }

  *#keepAll(): Generator<'read' | 'nothing'> {
    const [received, own] = (['received', 'own'] as const).map(
      (kind) => new StoredBlocks(this.db, kind, this.#rowsABlock),
    ) as [StoredBlocks, StoredBlocks]
    const longTraces = new LongTracesOfBlocks(this.db, received)
    const kinds = [
      this.#keepKind({ blocks: received, table: received.sql.table, read: (block) => received.read(block) }),
      this.#keepKind({ blocks: received, table: 'long_traces', read: (block) => longTraces.read(block) }),
      this.#keepKind({ blocks: own, table: own.sql.table, read: (block) => own.read(block) }),
    ]
    for (;;) {
      let isAny = false
      for (const kind of kinds)
        while (kind.next().value === 'read') {
          isAny = true
          yield 'read'
        }
      if (!isAny) yield 'nothing'
    }
  }

  *#keepKind({ blocks, table, read: readBlock }: KindOfFacts): Generator<'read' | 'nothing'> {
    const damaged = this.#damaged[blocks.sql.isOwn ? 'own' : 'received']
    const nextRow = this.db.prepare<[number], number | null>(blocks.sql.next).pluck()
    const insert = this.db.prepare<[number, number, Buffer, number]>(
      `INSERT OR REPLACE INTO ${table} (after, up_to, facts, checksum) VALUES (?, ?, ?, ?)`,
    )
    let upTo = this.db.prepare<[], number | null>(`SELECT max(up_to) FROM ${table}`).pluck().get() ?? 0
    for (;;) {
      const following = blocks.blockOf(upTo + 1)
      if (damaged.has(following)) {
        ;[, upTo] = blocks.boundsOf(following)
        continue
      }
      const row = unlessDamaged(following, damaged, () => nextRow.get(upTo) ?? Infinity)
      const block = blocks.blockOf(row)
      const bounds = blocks.boundsOf(block)
      if (!(blocks.newest > bounds[1])) {
        yield 'nothing'
        continue
      }
      const reading = readBlock(block)
      let read = unlessDamaged(block, damaged, () => reading.next())
      for (; read.done !== true; read = unlessDamaged(block, damaged, () => reading.next())) yield 'read'
      upTo = bounds[1]
      const facts = serialize(read.value)
      insert.run(...bounds, facts, crc32(facts, FORMAT))
    }
  }
}

/** One kind of summary. `read` yields at least once, when others may take a turn. */
interface KindOfFacts {
  readonly blocks: StoredBlocks
  readonly table: string
  readonly read: (block: number) => Generator<undefined, unknown>
}

/** Notes a damaged block. The transaction has to end then, since SQLite refuses further writes in it. */
function unlessDamaged<T>(block: number, damaged: Set<number>, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!isDamage(error)) throw error
    damaged.add(block)
    throw new Error('some stored spans cannot be read: causeway doctor says more', { cause: error })
  }
}
