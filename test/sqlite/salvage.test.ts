import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { seededRandom, shuffled } from '../../lab/harness/seeded-random.ts'
import { salvage, type Salvaged } from '../../packages/salvage/salvage.ts'
import { openForReading, type Sqlite } from '../../src/store/sqlite/open-database.ts'
import { cascadeLoad } from '../process/support/cascade-load.ts'
import { againstOrder, mergeGraphOf } from '../process/support/merge-graph-of.ts'
import { damageBytes, damagePages, pagesOf, swapPages } from '../support/damage.ts'
import { cpid, scattered } from '../support/otlp-requests.ts'
import { sentSpans } from '../support/sent-spans.ts'
import { expectSoundScopes } from '../support/sound-scopes.ts'
import { TestWriter } from '../support/test-writer.ts'

const load = cascadeLoad(seededRandom(61), 200)
let folder = ''
let sound = ''
let copies = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-salvage-'))
  sound = join(folder, 'sound.db')
  using writer = await TestWriter.open({ rowsABlock: 8 }, sound)
  writer.keepExporters('traces', ['otlp_grpc'])
  writer.writer.ingest(load.requests)
  writer.pass(20_000)
  writer.writer.keepSpanBlocks(() => true)
  writer.shortenLog()
})
afterAll(() => rmSync(folder, { recursive: true }))

interface Rescued extends Salvaged {
  path: string
  lost: Record<string, readonly string[]>
}

/** Salvages a copy that was damaged first; it must not change by that. */
async function rescued(damage: (path: string) => void, from = sound): Promise<Rescued> {
  const damaged = join(folder, `damaged-${++copies}.db`)
  copyFileSync(from, damaged)
  damage(damaged)
  const before = readFileSync(damaged)
  const path = join(folder, `new-${copies}.db`)
  const salvaged = await salvage(damaged, path)
  expect(readFileSync(damaged).equals(before)).toBe(true)
  expect(existsSync(`${path}-copy`)).toBe(false)
  const lost = salvaged.tables
    .filter((table) => table.lost.length > 0)
    .map(({ table, lost: some }) => [table, some])
  return { ...salvaged, path, lost: Object.fromEntries(lost) as Rescued['lost'] }
}

function asking<T>(path: string, ask: (db: Sqlite) => T): T {
  const db = openForReading(path)
  try {
    return ask(db)
  } finally {
    db.close()
  }
}

const countIn = (db: Sqlite, table: string): number =>
  db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? -1

const TABLES = [
  ...['spans', 'cpids', 'mergelogs', 'edges', 'outbox', 'traces', 'change_spans', 'requests', 'scopes'],
  ...['resources', 'origin_traces', 'cpid_origins', 'exporters', 'progress', 'waiting', 'trace_services'],
  ...['seen_writes', 'trace_actors', 'trace_namespaces'],
]

/** Everything an outsider sees of it. */
const contentOf = (db: Sqlite): unknown => ({
  graph: mergeGraphOf(db),
  sent: sentSpans(db),
  counts: Object.fromEntries(TABLES.map((table) => [table, countIn(db, table)])),
  progress: db.prepare('SELECT * FROM progress').get(),
})

test.each([
  ['nothing is damaged', () => undefined],
  ['an index is damaged', (path: string) => damagePages(path, pagesOf(path, 'outbox_by_trace', 'leaf'))],
  ['a unique index is damaged', (path: string) => damagePages(path, pagesOf(path, 'cpids_by_text', 'leaf'))],
  ['the edges are damaged', (path: string) => damagePages(path, pagesOf(path, 'edges', 'leaf').slice(1, 3))],
])('where %s, nothing is lost', async (what, damage) => {
  const { path, lost, isHeaderNew } = await rescued(damage)
  expect(Object.keys(lost)).toEqual(what === 'the edges are damaged' ? ['edges'] : [])
  expect(isHeaderNew).toBe(false)
  expect(asking(path, contentOf)).toEqual(asking(sound, contentOf))
  expect(asking(path, (db) => db.pragma('integrity_check', { simple: true }))).toBe('ok')
})

test('where the header is damaged, nothing is lost', async () => {
  const { path, lost, isHeaderNew } = await rescued((damaged) => damageBytes(damaged, 0, 100))
  expect([lost, isHeaderNew]).toEqual([{}, true])
  expect(asking(path, contentOf)).toEqual(asking(sound, contentOf))
})

test('pages that change places lose nothing, and come to an end', async () => {
  const { path, lost } = await rescued((damaged) => {
    const db = new Database(damaged)
    // So large that a page has fewer of them than are read at a time.
    db.exec(`WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2000)
      INSERT INTO arrival_marks SELECT 1000000000000 + x, 9000000000000000000 + x FROM n`)
    db.close()
    const [one = 0, other = 0] = pagesOf(damaged, 'arrival_marks', 'leaf')
    swapPages(damaged, one, other)
  })
  expect(lost).toEqual({})
  expect(asking(path, (db) => countIn(db, 'arrival_marks WHERE wall_ms > 1000000000000'))).toBe(2_000)
})

test('of spans on damaged pages only those are lost, and what lies between damaged pages is not', async () => {
  let gone = 0
  const { path, lost } = await rescued((damaged) => {
    const leaves = pagesOf(damaged, 'spans', 'leaf')
    const going = [leaves[3] ?? 0, leaves[5] ?? 0, leaves.at(-1) ?? 0]
    const db = new Database(damaged, { readonly: true })
    gone =
      db
        .prepare<[string], number>(
          "SELECT sum(ncell) FROM dbstat WHERE name = 'spans' AND pageno IN (SELECT value FROM json_each(?))",
        )
        .pluck()
        .get(JSON.stringify(going)) ?? 0
    db.close()
    damagePages(damaged, going)
  })
  expect(lost).toEqual({
    spans: [
      expect.stringMatching(/^rows \d+ to \d+$/),
      expect.stringMatching(/^rows \d+ to \d+$/),
      expect.stringMatching(/^rows from \d+ on$/),
    ],
  })
  expect(asking(path, (db) => countIn(db, 'spans'))).toBe(load.spans.length - gone)
  // New spans may get the numbers of those that were lost.
  const blocks = ['span_blocks', 'own_span_blocks']
  const keptIn = (file: string): number[] => asking(file, (db) => blocks.map((table) => countIn(db, table)))
  expect([keptIn(sound).includes(0), keptIn(path)]).toEqual([false, [0, 0]])
})

/** What the index of trace ids lacks of the traces it should have, and what it has of none. */
const wrongInTraceIndex = (db: Sqlite): unknown =>
  db
    .prepare(
      `SELECT (SELECT count(*) FROM origin_traces WHERE id <= (SELECT indexed_origins FROM progress)
           AND (trace_id, id) NOT IN (SELECT trace_id, origin FROM origin_trace_index)) AS missing,
         (SELECT count(*) FROM origin_trace_index
           WHERE (trace_id, origin) NOT IN (SELECT trace_id, id FROM origin_traces)) AS dangling`,
    )
    .get()

/** Has Causeway take in what the senders send once more, and counts spans of no trace and traces there twice. */
async function wrongAfterTakingMore(path: string): Promise<unknown> {
  using writer = await TestWriter.open({ traceIndex: { batch: 1 } }, path)
  writer.db.exec('DELETE FROM requests')
  writer.writer.ingest(load.requests)
  return writer.db
    .prepare(
      `SELECT (SELECT count(*) FROM spans WHERE origin NOT IN (SELECT id FROM origin_traces)) AS spansOfNone,
         (SELECT count(*) - count(DISTINCT trace_id) FROM origin_traces) AS twice`,
    )
    .get()
}

describe('the index of trace ids', () => {
  let indexed = ''

  beforeAll(async () => {
    indexed = join(folder, 'indexed.db')
    using writer = await TestWriter.open({ traceIndex: { batch: 1 } }, indexed)
    for (const request of load.requests) writer.writer.ingest([request])
    writer.pass(20_000)
    writer.shortenLog()
  })

  test('has every id again where it was damaged', async () => {
    const { path, lost } = await rescued((damaged) => {
      damagePages(damaged, pagesOf(damaged, 'origin_trace_index', 'leaf').slice(1, 2))
    }, indexed)
    expect(Object.keys(lost)).toEqual(['origin_trace_index'])
    expect(asking(path, wrongInTraceIndex)).toEqual({ missing: 0, dangling: 0 })
    expect(await wrongAfterTakingMore(path)).toEqual({ spansOfNone: 0, twice: 0 })
  })

  test('has those again of a batch that is on its way there', async () => {
    const half = join(folder, 'half-indexed.db')
    {
      using writer = await TestWriter.open({ traceIndex: { batch: 20 } }, half)
      for (let id = 1; id <= 30; id++) writer.spans('ctl', [{ trace: scattered(id), id }])
      writer.shortenLog()
    }
    const { path } = await rescued((damaged) => {
      damagePages(damaged, pagesOf(damaged, 'origin_trace_index', 'leaf'))
    }, half)
    using writer = await TestWriter.open({ traceIndex: { batch: 20 } }, path)
    for (let id = 1; id <= 30; id++) writer.spans('ctl', [{ trace: scattered(id), id: 100 + id }])
    expect(countIn(writer.db, 'origin_traces')).toBe(30)
  })

  test('names no trace that is lost', async () => {
    const { path } = await rescued((damaged) => {
      damagePages(damaged, pagesOf(damaged, 'origin_traces', 'leaf').slice(0, 1))
      damagePages(damaged, pagesOf(damaged, 'spans', 'leaf'))
    }, indexed)
    const left = asking(path, (db) => countIn(db, 'origin_traces'))
    expect(left).toBeLessThan(asking(indexed, (db) => countIn(db, 'origin_traces')))
    expect(asking(path, wrongInTraceIndex)).toEqual({ missing: 0, dangling: 0 })
    expect(await wrongAfterTakingMore(path)).toEqual({ spansOfNone: 0, twice: 0 })
  })

  test('is whole where nobody knows any more how far it went, so that starting reads none of it', async () => {
    const { path, lost } = await rescued((damaged) => {
      damagePages(damaged, pagesOf(damaged, 'progress', 'leaf'))
    }, indexed)
    expect(Object.keys(lost)).toEqual(['progress'])
    expect(asking(path, (db) => db.prepare('SELECT indexed_origins FROM progress').pluck().get())).toBe(
      asking(indexed, (db) => db.prepare('SELECT max(id) FROM origin_traces').pluck().get()),
    )
    expect(asking(path, wrongInTraceIndex)).toEqual({ missing: 0, dangling: 0 })
    expect(await wrongAfterTakingMore(path)).toEqual({ spansOfNone: 0, twice: 0 })
  })
})

test('original traces that are lost are found again in their spans', async () => {
  const { path, lost, mended } = await rescued((damaged) => {
    damagePages(damaged, pagesOf(damaged, 'origin_traces', 'leaf').slice(0, 2))
  })
  expect(Object.keys(lost)).toEqual(['origin_traces'])
  expect(asking(path, contentOf)).toEqual(asking(sound, contentOf))
  expect(mended).toEqual([{ what: 'original traces found again in their spans', rows: expect.any(Number) }])
})

test('the merge graph is in order again where nobody knows any more which CPIDs were never put into one', async () => {
  const old = join(folder, 'old.db')
  {
    using writer = await TestWriter.open({}, old)
    for (let id = 300; id > 1; id--)
      writer.mergelogs(`sender ${id}`, [{ new: cpid(id), sources: [cpid(id - 1)] }])
    writer.db.exec(
      'UPDATE cpids SET rank = NULL; UPDATE progress SET unranked_cpids = (SELECT max(id) FROM cpids)',
    )
    expect(againstOrder(writer.db)).toEqual([])
    writer.shortenLog()
  }
  const { path, lost } = await rescued((damaged) => {
    damagePages(damaged, pagesOf(damaged, 'progress', 'leaf'))
  }, old)
  expect(Object.keys(lost)).toEqual(['progress'])
  expect(asking(path, againstOrder)).toEqual([])
})

test('a file that is cut off keeps what is left of it', async () => {
  const { path, lost } = await rescued((damaged) => {
    const bytes = readFileSync(damaged)
    writeFileSync(damaged, bytes.subarray(0, Math.floor(bytes.length / 8192) * 4096))
  })
  expect(Object.keys(lost).length).toBeGreaterThan(0)
  expect(asking(path, (db) => countIn(db, 'cpids'))).toBeGreaterThan(0)
})

const SEEDS = Array.from({ length: process.env['CAUSEWAY_FAULTS'] === undefined ? 4 : 40 }, (_, at) => at + 1)

test.each(SEEDS)(
  'after any damage the new file is sound and Causeway goes on with it (seed %i)',
  async (seed) => {
    const { path } = await rescued((damaged) => {
      const db = new Database(damaged, { readonly: true })
      const pages = db
        .prepare<[], number>("SELECT pageno FROM dbstat WHERE name <> 'sqlite_schema'")
        .pluck()
        .all()
      db.close()
      damagePages(damaged, shuffled(seededRandom(seed), pages).slice(0, 6))
    })
    expect(asking(path, (db) => db.pragma('integrity_check', { simple: true }))).toBe('ok')
    const counted = asking(path, (db) => db.prepare('SELECT live_cpids FROM progress').pluck().get())
    expect(counted).toBe(asking(path, (db) => countIn(db, 'cpids')))
    using writer = await TestWriter.open({ retention: { maxCpids: 100 } }, path)
    expectSoundScopes(writer.db)
    const { outcomes } = writer.writer.ingest([
      ...load.requests,
      ...cascadeLoad(seededRandom(62), 20, 1_000).requests,
    ])
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['accepted']))
    writer.pass(20_000)
    writer.pass(2_000_000)
    expect(writer.writer.linkLag).toBe(0)
    expect(writer.sent().length).toBeGreaterThan(0)
    while (writer.writer.prune(1_000).more);
  },
)

test('a file that is there already, and one that is no database, are left alone', async () => {
  await expect(salvage(sound, sound)).rejects.toThrow(/is there already; name a file that is not/)
  const text = join(folder, 'text')
  writeFileSync(text, 'a shopping list, and long enough to be a page of a database: '.repeat(200))
  const path = join(folder, 'of-text.db')
  await expect(salvage(text, path)).rejects.toThrow(/no database of Causeway.*restore a backup/)
  expect(existsSync(path)).toBe(false)
  expect(existsSync(`${path}-copy`)).toBe(false)
})

test('a database that another program holds is not taken for a damaged one', async () => {
  const path = join(folder, `held-${++copies}.db`)
  copyFileSync(sound, path)
  const held = new Database(path)
  held.pragma('locking_mode = EXCLUSIVE')
  held.exec('BEGIN EXCLUSIVE; COMMIT')
  try {
    await expect(salvage(path, `${path}-new`)).rejects.toThrow(/locked/)
    expect(existsSync(`${path}-new`)).toBe(false)
    expect(existsSync(`${path}-new-copy`)).toBe(false)
  } finally {
    held.close()
  }
})
