/** What the recorded stories are of, and the story of the interop suite where none is recorded. */
export const CLASSES: readonly {
  readonly what: string
  readonly stories: readonly string[]
  /** What was wrong of it in other runs of such stories, before there was a rule for it; counted in versions unless it says of what. */
  readonly before?: string
  /** A file in test/interop/kubernetes. */
  readonly interop?: string
}[] = [
  {
    what: 'rollouts, one over an unfinished other',
    before: '169, in one run of three',
    stories: ['s01-rollout', 's01-rollout-b'],
  },
  { what: 'changes that overwrite each other', before: '9 of 81 ReplicaSets', stories: ['v1-overwrite'] },
  { what: 'server-side apply by several', stories: ['s07-ssa', 's07-ssa-b'] },
  { what: 'StatefulSets with claims', stories: ['s02-sts', 's02-sts-b'] },
  {
    what: 'budgets after evictions, taints and deletions of nodes',
    before: '38',
    stories: ['p1-pdb', 's05-taint', 's05-taint-b'],
  },
  { what: 'quotas, and the Pods that a raised one lets through', before: '9', stories: ['q1-quota'] },
  {
    what: 'DaemonSets after nodes are added, labelled, unlabelled, deleted',
    before: '34',
    stories: ['n1-daemon', 's03-ds', 's03-ds-b'],
  },
  { what: 'relabelled Pods', before: '22', stories: ['r1-relabel'] },
  {
    what: 'pending Pods that are bound after a label of a node, or the end of another Pod',
    before: '15',
    stories: ['w1-pending'],
  },
  { what: 'preemption', before: '13', stories: ['e1-preempt'] },
  {
    what: 'Pods that go with a deleted node',
    before: '2',
    stories: ['s05-taint', 's05-taint-b', 'p1-pdb', 's03-ds'],
  },
  { what: 'orphans', before: '4', stories: ['g1-orphan'] },
  {
    what: 'two versions of one request of the garbage collector',
    before: '2',
    stories: ['s04-job', 's04-job-b'],
  },
  {
    what: 'made anew when deleted: default ServiceAccounts, kube-root-ca.crt; aggregated ClusterRoles',
    before: '4, tokens among them',
    stories: ['a1-again'],
  },
  { what: 'tokens of a deleted ServiceAccount', stories: ['x2-account'] },
  {
    what: 'finalizers that somebody takes away by a patch',
    before: '3 of 3 deletions',
    stories: ['f1-finalizer', 'd4-held'],
  },
  {
    what: 'finalizers of a custom controller',
    stories: ['d1-ended', 'd2-several', 'd3-alone', 'd5-before'],
  },
  { what: 'the end of a namespace', stories: ['s06-nsdel', 's06-nsdel-b', 'd1-ended', 'd2-several'] },
  {
    what: 'what only takes fields away: `rollout resume`, `label x-`, `annotate x-`, `uncordon`, `taint x-`',
    before: '6 of 6 writes, watch alone',
    stories: ['x1-removals'],
  },
  { what: 'begun by itself: health', before: '33', stories: ['k1-kubelet'] },
  { what: 'begun by itself: schedule and expiry', stories: ['s04-job', 's04-job-b'] },
  { what: 'begun by itself: renewal', stories: ['c3-renewal'] },
  {
    what: 'begun by itself: metric',
    before: '1 of 1 second scalings, watch alone',
    stories: [],
    interop: 'scaled-by-metric.test.ts',
  },
  { what: 'argo-rollouts', before: '70 of 431', stories: ['o1-canary', 'o2-bluegreen'] },
  {
    what: 'cert-manager',
    before: '23 of 79',
    stories: ['c1-selfsigned', 'c2-authority', 'c3-renewal', 'c4-by-hand'],
  },
  { what: 'commits that Flux applies', stories: ['i1-push', 'i3-suspended', 'i4-asked'] },
  { what: 'what somebody else changed, and Flux puts back', stories: ['i2-drift'] },
  { what: 'the Prometheus operator', stories: ['p1-prometheus', 'p2-alertmanager'] },
  {
    what: 'what somebody makes or edits of ReplicaSets and Pods by hand',
    stories: ['t7-adopt', 't8-replaced', 't9-resized'],
  },
  {
    what: 'rollouts with a partition, undone, or while another begins',
    stories: ['t1-partition', 't2-undone', 't6-overlap', 'u4-checksum'],
  },
  { what: 'autoscalers and schedules that people interrupt', stories: ['t3-scaled', 't4-cron'] },
  { what: 'indexed Jobs', stories: ['t5-indexed'] },
  { what: 'objects with several owners', stories: ['u2-owners'] },
  { what: 'ranges of limits and quotas', stories: ['u3-limits'] },
  { what: 'Services, and endpoints by hand', stories: ['u5-services', 'u6-mirror'] },
  { what: 'claims of volumes and devices', stories: ['u7-claims', 'u8-devices'] },
  { what: 'ServiceAccounts and roles', stories: ['u9-accounts', 'j8-roles'] },
  {
    what: 'containers that come and go, Pods that are copied or annotated',
    stories: ['j1-sidecars', 'j6-copied'],
  },
  { what: 'other ways of replacing Pods, and history that is not kept', stories: ['j2-strategies'] },
  { what: 'claims that a StatefulSet does not keep', stories: ['j3-retained'] },
  {
    what: 'Jobs that run more or fewer Pods, and Jobs that one Pod or a deadline ends',
    stories: ['j4-parallel', 'j5-policies'],
  },
  { what: 'autoscaled StatefulSets', stories: ['j7-scaled'] },
  { what: 'quotas of several kinds', stories: ['j9-counted'] },
  { what: 'drains that a budget holds up', stories: ['j0-drained'] },
  {
    what: 'tolerations, drains with a budget, priorities',
    stories: ['y1-tolerated', 'y2-drained', 'y3-priority'],
  },
  {
    what: 'objects and namespaces that are deleted and made again under their names',
    stories: ['b1-forced', 'b2-again'],
  },
  { what: 'collections deleted at once, and dry runs', stories: ['b7-collection'] },
  { what: 'pipelines with service accounts, and impersonation', stories: ['b5-robot'] },
  { what: 'controllers without custom resources', stories: ['g2-reloaded', 'g3-started'] },
  { what: 'Pods that somebody binds by hand', stories: ['b4-bound'] },
  {
    what: 'hooks before a rollout, and Services that are switched over',
    stories: ['b6-hooks', 'b3-switched'],
  },
  { what: 'ReplicationControllers, admission policies', stories: ['b8-old', 'b0-policies'] },
  { what: 'sealed-secrets', stories: ['l1-sealed', 'l2-broken'] },
  { what: 'external-secrets', stories: ['k2-synced', 'k3-polled', 'k4-everywhere'] },
  { what: 'what labels give to custom resources, without owners', stories: ['q2-labelled'] },
  { what: 'two operators that write the same object', stories: ['q3-discounted'] },
  { what: 'trust-manager', stories: ['k5-trusted'] },
  { what: 'nodes that a program closes, evicts from and deletes', stories: ['ea-retired'] },
  { what: 'Pods that a program evicts from tainted nodes', stories: ['eb-moved'] },
  { what: 'instances that `app.kubernetes.io/instance` names', stories: ['ed-cache'] },
  { what: 'what a program lists of a namespace', stories: ['ee-summed'] },
  { what: 'databases in shards, rolled out one after the other', stories: ['ef-shards'] },
  { what: 'chains of Secrets that are issued and copied', stories: ['eg-issued'] },
  { what: 'sidecars that a program adds to Deployments', stories: ['eh-meshed'] },
  { what: 'a canary of two Deployments', stories: ['ei-canary'] },
  { what: 'Jobs that a program lets run', stories: ['ej-admitted'] },
  { what: 'JobSets: suspended, restarted, in order, expired', stories: ['n2-trained', 'n3-ended'] },
]
