import { statSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  DATABASE,
  startMeasuredCauseway,
  type MeasuredCauseway,
} from '../../harness/causeway/measured-causeway.ts'
import type { FilledCascades } from '../fill/fill-cascades.ts'
import { percentile, type SectionResult } from '../measure/figures.ts'
import { fillDatabase, UNPRUNED } from '../fill/fill-database.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../load/helper-process.ts'
import type { FromGenerator, SendOrder } from '../load/messages.ts'
import type { Options } from '../options.ts'
import { sizeRound } from '../measure/round-size.ts'
import { textOf } from '../load/text-of.ts'

const LONGEST_ROUND_MS = 600_000
const PAUSE_MS = 20
const LISTED = 50

/** Questions over HTTP about a large database while spans come in at half the rate that it can take. */
export async function benchQuestions(options: Options, onRound: () => void): Promise<SectionResult> {
  using directory = freshDirectory(options.directory)
  const path = join(directory.path, DATABASE)
  const filled = await fillDatabase(path, options.storedSpans)
  const size = statSync(path).size
  const causeway = await startMeasuredCauseway(options, directory.path, undefined, UNPRUNED)
  const rounds: Record<string, number>[] = []
  try {
    const alone = await ingest(options, causeway)
    for (let round = 0; round < options.rounds; round++) {
      rounds.push({ alone, ...(await askDuring(options, causeway, filled, alone / 2)) })
      onRound()
    }
  } finally {
    await causeway.stop()
  }
  return {
    name: 'questions',
    about:
      `asked over HTTP, one after the other, of ${filled.spans} spans and ${filled.cpids} CPIDs stored ` +
      `(${Math.round(size / 2 ** 20)} MiB), while spans come in at half the limit`,
    figures: {
      relatedMs: ms('1,000 related CPIDs, half within', 5),
      relatedWorstMs: ms('1,000 related CPIDs, 95 % within'),
      cascadeMs: ms('cascade of 1,000 spans, half within', 100),
      cascadeWorstMs: ms('cascade of 1,000 spans, 95 % within'),
      listMs: ms(`list of ${LISTED} cascades, half within`, 50),
      listWorstMs: ms(`list of ${LISTED} cascades, 95 % within`),
      allMs: ms('list of 1,000 cascades, half within'),
      filteredMs: ms('cascades by name of the object, half within'),
      asked: { label: 'questions asked', unit: '', digits: 0 },
      alone: { label: 'ingest at its limit, nothing asked', unit: 'spans/s', digits: 0 },
      taken: { label: 'ingest while asked', unit: 'spans/s', digits: 0 },
      kept: { label: 'of the rate asked for', unit: '%', digits: 1, target: { atLeast: 90 } },
    },
    rounds,
  }
}

function ms(label: string, atMost?: number): SectionResult['figures'][string] {
  return { label, unit: 'ms', digits: 2, ...(atMost !== undefined && { target: { atMost } }) }
}

/** How many spans a second were acknowledged. */
async function ingest(
  options: Options,
  causeway: MeasuredCauseway,
  spansPerSecond?: number,
): Promise<number> {
  const { requests, spans, cascades } = sizeRound(options)
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  generator.tell({
    kind: 'send',
    endpoint: causeway.endpoint,
    requests,
    inFlight: options.inFlight,
    cascades,
    ...(spansPerSecond !== undefined && { spansPerSecond }),
  })
  const sent = await generator.hear('sent', LONGEST_ROUND_MS)
  return spans / ((sent.endedMs - sent.startedMs) / 1000)
}

async function askDuring(
  options: Options,
  causeway: MeasuredCauseway,
  filled: FilledCascades,
  rate: number,
): Promise<Record<string, number>> {
  const state = { isOver: false }
  const ingesting = ingest(options, causeway, rate).finally(() => (state.isOver = true))
  const times: Record<string, number[]> = { related: [], cascade: [], list: [], all: [], filtered: [] }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async (kind: string, path: string): Promise<void> => {
    const startedMs = performance.now()
    JSON.parse(await textOf(`http://${causeway.query}/api/v1/${path}`, agent))
    times[kind]?.push(performance.now() - startedMs)
    await pause(PAUSE_MS)
  }
  for (let at = 0; !state.isOver; at++) {
    await ask('related', `cpids/${pick(filled.broad, at * 7)}/related`)
    await ask('cascade', `cascades/${pick(filled.ordinary, at * 7919)}`)
    await ask('list', `cascades?limit=${LISTED}`)
    if (at % 20 === 0) {
      await ask('all', 'cascades')
      await ask('filtered', `cascades?object=web-${1 + 53 * at}&limit=1`)
    }
  }
  const taken = await ingesting
  agent.destroy()
  const part = (kind: string, share: number): number =>
    percentile(
      (times[kind] ?? []).toSorted((a, b) => a - b),
      share,
    )
  return {
    relatedMs: part('related', 0.5),
    relatedWorstMs: part('related', 0.95),
    cascadeMs: part('cascade', 0.5),
    cascadeWorstMs: part('cascade', 0.95),
    listMs: part('list', 0.5),
    listWorstMs: part('list', 0.95),
    allMs: part('all', 0.5),
    filteredMs: part('filtered', 0.5),
    asked: Object.values(times).flat().length,
    taken,
    kept: (taken / rate) * 100,
  }
}

function pick<T>(items: readonly T[], at: number): T {
  const item = items[at % items.length]
  if (item === undefined) throw new Error('there is nothing to ask about')
  return item
}
