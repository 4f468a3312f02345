import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { going, withReplicas } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const GROUP = '/apis/monitoring.coreos.com'
const API_VERSION = 'monitoring.coreos.com/v1'
const FEW = { resources: { requests: { cpu: '100m' } } }

/** The namespace controller looks again after longer and longer. */
const ENDED_MS = 15_000

type Kind = 'prometheuses' | 'servicemonitors' | 'prometheusrules' | 'alertmanagers'

const at = ({ name }: Scene, kind: Kind, ...path: string[]): string =>
  [`${GROUP}/v1/namespaces/${name}/${kind}`, ...path].join('/')

const of = ({ name }: Scene, path: string): string => `/apis/apps/v1/namespaces/${name}/statefulsets/${path}`

const made = (kind: string, name: string, spec: object, apiVersion = API_VERSION): object => ({
  ...{ apiVersion, kind },
  metadata: { name },
  spec,
})

const make =
  (path: string, object: object) =>
  (api: KubeApi): Promise<unknown> =>
    api.create(path, object)

const PROMETHEUS = made('Prometheus', 'main', {
  ...FEW,
  replicas: 2,
  serviceMonitorSelector: {},
  podMonitorSelector: {},
  ruleSelector: {},
})
const MONITOR = made('ServiceMonitor', 'web', {
  selector: { matchLabels: { app: 'web' } },
  endpoints: [{ port: 'http' }],
})
const RULE = made('PrometheusRule', 'down', {
  groups: [{ name: 'down', rules: [{ alert: 'Down', expr: 'up == 0' }] }],
})
const ALERTMANAGER = made('Alertmanager', 'am', { ...FEW, replicas: 1, alertmanagerConfigSelector: {} })
const ALPHA = 'monitoring.coreos.com/v1alpha1'
const RECEIVER = made(
  'AlertmanagerConfig',
  'one',
  { route: { receiver: 'x' }, receivers: [{ name: 'x' }] },
  ALPHA,
)

/** Stories for a cluster in which the Prometheus operator runs. */
export const STORIES_WITH_MONITORS: readonly Story[] = [
  {
    name: 'p1-prometheus',
    play: async (scene) => {
      const { step, running } = scene
      const secret = `/api/v1/namespaces/${scene.name}/secrets/prometheus-main`
      const pod = `/api/v1/namespaces/${scene.name}/pods/prometheus-main-1`
      await step('alice', 'create prometheus main', make(at(scene, 'prometheuses'), PROMETHEUS))
      await running(2)
      await step('bob', 'create servicemonitor web', make(at(scene, 'servicemonitors'), MONITOR))
      await step('carol', 'create a rule', make(at(scene, 'prometheusrules'), RULE))
      await step('alice', 'scale to 3', (api) =>
        api.patch(at(scene, 'prometheuses', 'main'), withReplicas(3)),
      )
      await running(3)
      await step('bob', 'delete a pod', (api) => api.delete(pod))
      await running(3)
      const other = { spec: { endpoints: [{ port: 'metrics' }] } }
      await step('carol', 'change the servicemonitor', (api) =>
        api.patch(at(scene, 'servicemonitors', 'web'), other),
      )
      await step('alice', 'delete the statefulset by hand', (api) =>
        api.delete(of(scene, 'prometheus-main'), going('Background')),
      )
      await running(3)
      await step('bob', 'delete the generated secret', (api) => api.delete(secret))
      await step('carol', 'delete prometheus main', (api) =>
        api.delete(at(scene, 'prometheuses', 'main'), going('Background')),
      )
    },
  },
  {
    name: 'p2-alertmanager',
    play: async (scene) => {
      const { step, running } = scene
      const configs = `${GROUP}/v1alpha1/namespaces/${scene.name}/alertmanagerconfigs`
      const change = (spec: object) => (api: KubeApi) => api.patch(at(scene, 'alertmanagers', 'am'), { spec })
      await step('alice', 'create alertmanager am', make(at(scene, 'alertmanagers'), ALERTMANAGER))
      await running(1)
      await step('bob', 'create a receiver', make(configs, RECEIVER))
      await step('carol', 'scale its statefulset to 2', (api) =>
        api.patch(of(scene, 'alertmanager-am'), withReplicas(2)),
      )
      await step('alice', 'pause it', change({ paused: true }))
      await step('bob', 'go on with another image', change({ paused: false, image: 'am:2' }))
      await running(1)
      await step('carol', 'delete it', (api) =>
        api.delete(at(scene, 'alertmanagers', 'am'), going('Foreground')),
      )
    },
  },
  {
    name: 'p3-ended',
    play: async (scene) => {
      const { step, running, name } = scene
      await step('alice', 'create prometheus main', make(at(scene, 'prometheuses'), PROMETHEUS))
      await running(2)
      await step('bob', 'create servicemonitor web', make(at(scene, 'servicemonitors'), MONITOR))
      await step('carol', 'delete the namespace', (api) => api.delete(`/api/v1/namespaces/${name}`), ENDED_MS)
    },
  },
]
