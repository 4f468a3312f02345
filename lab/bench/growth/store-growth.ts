import { copyFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { UNPRUNED } from '../fill/fill-database.ts'
import { HelperProcess } from '../load/helper-process.ts'
import type { FromGenerator, FromSink, SendOrder, ToSink } from '../load/messages.ts'
import type { Options } from '../options.ts'
import { usageOf, watchCpu } from '../measure/process-usage.ts'
import { sizeRound } from '../measure/round-size.ts'
import { askAll } from './ask.ts'
import type { FromWriter, ToWriter } from './messages.ts'
import type { Cpid } from '../../../src/model/merge-graph.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { fillCascades } from '../fill/fill-cascades.ts'
import { cpidOf, fillMergeGraph } from '../fill/fill-merge-graph.ts'

const FRESH_CHANGES = 2_000
/** Twenty cascades of `fillCascades`: one broad, nineteen ordinary. */
const PRUNED = 2_000
const QUESTIONS = 40
const SENT_SPANS = 50_000
const LONGEST_MS = 600_000

/** Each round on a fresh copy of a database with `count` CPIDs. */
export async function measureStore(
  options: Options,
  directory: string,
  count: number,
): Promise<Record<string, number>[]> {
  const grown = await growDatabase(join(directory, 'grown.db'), count)
  const path = join(directory, DATABASE)
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    copyFileSync(grown.path, path)
    const written = await write(path)
    copyFileSync(grown.path, path)
    rounds.push({
      ...written,
      ...(await runWhole(options, directory, grown, round)),
      databaseMib: grown.bytes / 2 ** 20,
    })
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
  }
  return rounds
}

async function write(path: string): Promise<Record<string, number>> {
  using writer = new HelperProcess<ToWriter, FromWriter>('../growth/writer.ts')
  await writer.hear('ready')
  writer.tell({ kind: 'measure', path, changes: FRESH_CHANGES, prune: PRUNED })
  const { perSpan, perCpid, perPruned } = await writer.hear('measured', LONGEST_MS)
  return {
    spanCpuUs: perSpan.cpuUs,
    spanWallUs: perSpan.wallUs,
    cpidCpuUs: perCpid.cpuUs,
    cpidWallUs: perCpid.wallUs,
    pruneCpuUs: perPruned.cpuUs,
    pruneWallUs: perPruned.wallUs,
  }
}

/** The real process: how long it takes to start, to answer, and what a span costs that is linked and sent on. */
async function runWhole(
  options: Options,
  directory: string,
  { roots, cascades }: GrownDatabase,
  round: number,
): Promise<Record<string, number>> {
  using sink = new HelperProcess<ToSink, FromSink>('sink.ts')
  const { port } = await sink.hear('ready')
  const startedMs = performance.now()
  const causeway = await startMeasuredCauseway(options, directory, port, UNPRUNED)
  const startMs = performance.now() - startedMs
  try {
    const some = (cpids: readonly string[]): string[] =>
      Array.from(
        { length: QUESTIONS },
        (_, at) => cpids[((round * QUESTIONS + at) * 7919) % cpids.length] ?? '',
      )
    const related = await askAll(
      causeway.query,
      some(roots).map((root) => `cpids/${root}/related`),
    )
    const cascade = await askAll(
      causeway.query,
      some(cascades).map((root) => `cascades/${root}`),
    )
    const cpuUsed = watchCpu(causeway.pid)
    const spans = await send(causeway.endpoint, sink, options)
    return {
      startMs,
      relatedMs: related.p50Ms,
      relatedWorstMs: related.p95Ms,
      cascadeMs: cascade.p50Ms,
      cascadeWorstMs: cascade.p95Ms,
      sentCpuUs: (cpuUsed().seconds * 1e6) / spans,
      rssMib: usageOf(causeway.pid)?.peakRssMib ?? Number.NaN,
    }
  } finally {
    await causeway.stop()
  }
}

async function send(
  endpoint: string,
  sink: HelperProcess<ToSink, FromSink>,
  options: Options,
): Promise<number> {
  const { requests, spans, cascades, cpids } = sizeRound({ spans: SENT_SPANS })
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  sink.tell({ kind: 'expect', spans: spans + cpids })
  generator.tell({ kind: 'send', endpoint, requests, inFlight: options.inFlight, cascades })
  await Promise.all([generator.hear('sent', LONGEST_MS), sink.hear('reached', LONGEST_MS)])
  return spans
}

/** One CPID in ten has spans stored, ten each, but at least this many are stored in all. */
const MIN_SPANS = 100_000
const PER_ROOT = 1_000

interface GrownDatabase {
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
async function growDatabase(path: string, count: number): Promise<GrownDatabase> {
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
