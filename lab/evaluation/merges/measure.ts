import { meanOf, type Sample, sampleOf } from '../statistics.ts'
import { avoidablePart, CRITERIA } from './criteria.ts'
import { LIMITS, PAPER_FLOOR_FROM, PAPER_PERCENT } from './paper.ts'
import { ORDINARY, type Variant, VARIANTS } from './variants.ts'
import { virtualRun } from '../../../packages/control-plane/virtual-run.ts'
import { scaleInTurn } from './scenario.ts'
import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { CPID_SOURCES, MERGELOG_EVENT } from '../../../src/model/attributes.ts'

export interface MergesData {
  seeds: number
  variantSeeds: number
  /** Of each run. */
  roots: number
  points: MergesPoint[]
  variants: { name: string; isComparable: boolean; means: number[] }[]
}

export interface MergesPoint {
  limit: number
  merges: Sample
  /** Of the mean at N = 0. */
  percent: number
  paperPercent?: number
  isPaperFloor: boolean
  /** (count - floor) / (count at N = 0 - floor), of the means. */
  avoidable: number
  atMost?: number
}

interface MergesSize {
  seeds: number
  variantSeeds: number
}

export async function measureMerges(size: MergesSize, onRun: () => void): Promise<MergesData> {
  const roots = new Set<number>()
  const merges: Sample[] = []
  for (const limit of LIMITS) {
    const counts: number[] = []
    for (let seed = 1; seed <= size.seeds; seed++) {
      const count = await countAt(limit, seed)
      counts.push(count.merges)
      roots.add(count.roots)
      onRun()
    }
    merges.push(sampleOf(counts))
  }
  const variants: MergesData['variants'] = []
  for (const variant of VARIANTS) {
    const { name, isComparable } = variant
    variants.push({ name, isComparable, means: await meansOf(variant, size.variantSeeds) })
    onRun()
  }
  const [rootsOfAll = Number.NaN, ...otherRoots] = roots
  if (otherRoots.length > 0) throw new Error(`runs of one scenario began ${[...roots].join(' and ')} changes`)
  const points = LIMITS.map((limit, at) => pointOf(limit, merges[at], merges[0]))
  const { seeds, variantSeeds } = size
  return { seeds, variantSeeds, roots: rootsOfAll, points, variants }
}

async function meansOf(variant: Variant, seeds: number): Promise<number[]> {
  const means: number[] = []
  for (const limit of LIMITS) {
    const counts: number[] = []
    for (let seed = 1; seed <= seeds; seed++) counts.push((await countAt(limit, seed, variant)).merges)
    means.push(meanOf(counts))
  }
  return means
}

function pointOf(limit: number, merges: Sample | undefined, atZero: Sample | undefined): MergesPoint {
  if (merges === undefined || atZero === undefined) throw new Error(`nothing was measured at N = ${limit}`)
  const paperPercent = PAPER_PERCENT[limit]
  const atMost = CRITERIA.find((criterion) => criterion.limit === limit)?.atMost
  return {
    limit,
    merges,
    percent: (100 * merges.mean) / atZero.mean,
    ...(paperPercent !== undefined && { paperPercent }),
    isPaperFloor: limit >= PAPER_FLOOR_FROM,
    avoidable: avoidablePart(merges.mean, atZero.mean),
    ...(atMost !== undefined && { atMost }),
  }
}

/** Long enough for every Pod to be ready or gone. */
const WAIT_MS = 10_000

/** One run of section 5.1.2 in virtual time: the mergelogs of five Deployments with so many ancestors at most. */
export async function countAt(
  maxAncestors: number,
  seed: number,
  { run = {}, scenario = {} }: Variant = ORDINARY,
): Promise<MergelogCounts> {
  const settings = { waitMs: WAIT_MS, withServices: false, ...scenario }
  const recorded = await virtualRun({ ...run, seed, maxAncestors }, async (plane, clock) => {
    await scaleInTurn(plane, clock, settings)
    await plane.settled(WAIT_MS)
  })
  return countMergelogs(recorded)
}

interface MergelogCounts {
  /** Mergelogs with sources: changes that met. */
  merges: number
  /** Mergelogs without: changes that began. */
  roots: number
}

function countMergelogs({ records }: Pick<Recorder, 'records'>): MergelogCounts {
  const counts = { merges: 0, roots: 0 }
  for (const { eventName, attributes } of records) {
    if (eventName !== MERGELOG_EVENT) continue
    const sources = attributes[CPID_SOURCES]
    if (Array.isArray(sources) && sources.length > 0) counts.merges++
    else counts.roots++
  }
  return counts
}
