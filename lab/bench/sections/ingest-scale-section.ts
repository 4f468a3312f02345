import { copyFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import type { SectionResult } from '../measure/figures.ts'
import { fillDatabase, UNPRUNED } from '../fill/fill-database.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../load/helper-process.ts'
import { untilLinked } from '../measure/link-lag.ts'
import type { FromGenerator, SendOrder } from '../load/messages.ts'
import type { Options } from '../options.ts'
import { usageOf } from '../measure/process-usage.ts'
import { sizeRound } from '../measure/round-size.ts'

const FEW = 100_000
const GIB = 2 ** 30
const LONGEST_ROUND_MS = 300_000

/** Whether ingest is as fast into a large database as into a small one. */
export async function benchIngestAtScale(options: Options, onRound: () => void): Promise<SectionResult> {
  using few = freshDirectory(options.directory)
  using many = freshDirectory(options.directory)
  const master = join(few.path, `few-${DATABASE}`)
  await fillDatabase(master, FEW)
  const path = join(many.path, DATABASE)
  const filled = await fillDatabase(path, options.scaleSpans)
  const gib = (statSync(path).size / GIB).toFixed(1)
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    for (const end of ['', '-wal', '-shm']) rmSync(join(few.path, `${DATABASE}${end}`), { force: true })
    copyFileSync(master, join(few.path, DATABASE))
    const small = await ingest(options, few.path)
    const large = await ingest(options, many.path)
    rounds.push({
      few: small.spansPerSecond,
      many: large.spansPerSecond,
      ratio: large.spansPerSecond / small.spansPerSecond,
      fewRssMib: small.peakRssMib,
      manyRssMib: large.peakRssMib,
    })
    onRound()
  }
  const inWords = filled.spans.toLocaleString('en-US')
  return {
    name: 'ingest-at-scale',
    about:
      `${sizeRound(options).spans} spans a round over gRPC into a database of ${FEW.toLocaleString('en-US')} spans and into one of ` +
      `${inWords} (${gib} GiB, ${filled.cpids.toLocaleString('en-US')} CPIDs)`,
    figures: {
      few: { label: `${FEW.toLocaleString('en-US')} spans stored`, unit: 'spans/s', digits: 0 },
      many: { label: `${inWords} spans stored`, unit: 'spans/s', digits: 0 },
      ratio: { label: 'the second ÷ the first', unit: '×', digits: 2, target: { atLeast: 0.8 } },
      fewRssMib: { label: 'memory, highest, small database', unit: 'MiB', digits: 0 },
      manyRssMib: { label: 'memory, highest, large database', unit: 'MiB', digits: 0 },
    },
    rounds,
  }
}

async function ingest(
  options: Options,
  directory: string,
): Promise<{ spansPerSecond: number; peakRssMib: number }> {
  const { requests, cascades } = sizeRound(options)
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  const { pid, endpoint, path, stop } = await startMeasuredCauseway(options, directory, undefined, UNPRUNED)
  try {
    generator.tell({ kind: 'send', endpoint, requests, inFlight: options.inFlight, cascades })
    const { acknowledged, startedMs, endedMs } = await generator.hear('sent', LONGEST_ROUND_MS)
    const peakRssMib = usageOf(pid)?.peakRssMib ?? Number.NaN
    // What were left to link would be linked while the next round is measured.
    await untilLinked(path)
    return { spansPerSecond: acknowledged / ((endedMs - startedMs) / 1000), peakRssMib }
  } finally {
    await stop()
  }
}
