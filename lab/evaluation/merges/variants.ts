import type { VirtualRunSettings } from '../../../packages/control-plane/virtual-run.ts'
import { mergingAsPrinted } from './as-printed.ts'
import { mergingEagerly } from './eager-merging.ts'
import type { Scenario } from './scenario.ts'

/** How a run of the scenario differs from the ordinary one. */
export interface Variant {
  name: string
  run?: Partial<VirtualRunSettings>
  scenario?: Partial<Scenario>
  /** Whether the criteria are about it too: it has the same changes, and they do not overlap. */
  isComparable: boolean
}

const PAPER_COMPONENTS = ['kubectl', 'deployment-controller', 'replicaset-controller', 'scheduler']

export const ORDINARY: Variant = { name: 'as measured above', isComparable: true }

/** What the count depends on; nothing here is chosen to come near the paper. */
export const VARIANTS: readonly Variant[] = [
  {
    name: 'only what the paper instrumented: kubectl, Deployment, ReplicaSet, scheduler',
    run: { isPlain: (component) => !PAPER_COMPONENTS.includes(component) },
    isComparable: true,
  },
  {
    name: 'controllers merge in every reconcile, also where there is nothing to write',
    run: { instrument: (settings) => mergingEagerly(settings) },
    isComparable: true,
  },
  {
    name: 'controllers merge by Algorithm 1 as it is printed, line 17 included',
    run: { instrument: mergingAsPrinted },
    isComparable: true,
  },
  {
    name: 'both: as printed, and in every reconcile',
    run: { instrument: (settings) => mergingEagerly(settings, mergingAsPrinted) },
    isComparable: true,
  },
  {
    name: 'watches drop after every fifth event; half of those that begin have to list again',
    run: { latency: { watchDrops: 0.2, watchExpires: 0.5 } },
    isComparable: true,
  },
  {
    name: 'Pods start and stop five times slower',
    run: { pace: paceOf(5) },
    isComparable: true,
  },
  {
    name: 'Pods start and stop five times faster',
    run: { pace: paceOf(1 / 5) },
    isComparable: true,
  },
  {
    name: 'API server and watches five times slower',
    run: {
      latency: {
        readMs: { least: 5, most: 20 },
        writeMs: { least: 20, most: 75 },
        watchMs: { least: 5, most: 50 },
      },
    },
    isComparable: true,
  },
  {
    name: 'each Deployment has a Service, so that Endpoints change too',
    scenario: { withServices: true },
    isComparable: false,
  },
  {
    name: 'the operator waits only 0.5 s, so that changes overlap',
    scenario: { waitMs: 500 },
    isComparable: false,
  },
]

function paceOf(factor: number): NonNullable<VirtualRunSettings['pace']> {
  const times = (least: number, most: number) => ({ least: least * factor, most: most * factor })
  return { pullingMs: times(50, 200), startingMs: times(300, 900), stoppingMs: times(100, 400) }
}
