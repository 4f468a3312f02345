import { createHash } from 'node:crypto'
import { type Cpid, cpidOfBytes } from '../../../src/model/merge-graph.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting, type Sqlite } from '../../../src/store/sqlite/open-database.ts'

interface GraphShape {
  /** CPIDs in all; `count / perRoot` of them are roots. */
  count: number
  /** How many are related to each root, itself counted. */
  perRoot: number
  /** What the tables hold already; nothing if left out. */
  after?: { cpids: number; arrivals: number }
}

/** Makes a database with a merge graph, all of it in the main file. */
export async function buildMergeGraph(path: string, shape: GraphShape): Promise<void> {
  const db = openForWriting(path)
  await migrate(db)
  fillMergeGraph(db, shape)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

/**
 * Writes a merge graph straight into the tables, in one transaction. Its cascades grow side by side, as in a busy
 * cluster, so that the rows of one lie far apart. Each CPID but a root has one source or two, all below the same root.
 */
export function fillMergeGraph(
  db: Sqlite,
  { count, perRoot, after = { cpids: 0, arrivals: 0 } }: GraphShape,
): void {
  const cascades = count / perRoot
  const nowMs = Date.now()
  const addCpid = db.prepare(
    `INSERT INTO cpids (id, uuid, first_seen_ms, missing_since_ms, has_mergelog, explained, in_degree, roots, prune_ns,
       merged_ns)
     VALUES (?, ?, ?, 0, 1, 1, ?, ?, ? * 1000000, ? * 1000000)`,
  )
  const addMergelog = db.prepare(
    'INSERT INTO mergelogs (arrival, cpid, time_ns, arrived_ms, sources, scope) VALUES (?, ?, ? * 1000000, ?, ?, 1)',
  )
  const addEdge = db.prepare('INSERT INTO edges (source, target) VALUES (?, ?)')
  db.transaction(() => {
    for (let step = 0; step < perRoot; step++) {
      for (let cascade = 0; cascade < cascades; cascade++) {
        const idOf = (at: number): number => after.cpids + at * cascades + cascade + 1
        const id = idOf(step)
        const sources = sourcesOf(step).map(idOf)
        const atMs = nowMs - count + id - after.cpids
        addCpid.run(id, uuidOf(id), atMs, sources.length, `[${idOf(0)}]`, atMs, atMs)
        addMergelog.run(after.arrivals + id - after.cpids, id, atMs, atMs, Buffer.concat(sources.map(uuidOf)))
        for (const source of sources) addEdge.run(source, id)
      }
    }
    const arrivals = after.arrivals + count
    db.prepare('UPDATE progress SET last_arrival = ?, linked_arrival = ?, live_cpids = live_cpids + ?').run(
      arrivals,
      arrivals,
      count,
    )
  })()
}

/** A tree of three branches, where every fifth CPID also merges what came just before it. */
function sourcesOf(step: number): number[] {
  if (step === 0) return []
  const parent = Math.floor((step - 1) / 3)
  return step % 5 === 0 && step - 1 !== parent ? [parent, step - 1] : [parent]
}

/** The CPID with this number. */
export function cpidOf(id: number): Cpid {
  return cpidOfBytes(uuidOf(id))
}

function uuidOf(id: number): Buffer {
  return createHash('md5').update(String(id)).digest()
}
