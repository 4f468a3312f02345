import { medianInterval, quartilesOf, type Quartiles } from '../statistics.ts'
import type { OperatorData, OperatorPair } from './measure.ts'
import type { OperatorRun } from './operator-run.ts'

/** The most that `causeway kubectl` may take beyond kubectl, in milliseconds. */
export const MOST_MORE_MS = 100

/** The same of the runs of each operator. */
interface Both {
  plain: Quartiles
  traced: Quartiles
}

interface OperatorFindings {
  readyMs: Both
  /** In percent: of the pairs' ratios the median, and where it lies with about 95 % confidence. */
  added: { percent: number; from: number; to: number }
  cpuMs: Both
  /** CPU of a WebApp from its creation until it is ready. */
  cpuMsEach: { plain: number; traced: number }
  mib: Both
  othersCores: Quartiles
  load: { least: number; most: number }
  kubectlMs: { kubectl: Quartiles; causeway: Quartiles; more: Quartiles; moreCpu: Quartiles; isMet: boolean }
}

export function findingsOf({ webApps, pairs, kubectl }: OperatorData): OperatorFindings {
  const both = (value: (run: OperatorRun) => number): Both => ({
    plain: quartilesOf(pairs.map(({ plain }) => value(plain))),
    traced: quartilesOf(pairs.map(({ traced }) => value(traced))),
  })
  const ratios = pairs.map(({ plain, traced }) => traced.readyMs / plain.readyMs)
  const { from, to } = medianInterval(ratios)
  const cpuMs = both(({ cpuMs: ms }) => ms)
  const more = quartilesOf(kubectl.pairs.map((pair) => pair.causeway.ms - pair.kubectl.ms))
  return {
    readyMs: both(({ readyMs }) => readyMs),
    added: {
      percent: percentAdded(quartilesOf(ratios).median),
      from: percentAdded(from),
      to: percentAdded(to),
    },
    cpuMs,
    cpuMsEach: { plain: cpuMs.plain.median / webApps, traced: cpuMs.traced.median / webApps },
    mib: both(({ mib }) => mib),
    othersCores: quartilesOf(pairs.flatMap(({ plain, traced }) => [plain.othersCores, traced.othersCores])),
    load: loadsOf(pairs),
    kubectlMs: {
      kubectl: quartilesOf(kubectl.pairs.map((pair) => pair.kubectl.ms)),
      causeway: quartilesOf(kubectl.pairs.map((pair) => pair.causeway.ms)),
      more,
      moreCpu: quartilesOf(kubectl.pairs.map((pair) => pair.causeway.cpuMs - pair.kubectl.cpuMs)),
      isMet: more.median < MOST_MORE_MS,
    },
  }
}

function loadsOf(pairs: readonly OperatorPair[]): { least: number; most: number } {
  const loads = pairs.map(({ load }) => load)
  return { least: Math.min(...loads), most: Math.max(...loads) }
}

function percentAdded(ratio: number): number {
  return 100 * (ratio - 1)
}
