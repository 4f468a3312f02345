/** When a stage of kwok applies: an expression of jq over the object, and what its answer has to be. */
interface Requirement {
  key: string
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  values?: string[]
}

const IS_GOING = '.metadata.deletionTimestamp'
const IS_READY = '.status.conditions.[] | select( .type == "Ready" ) | .status'

interface Stage {
  apiVersion: string
  kind: string
  metadata: object
  spec: object
}

function stage(name: string, kind: 'Node' | 'Pod', matchExpressions: Requirement[], next: object): Stage {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: { resourceRef: { apiGroup: 'v1', kind }, selector: { matchExpressions }, next },
  }
}

/** A condition that holds, as a line of a status template. */
const condition = (type: string): string =>
  `- { type: ${type}, status: "True", lastTransitionTime: {{ Now | Quote }}, reason: Simulated }`

const NODE_STATUS = `conditions:
- { type: Ready, status: "True", reason: Simulated, message: "", lastHeartbeatTime: {{ Now | Quote }}, lastTransitionTime: {{ Now | Quote }} }
addresses:
- { type: InternalIP, address: {{ NodeIP | Quote }} }
- { type: Hostname, address: {{ .metadata.name | Quote }} }
phase: Running
`

const POD_STATUS = `phase: Running
startTime: {{ Now | Quote }}
podIP: {{ PodIP | Quote }}
conditions:
${['Initialized', 'ContainersReady', 'Ready'].map(condition).join('\n')}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  state: { running: { startedAt: {{ Now | Quote }} } }
{{ end }}
`

/** An annotation of Pods that finish as soon as they run. */
export const FINISHES = 'causeway.test/finishes'
/** An annotation of Pods that their kubelet does not end, as one that has fallen silent: they stay until somebody else does. */
export const STAYS = 'causeway.test/stays'
/** A label of nodes that have no kubelet: nobody renews their leases, and nothing becomes of their Pods. */
export const SILENT = 'causeway.test/silent'

const FINISHED_STATUS = `phase: Succeeded
conditions:
- { type: Initialized, status: "True", lastTransitionTime: {{ Now | Quote }}, reason: PodCompleted }
- { type: ContainersReady, status: "False", lastTransitionTime: {{ Now | Quote }}, reason: PodCompleted }
- { type: Ready, status: "False", lastTransitionTime: {{ Now | Quote }}, reason: PodCompleted }
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  restartCount: 0
  state: { terminated: { exitCode: 0, reason: Completed, startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }} } }
{{ end }}
`

/**
 * What kwok does in the place of kubelets: nodes become ready, Pods run as soon as they have a node, finish where they are to, and
 * go at once, but for those that stay. For each step of a Pod it takes from and to so many milliseconds.
 */
export function kwokStages([least, most]: readonly [number, number] = [0, 0]): readonly object[] {
  const ofPod = (name: string, matchExpressions: Requirement[], next: object): object => {
    const { spec, ...rest } = stage(name, 'Pod', matchExpressions, next)
    const delay = { durationMilliseconds: least, jitterDurationMilliseconds: most }
    return { ...rest, spec: most === 0 ? spec : { ...spec, delay } }
  }
  return [
    stage('node-ready', 'Node', [{ key: IS_READY, operator: 'NotIn', values: ['True'] }], {
      statusTemplate: NODE_STATUS,
    }),
    ofPod(
      'pod-running',
      [
        { key: IS_GOING, operator: 'DoesNotExist' },
        { key: '.status.phase', operator: 'In', values: ['Pending'] },
      ],
      { statusTemplate: POD_STATUS },
    ),
    ofPod(
      'pod-finished',
      [
        { key: IS_GOING, operator: 'DoesNotExist' },
        { key: `.metadata.annotations["${FINISHES}"]`, operator: 'Exists' },
        { key: '.status.phase', operator: 'In', values: ['Running'] },
      ],
      { statusTemplate: FINISHED_STATUS },
    ),
    ofPod(
      'pod-gone',
      [
        { key: IS_GOING, operator: 'Exists' },
        { key: `.metadata.annotations["${STAYS}"]`, operator: 'DoesNotExist' },
      ],
      { delete: true },
    ),
  ]
}
