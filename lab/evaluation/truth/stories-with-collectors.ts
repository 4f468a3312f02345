import { change, edit, inTurn, make, remove } from './deeds.ts'
import { withLabels, withReplicas } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const GROUP = 'opentelemetry.io'
const COLLECTORS = `${GROUP}/v1beta1`
const OTHERS = `${GROUP}/v1alpha1`
const LONG_MS = 12_000
const AT_ONCE = 0

const collectors = ({ name }: Scene, ...path: string[]): string =>
  [`/apis/${COLLECTORS}/namespaces/${name}/opentelemetrycollectors`, ...path].join('/')
const allocators = ({ name }: Scene, ...path: string[]): string =>
  [`/apis/${OTHERS}/namespaces/${name}/targetallocators`, ...path].join('/')
const bridges = ({ name }: Scene, ...path: string[]): string =>
  [`/apis/${OTHERS}/namespaces/${name}/opampbridges`, ...path].join('/')

const config = (receivers: object, processors: object = {}): object => ({
  receivers,
  processors,
  exporters: { debug: {} },
  service: {
    pipelines: {
      [Object.keys(receivers).includes('prometheus') ? 'metrics' : 'traces']: {
        ...{ receivers: Object.keys(receivers), processors: Object.keys(processors), exporters: ['debug'] },
      },
    },
  },
})
const otlp = (port: number): object => ({ otlp: { protocols: { grpc: { endpoint: `0.0.0.0:${port}` } } } })
const scraping = (job: string): object => ({
  prometheus: { config: { scrape_configs: [{ job_name: job, static_configs: [{ targets: ['a:1'] }] }] } },
})

/** What its webhooks would set. */
const STRATEGIES = { allocationStrategy: 'consistent-hashing', filterStrategy: 'relabel-config' }

const collector = (name: string, mode: string, more: object): object => ({
  apiVersion: COLLECTORS,
  kind: 'OpenTelemetryCollector',
  metadata: { name },
  spec: {
    ...{ mode, replicas: 2, managementState: 'managed', upgradeStrategy: 'none', image: 'c:1' },
    ...more,
  },
})
const withConfig = (one: object): object => ({ spec: { config: one } })

/** Stories for a cluster in which the operator of collectors runs, without its webhooks. */
export const STORIES_WITH_COLLECTORS: readonly Story[] = [
  {
    name: 'xa-collected',
    play: async (scene) => {
      const { at } = scene
      const edge = collectors(scene, 'edge')
      const made = collector('edge', 'deployment', { config: config(otlp(4317)) })
      await inTurn(
        scene,
        ['alice', 'create collector edge', make(collectors(scene), made), LONG_MS],
        ['bob', 'another port', change(edge, withConfig(config(otlp(4319)))), LONG_MS],
        ['carol', 'scale it to 3', change(`${edge}/scale`, withReplicas(3)), LONG_MS],
        ['alice', 'delete its service by hand', remove(at('services', 'edge-collector'))],
        [
          'bob',
          'image by hand, which is set back',
          edit(at('deployments', 'edge-collector'), {
            spec: { template: { spec: { containers: [{ name: 'otc-container', image: 'c:9' }] } } },
          }),
          LONG_MS,
        ],
        [
          'carol',
          'scale by load',
          change(edge, {
            spec: { autoscaler: { minReplicas: 2, maxReplicas: 4, targetCPUUtilization: 80 } },
          }),
          22_000,
        ],
        ['alice', 'image 2', change(edge, { spec: { image: 'c:2' } }), AT_ONCE],
        ['bob', 'port 4320 at once', change(edge, withConfig(config(otlp(4320)))), 18_000],
        ['carol', 'on every node', change(edge, { spec: { mode: 'daemonset', autoscaler: null } }), LONG_MS],
        ['alice', 'delete its daemonset by hand', remove(at('daemonsets', 'edge-collector')), LONG_MS],
        ['bob', 'port 4321', change(edge, withConfig(config(otlp(4321)))), LONG_MS],
        ['carol', 'port 4322', change(edge, withConfig(config(otlp(4322)))), LONG_MS],
        ['alice', 'delete collector edge', remove(edge), LONG_MS],
      )
    },
  },
  {
    name: 'xb-allocated',
    play: async (scene) => {
      const { at } = scene
      const scrape = collectors(scene, 'scrape')
      const made = collector('scrape', 'statefulset', {
        ...{
          config: config(scraping('one')),
          targetAllocator: { enabled: true, replicas: 1, image: 'ta:1', ...STRATEGIES },
        },
      })
      await inTurn(
        scene,
        ['alice', 'create collector scrape', make(collectors(scene), made), 18_000],
        ['bob', 'two allocators', change(scrape, { spec: { targetAllocator: { replicas: 2 } } }), LONG_MS],
        ['carol', 'delete a configmap by hand', remove(at('configmaps', 'scrape-targetallocator')), LONG_MS],
        ['alice', 'scrape another', change(scrape, withConfig(config(scraping('two')))), AT_ONCE],
        ['bob', 'three at once', change(scrape, withReplicas(3)), 18_000],
        ['carol', 'delete its allocator by hand', remove(allocators(scene, 'scrape')), LONG_MS],
        [
          'alice',
          'change its allocator by hand',
          change(allocators(scene, 'scrape'), { spec: { replicas: 3 } }),
          LONG_MS,
        ],
        [
          'bob',
          'scale its deployment by hand',
          change(at('deployments', 'scrape-targetallocator'), withReplicas(0)),
          LONG_MS,
        ],
        ['carol', 'delete a pod by hand', remove(at('pods', 'scrape-collector-0')), LONG_MS],
        ['alice', 'no allocator', change(scrape, { spec: { targetAllocator: { enabled: false } } }), LONG_MS],
        ['bob', 'delete collector scrape in the foreground', remove(scrape, 'Foreground'), LONG_MS],
      )
    },
  },
  {
    name: 'xc-enriched',
    play: async (scene) => {
      const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
      const binding = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
      const { at, name } = scene
      const rich = collectors(scene, 'rich')
      const made = collector('rich', 'deployment', { config: config(otlp(4317), { k8sattributes: {} }) })
      await inTurn(
        scene,
        ['alice', 'create collector rich', make(collectors(scene), made), LONG_MS],
        [
          'bob',
          'detect more',
          change(
            rich,
            withConfig(
              config(otlp(4317), { k8sattributes: {}, resourcedetection: { detectors: ['k8snode'] } }),
            ),
          ),
          LONG_MS,
        ],
        ['carol', 'delete its role binding by hand', remove(`${binding}/rich-${name}-collector`), LONG_MS],
        ['alice', 'label it', change(rich, withLabels({ tier: 'gold' })), LONG_MS],
        [
          'bob',
          'change its role by hand',
          change(`${role}/rich-${name}-cluster-role`, { rules: [] }),
          LONG_MS,
        ],
        ['carol', 'image 2', change(rich, { spec: { image: 'c:2' } }), LONG_MS],
        [
          'alice',
          'create a bridge',
          make(bridges(scene), {
            ...{ apiVersion: OTHERS, kind: 'OpAMPBridge', metadata: { name: 'bridge' } },
            spec: {
              ...{ endpoint: 'ws://opamp:4320/v1/opamp', replicas: 1, image: 'b:1', upgradeStrategy: 'none' },
              capabilities: { ReportsStatus: true },
            },
          }),
          LONG_MS,
        ],
        [
          'bob',
          'let it report more',
          change(bridges(scene, 'bridge'), { spec: { capabilities: { ReportsHealth: true } } }),
          LONG_MS,
        ],
        ['carol', 'leave rich alone', change(rich, { spec: { managementState: 'unmanaged' } }), LONG_MS],
        [
          'alice',
          'scale by hand, left alone',
          change(at('deployments', 'rich-collector'), withReplicas(4)),
          LONG_MS,
        ],
        ['bob', 'look after rich again', change(rich, { spec: { managementState: 'managed' } }), LONG_MS],
        ['carol', 'delete the bridge', remove(bridges(scene, 'bridge')), LONG_MS],
        ['alice', 'delete collector rich', remove(rich), LONG_MS],
      )
    },
  },
]
