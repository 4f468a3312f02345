import type { Options } from '../options.ts'
import { quartilesOf, type Quartiles } from '../statistics.ts'
import { RealCauseway, type AskedCascade } from '../traceability/real-causeway.ts'
import { STORIES, type Told } from './stories.ts'

/** Of the cascades of a story, in milliseconds and spans. */
export interface Measures {
  durationMs: Quartiles
  longestMs: number
  /** Of all cascades together: a span counts in each that it is activity of. */
  spans: number
}

interface StoryDurations {
  story: string
  runs: number
  cascades: number
  /** Whatever descends from a change is its activity. */
  descends: Measures
  /** What a change drives is. */
  driven: Measures
  /** Spans that several changes drive, and all spans that any drives; each counted once in a run. */
  shared: number
  all: number
}

export interface DurationsData {
  stories: StoryDurations[]
}

/** All is sent at once; what nobody says to have written is waited for, at most twice as long. */
const SETTLES_SOON = ['connectors::cpid::linking::wait=2s', 'connectors::cpid::linking::settle_after=8s']

/** How long the cascades of each story take, by what drives their spans, and if all that descends from a change counted. */
export async function measureDurations(
  { variantSeeds }: Pick<Options, 'variantSeeds'>,
  onRun: () => void,
): Promise<DurationsData> {
  const stories: StoryDurations[] = []
  for (const told of STORIES) stories.push(await measureStory(told, variantSeeds, onRun))
  return { stories }
}

async function measureStory({ story, play }: Told, runs: number, onRun: () => void): Promise<StoryDurations> {
  const cascades: AskedCascade[] = []
  let shared = 0
  let all = 0
  for (let seed = 1; seed <= runs; seed++) {
    await using causeway = await RealCauseway.start(SETTLES_SOON)
    await causeway.take(await play(seed))
    const asked = await causeway.cascades()
    cascades.push(...asked)
    const drivers = new Map<string, number>()
    for (const id of asked.flatMap(({ activity }) => activity)) drivers.set(id, (drivers.get(id) ?? 0) + 1)
    all += drivers.size
    shared += [...drivers.values()].filter((count) => count > 1).length
    onRun()
  }
  return {
    ...{ story, runs, cascades: cascades.length, shared, all },
    descends: measuresOf(cascades.map((one) => one.all)),
    driven: measuresOf(cascades.map((one) => one.driven)),
  }
}

function measuresOf(cascades: readonly AskedCascade['all'][]): Measures {
  const durations = cascades.map(({ durationMs }) => durationMs)
  return {
    durationMs: quartilesOf(durations),
    longestMs: Math.max(...durations),
    spans: cascades.reduce((sum, { spans }) => sum + spans, 0),
  }
}
