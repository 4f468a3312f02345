import { virtualRun } from '../../../packages/control-plane/virtual-run.ts'
import { countMergelogs, type MergelogCounts } from './count-mergelogs.ts'
import { scaleInTurn } from './scenario.ts'
import { ORDINARY, type Variant } from './variants.ts'

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
