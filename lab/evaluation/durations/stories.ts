import { deployment, service } from '../../../packages/control-plane/manifests.ts'
import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { virtualRun, type VirtualRunSettings } from '../../../packages/control-plane/virtual-run.ts'
import { scaleInTurn } from '../merges/scenario.ts'
import { twoOperators } from '../replacement/two-operators.ts'

export interface Told {
  story: string
  play: (seed: number) => Promise<Recorder>
}

/** Who deletes an object says so on it first: else nobody can tell whose deletion it was. */
const marked = (seed: number): VirtualRunSettings => ({ seed, marksDeletions: true })
const LONG_MS = 60_000
const WAIT_MS = 10_000

/** What is played in virtual time; everything is instrumented. */
export const STORIES: readonly Told[] = [
  {
    story: 'the demo (Figure 5): a Deployment, then its Service',
    play: (seed) =>
      virtualRun(marked(seed), async (plane) => {
        await plane.kubectl.create('apps/v1/deployments', deployment('web', 2))
        await plane.kubectl.create('v1/services', service('web'))
        await plane.settled(LONG_MS)
      }),
  },
  {
    story: 'section 5.1.2: five Deployments scaled in turn, ten seconds apart',
    play: (seed) =>
      virtualRun(marked(seed), async (plane, clock) => {
        await scaleInTurn(plane, clock, { waitMs: WAIT_MS, withServices: false })
        await plane.settled(WAIT_MS)
      }),
  },
  {
    story: 'section 5.1.2, each Deployment with its Service',
    play: (seed) =>
      virtualRun(marked(seed), async (plane, clock) => {
        await scaleInTurn(plane, clock, { waitMs: WAIT_MS, withServices: true })
        await plane.settled(WAIT_MS)
      }),
  },
  { story: 'section 6.2: two operators', play: (seed) => virtualRun(marked(seed), twoOperators) },
]
