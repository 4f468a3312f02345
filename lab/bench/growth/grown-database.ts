import { statSync } from 'node:fs'
import type { Cpid } from '../../../src/model/merge-graph.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { fillCascades } from '../fill/fill-cascades.ts'
import { cpidOf, fillMergeGraph } from '../fill/fill-merge-graph.ts'

/** One CPID in ten has spans stored, ten each, but at least this many are stored in all. */
const MIN_SPANS = 100_000
const PER_ROOT = 1_000

export interface GrownDatabase {
  path: string
  cpids: number
  spans: number
  bytes: number
  /** Roots with 1,000 related CPIDs. */
  roots: Cpid[]
  /** Roots of cascades of 1,000 spans. */
  cascades: Cpid[]
}

/** Writes a database with about `count` CPIDs: old cascades with their spans first, then a younger merge graph. */
export async function growDatabase(path: string, count: number): Promise<GrownDatabase> {
  const db = openForWriting(path)
  await migrate(db)
  db.pragma('journal_mode = MEMORY')
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -1000000')
  const filled = fillCascades(db, Math.max(MIN_SPANS, count), Date.now() - count)
  const cascades = Math.max(0, Math.round((count - filled.cpids) / PER_ROOT))
  const { cpids, arrivals, broad, ordinary, spans } = filled
  if (cascades > 0)
    fillMergeGraph(db, { count: cascades * PER_ROOT, perRoot: PER_ROOT, after: { cpids, arrivals } })
  db.pragma('journal_mode = WAL')
  db.close()
  const roots = Array.from({ length: cascades }, (_, at) => cpidOf(cpids + at + 1))
  return {
    path,
    cpids: cpids + cascades * PER_ROOT,
    spans,
    bytes: statSync(path).size,
    roots: [...broad, ...roots],
    cascades: ordinary,
  }
}
