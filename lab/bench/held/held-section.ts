import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { percentile, type SectionResult } from '../measure/figures.ts'
import { UNPRUNED } from '../fill/fill-database.ts'
import { freePorts } from '../../harness/free-ports.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../load/helper-process.ts'
import { untilLinked } from '../measure/link-lag.ts'
import type { FromGenerator, SendOrder } from '../load/messages.ts'
import type { Options } from '../options.ts'
import { sizeRound } from '../measure/round-size.ts'
import { fillHeld } from './fill-held.ts'
import { pruneHeld } from './prune-turns.ts'

const EXPORTER = 'otlp_grpc/sink'
const GIB = 2 ** 30
const LONGEST_ROUND_MS = 300_000
/** All but one CPID are too many, and that is looked at every second. */
const PRUNED = ['connectors.cpid.retention={max_cpids: 1, max_age: 0s, max_bytes: 0, interval: 1s}']

interface Ingested {
  spansPerSecond: number
  replyP99Ms: number
}

/** What it costs that a dead backend holds many CPIDs, of which retention would keep one. */
export async function benchHeld(options: Options, onRound: () => void): Promise<SectionResult> {
  using directory = freshDirectory(options.directory)
  const path = join(directory.path, DATABASE)
  await fillHeld(path, options.heldCpids, EXPORTER)
  const gib = (statSync(path).size / GIB).toFixed(1)
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    const turns = pruneHeld(path)
    const unpruned = await ingest(options, directory.path, UNPRUNED)
    const pruned = await ingest(options, directory.path, PRUNED)
    rounds.push({
      unpruned: unpruned.spansPerSecond,
      pruned: pruned.spansPerSecond,
      ratio: pruned.spansPerSecond / unpruned.spansPerSecond,
      unprunedP99Ms: unpruned.replyP99Ms,
      prunedP99Ms: pruned.replyP99Ms,
      ...turns,
    })
    onRound()
  }
  return {
    name: 'held',
    about:
      `${options.heldCpids.toLocaleString('en-US')} CPIDs (${gib} GiB) that a dead backend has not received, where retention would ` +
      `keep one; ${sizeRound(options).spans} spans a round over gRPC, with pruning off and with pruning every second`,
    figures: {
      unpruned: { label: 'pruning off', unit: 'spans/s', digits: 0 },
      pruned: { label: 'pruning every second', unit: 'spans/s', digits: 0 },
      ratio: { label: 'the second ÷ the first', unit: '×', digits: 2, target: { atLeast: 0.9 } },
      unprunedP99Ms: { label: 'reply, 99 % within, pruning off', unit: 'ms', digits: 0 },
      prunedP99Ms: { label: 'reply, 99 % within, pruning every second', unit: 'ms', digits: 0 },
      firstLookCpuMs: { label: 'CPU, looking at all of them once, after a start', unit: 'ms', digits: 0 },
      turns: { label: 'turns that takes', unit: '', digits: 0 },
      longestTurnMs: { label: 'the longest of these turns', unit: 'ms', digits: 1 },
      laterRoundCpuMs: { label: 'CPU, a later round of pruning', unit: 'ms', digits: 1 },
    },
    rounds,
  }
}

async function ingest(options: Options, directory: string, settings: readonly string[]): Promise<Ingested> {
  const { requests, cascades } = sizeRound(options)
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  // Nobody listens there.
  const [deadPort] = await freePorts(1)
  const { endpoint, path, stop } = await startMeasuredCauseway(options, directory, deadPort, settings)
  try {
    generator.tell({ kind: 'send', endpoint, requests, inFlight: options.inFlight, cascades })
    const { acknowledged, startedMs, endedMs, latenciesMs } = await generator.hear('sent', LONGEST_ROUND_MS)
    await untilLinked(path)
    return {
      spansPerSecond: acknowledged / ((endedMs - startedMs) / 1000),
      replyP99Ms: percentile(latenciesMs, 0.99),
    }
  } finally {
    await stop()
  }
}
