import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { going } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const API_VERSION = 'serving.knative.dev/v1'
/** What scales it: the autoscaler of Kubernetes, which needs nothing that measures its traffic. */
const SCALED = {
  'autoscaling.knative.dev/class': 'hpa.autoscaling.knative.dev',
  'autoscaling.knative.dev/metric': 'cpu',
}
const QUIET_MS = 9_000

type Kind = 'services' | 'configurations' | 'routes' | 'revisions'

const at = ({ name }: Scene, kind: Kind, ...path: string[]): string =>
  [`/apis/${API_VERSION}/namespaces/${name}/${kind}`, ...path].join('/')

const templateOf = (image: string, least = 1): object => ({
  metadata: { annotations: { ...SCALED, 'autoscaling.knative.dev/min-scale': String(least) } },
  spec: { containers: [{ image: `dev.local/${image}` }] },
})

const made = (kind: string, name: string, spec: object): object => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name },
  spec,
})

/** Stories for a cluster in which Knative Serving runs. */
export const STORIES_WITH_KNATIVE: readonly Story[] = [
  {
    name: 'h1-service',
    play: async (scene) => {
      const { step, at: pathOf } = scene
      const service = at(scene, 'services', 'web')
      const change = (spec: object) => (api: KubeApi) => api.patch(service, { spec })
      await step(
        'alice',
        'create service web',
        (api) => api.create(at(scene, 'services'), made('Service', 'web', { template: templateOf('web:1') })),
        QUIET_MS,
      )
      await step('bob', 'give it another image', change({ template: templateOf('web:2') }), QUIET_MS)
      await step(
        'carol',
        'send all to the first revision',
        change({ traffic: [{ revisionName: 'web-00001', percent: 100 }] }),
        QUIET_MS,
      )
      await step(
        'alice',
        'delete the deployment of the second',
        (api) => api.delete(pathOf('deployments', 'web-00002-deployment'), going('Background')),
        QUIET_MS,
      )
      await step('bob', 'run at least two', change({ template: templateOf('web:2', 2) }), QUIET_MS)
      await step(
        'carol',
        'send half to the newest',
        change({
          traffic: [
            { revisionName: 'web-00001', percent: 50 },
            { latestRevision: true, percent: 50 },
          ],
        }),
        QUIET_MS,
      )
      await step(
        'alice',
        'label the service',
        (api) => api.patch(service, { metadata: { labels: { team: 'a' } } }),
        QUIET_MS,
      )
      await step(
        'bob',
        'delete the second revision',
        (api) => api.delete(at(scene, 'revisions', 'web-00002'), going('Background')),
        QUIET_MS,
      )
      await step('carol', 'delete service web', (api) => api.delete(service, going('Background')), QUIET_MS)
    },
  },
  {
    name: 'h2-route',
    play: async (scene) => {
      const { step } = scene
      const configuration = made('Configuration', 'app', { template: templateOf('app:1') })
      const route = made('Route', 'front', { traffic: [{ configurationName: 'app', percent: 100 }] })
      await step(
        'alice',
        'create configuration app',
        (api) => api.create(at(scene, 'configurations'), configuration),
        QUIET_MS,
      )
      await step('bob', 'create route front', (api) => api.create(at(scene, 'routes'), route), QUIET_MS)
      await step(
        'carol',
        'give app another image',
        (api) => api.patch(at(scene, 'configurations', 'app'), { spec: { template: templateOf('app:2') } }),
        QUIET_MS,
      )
      await step(
        'alice',
        'send all to the first revision',
        (api) =>
          api.patch(at(scene, 'routes', 'front'), {
            spec: { traffic: [{ revisionName: 'app-00001', percent: 100 }] },
          }),
        QUIET_MS,
      )
      await step(
        'bob',
        'delete the route',
        (api) => api.delete(at(scene, 'routes', 'front'), going('Background')),
        QUIET_MS,
      )
      await step(
        'carol',
        'delete the configuration',
        (api) => api.delete(at(scene, 'configurations', 'app'), going('Background')),
        QUIET_MS,
      )
    },
  },
]
