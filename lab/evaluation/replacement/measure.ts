import type { Instrumentation, InstrumentationSettings } from 'causeway-instrumentation'
import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { virtualRun } from '../../../packages/control-plane/virtual-run.ts'
import { claimsByOrigins } from './attribution.ts'
import { CASES } from './cases.ts'
import { compare, sumOf, type Verdict } from './compare.ts'
import { knowing, type Origins } from './knowing.ts'
import { METHODS } from './methods.ts'
import { playStory } from './play-story.ts'
import { reportedIn } from './told.ts'
import { twoOperators } from './two-operators.ts'

export interface ReplacementData {
  seeds: number
  /** The cases of Figure 12, then the control plane, all seeds together. */
  scenes: Scene[]
}

export interface Scene {
  name: string
  about: string
  /** In the order of METHODS. */
  verdicts: { method: string; verdict: Verdict }[]
}

type Instrument = (settings: InstrumentationSettings) => Instrumentation
type Play = (instrument: Instrument) => Promise<Recorder>

export async function measureReplacement(
  size: { seeds: number },
  onRun: () => void,
): Promise<ReplacementData> {
  const scenes: Scene[] = []
  for (const { name, about, steps } of CASES) {
    const verdicts = await judge((instrument) => playStory(steps, instrument), onRun)
    scenes.push({ name: `Figure 12, ${name}`, about, verdicts: named(verdicts) })
  }
  const perSeed: Verdict[][] = []
  for (let seed = 1; seed <= size.seeds; seed++) perSeed.push(await judge(controlPlane(seed), onRun))
  const sums = METHODS.map((_, method) => sumOf(perSeed.flatMap((verdicts) => verdicts[method] ?? [])))
  scenes.push({
    name: 'a control plane with two operators',
    about: `Deployments with Services and an autoscaler; changes of two operators meet, ${size.seeds} seeds together`,
    verdicts: named(sums),
  })
  return { seeds: size.seeds, scenes }
}

export function controlPlane(seed: number): Play {
  return (instrument) => virtualRun({ seed, instrument }, twoOperators)
}

/** Plays the same run with each method and with one that knows the truth; a verdict for each of METHODS. */
export async function judge(play: Play, onRun: () => void = () => undefined): Promise<Verdict[]> {
  const origins: Origins = new Map()
  const truth = claimsByOrigins(reportedIn(await play(knowing(origins))), origins)
  const verdicts: Verdict[] = []
  for (const { instrument, attribute } of METHODS) {
    verdicts.push(compare(attribute(reportedIn(await play(instrument))), truth))
    onRun()
  }
  return verdicts
}

function named(verdicts: readonly Verdict[]): Scene['verdicts'] {
  return verdicts.map((verdict, at) => ({ method: METHODS[at]?.name ?? '', verdict }))
}
