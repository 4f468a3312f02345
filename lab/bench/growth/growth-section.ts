import { join } from 'node:path'
import { type Curve, type Figure, type SectionResult, spreadOf } from '../measure/figures.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import type { Options } from '../options.ts'
import { measureStore } from './store-growth.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { DATABASE, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { UNPRUNED } from '../fill/fill-database.ts'
import { HelperProcess } from '../load/helper-process.ts'
import { askAll } from './ask.ts'
import type { FromWriter, ToWriter } from './messages.ts'

const CHANGES_OF_OBJECT = [1, 100, 10_000]

/** How cost grows with what is stored, and with how often one object was changed. */
export async function benchGrowth(options: Options, onRound: () => void): Promise<SectionResult> {
  const sizes = options.cpids.toSorted((a, b) => a - b)
  const stored: Measured[] = []
  const objects: Measured[] = []
  for (const size of sizes) {
    using directory = freshDirectory(options.directory)
    stored.push({ size, rounds: await measureStore(options, directory.path, size) })
    onRound()
  }
  for (const size of CHANGES_OF_OBJECT) {
    using directory = freshDirectory(options.directory)
    objects.push({ size, rounds: await measureObject(options, directory.path, size) })
    onRound()
  }
  const smallest = sizes[0]?.toLocaleString('en-US') ?? ''
  const largest = sizes.at(-1)?.toLocaleString('en-US') ?? ''
  return {
    name: 'growth',
    about: `${smallest} to ${largest} CPIDs stored; one object changed 1 to 10,000 times`,
    figures: figures(smallest, largest),
    rounds: Array.from({ length: options.rounds }, (_, round) => ({
      ...ends(stored, round),
      ...objectEnds(objects, round),
    })),
    curves: [
      curveOf('Linking', 'CPIDs stored', 'µs of processor time', stored, {
        spanCpuUs: 'a span',
        cpidCpuUs: 'a new CPID with its mergelog',
      }),
      curveOf('Pruning', 'CPIDs stored', 'µs of processor time a CPID', stored, {
        pruneCpuUs: 'a pruned CPID',
      }),
      curveOf('Questions over HTTP', 'CPIDs stored', 'ms', stored, {
        relatedMs: '1,000 related CPIDs, half within',
        relatedWorstMs: '1,000 related CPIDs, 95 % within',
        cascadeMs: 'cascade of 1,000 spans, half within',
        cascadeWorstMs: 'cascade of 1,000 spans, 95 % within',
      }),
      curveOf('Memory of the process', 'CPIDs stored', 'MiB', stored, { rssMib: 'highest' }),
      curveOf('Start on the database', 'CPIDs stored', 'ms', stored, { startMs: 'until it takes spans' }),
      curveOf(
        'One object changed often: linking',
        'changes of the object before',
        'µs of processor time',
        objects,
        {
          linkCpuUs: 'the next change, with its mergelogs and three spans',
        },
      ),
      curveOf('One object changed often: questions', 'changes of the object before', 'ms', objects, {
        newestMs: 'related CPIDs of its newest change',
        firstMs: 'related CPIDs of its first change: all of them',
        historyMs: 'its history, first page',
      }),
    ],
  }
}

function figures(smallest: string, largest: string): Record<string, Figure> {
  const us = (label: string): Figure => ({ label, unit: 'µs', digits: 1 })
  const ms = (label: string): Figure => ({ label, unit: 'ms', digits: 1 })
  const flat = (label: string): Figure => ({ label, unit: '', digits: 2, target: { atMost: 1.25 } })
  return {
    spanRatio: flat('linking a span, at largest / at smallest'),
    cpidRatio: flat('linking a new CPID, at largest / at smallest'),
    pruneRatio: flat('pruning a CPID, at largest / at smallest'),
    objectRatio: flat('next change of an object, after 10,000 / after 1'),
    spanCpuUs: us(`CPU, a span stored and linked, at ${largest}`),
    spanWallUs: us('  with waiting for the disk'),
    cpidCpuUs: us(`CPU, a CPID with its mergelog, at ${largest}`),
    cpidWallUs: us('  with waiting for the disk'),
    pruneCpuUs: us(`CPU, a pruned CPID with ten spans, at ${largest}`),
    sentCpuUs: us(`CPU of the process, a span linked and sent on, at ${largest}`),
    relatedMs: ms(`1,000 related CPIDs, half within, at ${largest}`),
    relatedWorstMs: ms('  95 % within'),
    cascadeMs: ms(`cascade of 1,000 spans, half within, at ${largest}`),
    cascadeWorstMs: ms('  95 % within'),
    rssMib: { label: `memory, highest, at ${largest}`, unit: 'MiB', digits: 0 },
    rssSmallMib: { label: `memory, highest, at ${smallest}`, unit: 'MiB', digits: 0 },
    startMs: ms(`start, at ${largest}`),
    startSmallMs: ms(`start, at ${smallest}`),
    databaseMib: { label: `database, at ${largest}`, unit: 'MiB', digits: 0 },
    historyMs: ms('history of an object changed 10,000 times, first page'),
    newestMs: ms('related CPIDs of its newest change'),
    firstMs: ms('related CPIDs of its first change, 20,000'),
  }
}

function ends(measured: readonly Measured[], round: number): Record<string, number> {
  const small = measured[0]?.rounds[round] ?? {}
  const large = measured.at(-1)?.rounds[round] ?? {}
  const ratio = (key: string): number => (large[key] ?? Number.NaN) / (small[key] ?? Number.NaN)
  return {
    ...large,
    spanRatio: ratio('spanCpuUs'),
    cpidRatio: ratio('cpidCpuUs'),
    pruneRatio: ratio('pruneCpuUs'),
    rssSmallMib: small['rssMib'] ?? Number.NaN,
    startSmallMs: small['startMs'] ?? Number.NaN,
  }
}

function objectEnds(measured: readonly Measured[], round: number): Record<string, number> {
  const small = measured[0]?.rounds[round] ?? {}
  const large = measured.at(-1)?.rounds[round] ?? {}
  return {
    objectRatio: (large['linkCpuUs'] ?? Number.NaN) / (small['linkCpuUs'] ?? Number.NaN),
    historyMs: large['historyMs'] ?? Number.NaN,
    newestMs: large['newestMs'] ?? Number.NaN,
    firstMs: large['firstMs'] ?? Number.NaN,
  }
}

/** What the rounds measured at one size. */
interface Measured {
  size: number
  rounds: Record<string, number>[]
}

/** `series` names the line of each measured value. */
function curveOf(
  title: string,
  xLabel: string,
  yLabel: string,
  measured: readonly Measured[],
  series: Readonly<Record<string, string>>,
): Curve {
  return {
    title,
    xLabel,
    yLabel,
    isLogX: true,
    series: Object.entries(series).map(([key, name]) => ({
      name,
      points: measured.flatMap(({ size, rounds }) => {
        const spread = spreadOf(rounds, key)
        return spread === undefined ? [] : [{ x: size, ...spread }]
      }),
    })),
  }
}

const QUESTIONS = 20
const LONGEST_MS = 600_000

/** Objects with `changes` changes behind them: the cost of the next one, and of questions about one of them. */
async function measureObject(
  options: Options,
  directory: string,
  changes: number,
): Promise<Record<string, number>[]> {
  const path = join(directory, DATABASE)
  const db = openForWriting(path)
  await migrate(db)
  db.close()
  using writer = new HelperProcess<ToWriter, FromWriter>('../growth/writer.ts')
  await writer.hear('ready')
  const rounds: Record<string, number>[] = []
  writer.tell({ kind: 'objects', path, changes, rounds: options.rounds })
  const { first, newest, object, linkCpuUs } = await writer.hear('objects', LONGEST_MS)
  const causeway = await startMeasuredCauseway(options, directory, undefined, UNPRUNED)
  try {
    const times = async (question: string): Promise<number> =>
      (await askAll(causeway.query, new Array<string>(QUESTIONS).fill(question))).p50Ms
    for (const cost of linkCpuUs) {
      rounds.push({
        linkCpuUs: cost,
        newestMs: await times(`cpids/${newest}/related`),
        firstMs: await times(`cpids/${first}/related`),
        historyMs: await times(`objects?ref=${encodeURIComponent(object)}`),
      })
    }
  } finally {
    await causeway.stop()
  }
  return rounds
}
