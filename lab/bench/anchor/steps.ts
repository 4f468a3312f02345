/** One span of a step. `under` is the place of its parent among the spans of the step. */
export interface SpanShape {
  name: string
  under?: number
  kind: 1 | 3
  /** Milliseconds after the step begins. */
  fromMs: number
  toMs: number
  observed?: ObjectShape
  wrote?: ObjectShape
}

/** An object of the change, with the version it has then. */
export interface ObjectShape {
  kind: 'deployment' | 'replicaset' | 'pod' | 'endpoints'
  version: number
}

export type CpidRole = 'operator' | 'replicaset' | 'endpoints'

/** What one controller does for one pod change: one reconcile, in a trace of its own. */
export interface Step {
  service: string
  /** Whose CPID its spans carry; none for work that belongs to no change. */
  cpid?: CpidRole
  /** Seconds after the change in which its spans are sent. */
  sentAfter: number
  /** Milliseconds after the change at which it begins. */
  beginsMs: number
  /** In the order in which they end. */
  spans: readonly SpanShape[]
}

const deployment = (version: number): ObjectShape => ({ kind: 'deployment', version })
const replicaset = (version: number): ObjectShape => ({ kind: 'replicaset', version })
const pod = (version: number): ObjectShape => ({ kind: 'pod', version })

/** As the controllers of packages/control-plane do it when a Deployment gets one Pod more, in this order. */
export const STEPS: readonly Step[] = [
  {
    service: 'kubectl',
    cpid: 'operator',
    sentAfter: 0,
    beginsMs: 0,
    spans: [{ name: 'update apps/v1/deployments', kind: 3, fromMs: 0, toMs: 8, wrote: deployment(1) }],
  },
  {
    service: 'deployment-controller',
    cpid: 'operator',
    sentAfter: 0,
    beginsMs: 20,
    spans: [
      { name: 'update apps/v1/replicasets', under: 1, kind: 3, fromMs: 2, toMs: 9, wrote: replicaset(2) },
      { name: 'reconcile Deployment', kind: 1, fromMs: 0, toMs: 10, observed: deployment(1) },
    ],
  },
  {
    service: 'replicaset-controller',
    cpid: 'replicaset',
    sentAfter: 0,
    beginsMs: 40,
    spans: [
      { name: 'create v1/pods', under: 2, kind: 3, fromMs: 2, toMs: 9, wrote: pod(3) },
      {
        name: 'update apps/v1/replicasets/status',
        under: 2,
        kind: 3,
        fromMs: 10,
        toMs: 15,
        wrote: replicaset(4),
      },
      { name: 'reconcile ReplicaSet', kind: 1, fromMs: 0, toMs: 16, observed: replicaset(2) },
    ],
  },
  {
    service: 'scheduler',
    cpid: 'replicaset',
    sentAfter: 0,
    beginsMs: 60,
    spans: [
      { name: 'score nodes', under: 2, kind: 1, fromMs: 1, toMs: 12 },
      { name: 'update v1/pods', under: 2, kind: 3, fromMs: 13, toMs: 18, wrote: pod(5) },
      { name: 'schedule Pod', kind: 1, fromMs: 0, toMs: 19, observed: pod(3) },
    ],
  },
  {
    service: 'kubelet',
    cpid: 'replicaset',
    sentAfter: 2,
    beginsMs: 90,
    spans: [
      { name: 'pull image', under: 3, kind: 1, fromMs: 1, toMs: 800 },
      { name: 'start container', under: 3, kind: 1, fromMs: 801, toMs: 1_200 },
      { name: 'update v1/pods/status', under: 3, kind: 3, fromMs: 1_201, toMs: 1_209, wrote: pod(6) },
      { name: 'start Pod', kind: 1, fromMs: 0, toMs: 1_210, observed: pod(5) },
    ],
  },
  {
    service: 'endpoints-controller',
    cpid: 'endpoints',
    sentAfter: 3,
    beginsMs: 1_320,
    spans: [
      {
        name: 'update v1/endpoints',
        under: 1,
        kind: 3,
        fromMs: 2,
        toMs: 9,
        wrote: { kind: 'endpoints', version: 7 },
      },
      { name: 'reconcile Endpoints', kind: 1, fromMs: 0, toMs: 10, observed: pod(6) },
    ],
  },
  {
    service: 'replicaset-controller',
    cpid: 'replicaset',
    sentAfter: 3,
    beginsMs: 1_330,
    spans: [
      {
        name: 'update apps/v1/replicasets/status',
        under: 1,
        kind: 3,
        fromMs: 2,
        toMs: 8,
        wrote: replicaset(8),
      },
      { name: 'reconcile ReplicaSet', kind: 1, fromMs: 0, toMs: 9, observed: pod(6) },
    ],
  },
  {
    service: 'kubelet',
    sentAfter: 2,
    beginsMs: 1_000,
    spans: [
      { name: 'get v1/nodes', under: 1, kind: 3, fromMs: 1, toMs: 4 },
      { name: 'sync node status', kind: 1, fromMs: 0, toMs: 5 },
    ],
  },
]

/** Spans of a step before it among those of a change. */
export const FIRST_SPAN: readonly number[] = STEPS.map((_, at) =>
  STEPS.slice(0, at).reduce((sum, { spans }) => sum + spans.length, 0),
)
export const SPANS_PER_CHANGE = STEPS.reduce((sum, { spans }) => sum + spans.length, 0)

/** A mergelog of a change: which CPID is new, and of which it comes. `previous` is that of the object's last change. */
export interface MergelogShape {
  service: string
  cpid: CpidRole
  source?: CpidRole
  mergesPrevious: boolean
  object: ObjectShape
  reason: string
  sentAfter: number
  beginsMs: number
  /** The first step that carries the CPID. */
  step: number
}

export const MERGELOGS: readonly MergelogShape[] = [
  {
    service: 'kubectl',
    cpid: 'operator',
    mergesPrevious: false,
    object: deployment(1),
    reason: 'scale Deployment',
    sentAfter: 0,
    beginsMs: 0,
    step: 0,
  },
  {
    service: 'replicaset-controller',
    cpid: 'replicaset',
    source: 'operator',
    mergesPrevious: true,
    object: pod(3),
    reason: 'reconcile ReplicaSet',
    sentAfter: 0,
    beginsMs: 42,
    step: 2,
  },
  {
    service: 'endpoints-controller',
    cpid: 'endpoints',
    source: 'replicaset',
    mergesPrevious: true,
    object: { kind: 'endpoints', version: 7 },
    reason: 'reconcile Endpoints',
    sentAfter: 3,
    beginsMs: 1_322,
    step: 5,
  },
]
export const CPIDS_PER_CHANGE = MERGELOGS.length
