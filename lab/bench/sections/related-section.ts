import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Cpid } from '../../../src/model/merge-graph.ts'
import { openForReading } from '../../../src/store/sqlite/open-database.ts'
import { sqliteQueries } from '../../../src/store/sqlite/queries.ts'
import { DATABASE, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { buildMergeGraph, cpidOf } from '../fill/fill-merge-graph.ts'
import { percentile, type SectionResult } from '../measure/figures.ts'
import type { Options } from '../options.ts'

const GRAPH = { count: 1_000_000, perRoot: 1_000 }
const QUESTIONS = 50
const MIB = 2 ** 20

/** The related CPIDs of roots that have a thousand, in a graph of a million. */
export async function benchRelated(options: Options, onRound: () => void): Promise<SectionResult> {
  using directory = freshDirectory(options.directory)
  const path = join(directory.path, DATABASE)
  await buildMergeGraph(path, GRAPH)
  const size = statSync(path).size
  const causeway = await startMeasuredCauseway(options, directory.path)
  const rounds: Record<string, number>[] = []
  try {
    for (let round = 0; round < options.rounds; round++) {
      rounds.push({ ...askStore(path, round), ...(await askApi(causeway.query, round)) })
      onRound()
    }
  } finally {
    await causeway.stop()
  }
  return {
    name: 'related',
    about: `${QUESTIONS} roots a round, each with ${GRAPH.perRoot} related CPIDs, in a graph of ${GRAPH.count} (${Math.round(size / MIB)} MiB)`,
    figures: {
      firstMs: { label: 'query, first time asked, half within', unit: 'ms', digits: 2 },
      firstWorstMs: { label: 'query, first time asked, slowest', unit: 'ms', digits: 2 },
      againMs: { label: 'query, asked again, half within', unit: 'ms', digits: 2 },
      apiMs: { label: 'over the HTTP API, half within', unit: 'ms', digits: 2 },
      apiWorstMs: { label: 'over the HTTP API, slowest', unit: 'ms', digits: 2 },
    },
    rounds,
  }
}

/** Each round asks about other roots, through a connection that has read nothing yet. */
function askStore(path: string, round: number): Record<string, number> {
  const db = openForReading(path)
  const queries = sqliteQueries(db)
  const ask = (): number[] =>
    rootsOf(round).map((root) => {
      const startedMs = performance.now()
      const pages = queries.related(root)
      const related = typeof pages === 'string' ? [] : [...pages].flat()
      const ms = performance.now() - startedMs
      check(root, related.length)
      return ms
    })
  globalThis.gc?.()
  const first = inOrder(ask())
  const again = inOrder(ask())
  db.close()
  return {
    firstMs: percentile(first, 0.5),
    firstWorstMs: percentile(first, 1),
    againMs: percentile(again, 0.5),
  }
}

async function askApi(endpoint: string, round: number): Promise<Record<string, number>> {
  const times: number[] = []
  for (const root of rootsOf(round)) {
    const startedMs = performance.now()
    const response = await fetch(`http://${endpoint}/api/v1/cpids/${root}/related`)
    const answer = (await response.json()) as { related: string[] }
    times.push(performance.now() - startedMs)
    check(root, answer.related.length)
  }
  const sorted = inOrder(times)
  return { apiMs: percentile(sorted, 0.5), apiWorstMs: percentile(sorted, 1) }
}

function rootsOf(round: number): Cpid[] {
  const cascades = GRAPH.count / GRAPH.perRoot
  return Array.from({ length: QUESTIONS }, (_, at) => cpidOf(1 + (((round * QUESTIONS + at) * 7) % cascades)))
}

function check(root: Cpid, related: number): void {
  if (related !== GRAPH.perRoot) throw new Error(`${related} CPIDs are related to ${root}`)
}

function inOrder(times: number[]): number[] {
  return times.sort((a, b) => a - b)
}
