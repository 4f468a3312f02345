import {
  createInstrumentation,
  type Instrumentation,
  type InstrumentationSettings,
  type KubernetesObject,
  type TraceContext,
} from 'causeway-instrumentation'
import type { VirtualRunSettings } from '../../../packages/control-plane/virtual-run.ts'
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

/**
 * Merges by Algorithm 1 of the paper exactly as it is printed, line 17 included: where a CPID takes the place of its
 * ancestors, it learns nothing from their lists. Where it has to merge, the ancestors are the sources and then each
 * source's own list, one after the other.
 */
function mergingAsPrinted(settings: InstrumentationSettings): Instrumentation {
  const inner = createInstrumentation(settings)
  const { maxAncestors = 10 } = settings
  return {
    ...inner,
    merge(contexts, detail) {
      const given = [...contexts].filter((context) => context !== undefined)
      const graph = graphOf(given)
      const [first, ...others] = graph
      if (first === undefined) return inner.newRoot(detail)
      if (others.length === 0) return { cpid: first[0], ancestors: first[1].slice(0, maxAncestors) }
      const roots = [...graph.keys()].map((cpid): TraceContext => ({ cpid, ancestors: [] }))
      // Without lists the library has to merge them all, and sends the mergelog.
      const { cpid } = inner.merge(roots, detail)
      const ancestors = new Set([...graph.keys(), ...[...graph.values()].flat()])
      return { cpid, ancestors: [...ancestors].slice(0, maxAncestors) }
    },
  }
}

/** BUILDCPIDGRAPH: the CPIDs that none of the others is known to descend from, each with its ancestors. */
function graphOf(contexts: readonly TraceContext[]): Map<string, string[]> {
  const graph = new Map<string, string[]>()
  for (const { cpid, ancestors } of contexts) {
    for (const root of graph.keys()) if (ancestors.includes(root)) graph.delete(root)
    let isIncluded = false
    for (const [root, list] of graph) {
      if (root !== cpid && !list.includes(cpid)) continue
      for (const ancestor of [...ancestors].reverse()) if (!list.includes(ancestor)) list.unshift(ancestor)
      isIncluded = true
    }
    if (!isIncluded) graph.set(cpid, [...ancestors])
  }
  return graph
}

/**
 * Merges as soon as objects are observed, in every reconcile, also in one that then finds nothing to write. The write
 * that follows takes the same outcome.
 */
function mergingEagerly(
  settings: InstrumentationSettings,
  instrument: (settings: InstrumentationSettings) => Instrumentation = createInstrumentation,
): Instrumentation {
  const inner = instrument(settings)
  let last: { key: string; outcome: TraceContext } | undefined
  return {
    ...inner,
    observed(objects, type) {
      inner.observed(objects, type)
      const all = Array.isArray(objects)
        ? (objects as readonly KubernetesObject[])
        : [objects as KubernetesObject]
      const contexts = all.map(inner.extractFromObject).filter((context) => context !== undefined)
      if (contexts.length > 0) last = { key: keyOf(contexts), outcome: inner.merge(contexts) }
    },
    merge(contexts, detail) {
      const all = [...contexts].filter((context) => context !== undefined)
      return last?.key === keyOf(all) ? last.outcome : inner.merge(all, detail)
    },
  }
}

function keyOf(contexts: readonly TraceContext[]): string {
  return contexts.map(({ cpid, ancestors }) => [cpid, ...ancestors].join(' ')).join()
}
