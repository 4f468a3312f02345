import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DATABASE,
  type MeasuredCauseway,
  startMeasuredCauseway,
} from '../../harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { UNPRUNED } from '../fill/fill-database.ts'
import { buildMergeGraph, cpidOf } from '../fill/fill-merge-graph.ts'
import { HelperProcess } from '../load/helper-process.ts'
import type { FromGenerator, SendOrder } from '../load/messages.ts'
import type { SectionResult } from '../measure/figures.ts'
import { usageOf } from '../measure/process-usage.ts'
import { sizeRound } from '../measure/round-size.ts'
import type { Options } from '../options.ts'

const GRAPH = { count: 1_000_000, perRoot: 1_000 }
const LITTLE = { spans: 20_000 }
/** After that long without work and questions memory is at rest. */
const REST_MS = 70_000
const LONGEST_ROUND_MS = 300_000

/** Memory of a Causeway that knows a million CPIDs: when nothing happens, and under full load. */
export async function benchMemory(options: Options, onRound: () => void): Promise<SectionResult> {
  using directory = freshDirectory(options.directory)
  const master = join(directory.path, `master-${DATABASE}`)
  await buildMergeGraph(master, GRAPH)
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    for (const end of ['', '-wal', '-shm']) rmSync(join(directory.path, `${DATABASE}${end}`), { force: true })
    copyFileSync(master, join(directory.path, DATABASE))
    rounds.push(await memoryRound(options, directory.path))
    onRound()
  }
  return {
    name: 'memory',
    about:
      `${GRAPH.count.toLocaleString('en-US')} CPIDs stored; asked for ${GRAPH.perRoot.toLocaleString('en-US')} related CPIDs, ` +
      `sent ${LITTLE.spans.toLocaleString('en-US')} spans, at rest for ${REST_MS / 1000} s; then ${sizeRound(options).spans} spans`,
    figures: {
      startedMib: { label: 'just started', unit: 'MiB', digits: 0 },
      restMib: { label: 'at rest', unit: 'MiB', digits: 0, target: { atMost: 200 } },
      restOwnMib: { label: 'of it its own', unit: 'MiB', digits: 0 },
      peakMib: { label: 'highest, under full load', unit: 'MiB', digits: 0, target: { atMost: 250 } },
      againMib: { label: 'at rest again', unit: 'MiB', digits: 0 },
    },
    rounds,
  }
}

async function memoryRound(options: Options, directory: string): Promise<Record<string, number>> {
  const causeway = await startMeasuredCauseway(options, directory, undefined, UNPRUNED)
  try {
    const started = usageOf(causeway.pid)
    await ask(causeway)
    await ingest(options, causeway, LITTLE)
    await sleep(REST_MS)
    const rest = usageOf(causeway.pid)
    await ingest(options, causeway, options)
    // Linking goes on after the last answer, so the peak may come later.
    await sleep(REST_MS)
    const again = usageOf(causeway.pid)
    return {
      startedMib: started?.rssMib ?? Number.NaN,
      restMib: rest?.rssMib ?? Number.NaN,
      restOwnMib: rest?.ownMib ?? Number.NaN,
      peakMib: again?.peakRssMib ?? Number.NaN,
      againMib: again?.rssMib ?? Number.NaN,
    }
  } finally {
    await causeway.stop()
  }
}

async function ask({ query }: MeasuredCauseway): Promise<void> {
  const response = await fetch(`http://${query}/api/v1/cpids/${cpidOf(1)}/related`)
  const { related } = (await response.json()) as { related: string[] }
  if (related.length !== GRAPH.perRoot) throw new Error(`${related.length} CPIDs are related to the first`)
}

async function ingest(
  { inFlight }: Options,
  { endpoint }: MeasuredCauseway,
  size: { spans: number },
): Promise<void> {
  const { requests, cascades } = sizeRound(size)
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  generator.tell({ kind: 'send', endpoint, requests, inFlight, cascades })
  await generator.hear('sent', LONGEST_ROUND_MS)
}
