import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { parse, parseAllDocuments } from 'yaml'
import { COMPONENTS } from '../../src/app/components.ts'
import { loadConfig } from '../../src/config/load-config.ts'

type Manifest = Record<string, unknown> & { kind: string }

const FOLDER = new URL('../../examples/kubernetes/', import.meta.url)
const RECEIVER_PORT = 4317

function readManifests(name: string): Manifest[] {
  const documents = parseAllDocuments(readFileSync(new URL(name, FOLDER), 'utf8'))
  return documents.map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS() as Manifest
  })
}

interface Service {
  spec: { clusterIP: string; selector: object; ports: { name: string; port: number; targetPort: string }[] }
}

interface Probe {
  httpGet: { path: string; port: string }
}

interface Deployment {
  spec: {
    replicas: number
    strategy: { type: string }
    selector: { matchLabels: object }
    template: {
      metadata: { labels: object }
      spec: {
        terminationGracePeriodSeconds: number
        containers: {
          args: string[]
          ports: { name: string; containerPort: number }[]
          startupProbe: Probe
          readinessProbe: Probe
          livenessProbe: Probe
          volumeMounts: { name: string; mountPath: string }[]
        }[]
        volumes: { name: string; configMap?: { name: string } }[]
      }
    }
  }
}

interface ConfigMap {
  metadata: { name: string }
  data: Record<string, string>
}

interface Kinds {
  ConfigMap: ConfigMap
  Deployment: Deployment
  Service: Service
}

function ofKind<K extends keyof Kinds>(kind: K): Kinds[K] {
  const found: unknown = readManifests('causeway.yaml').find((manifest) => manifest.kind === kind)
  return found as Kinds[K]
}

const container = () => ofKind('Deployment').spec.template.spec.containers[0]!

function shippedConfig() {
  const { data } = ofKind('ConfigMap')
  return loadConfig(
    { sources: ['shipped'], sets: [], env: {}, readFile: () => data['otel-config.yaml'] ?? '' },
    COMPONENTS,
  )
}

test('the API server is given a TracingConfiguration with the documented fields and no others', () => {
  expect(readManifests('tracing-configuration.yaml')).toEqual([
    {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'TracingConfiguration',
      endpoint: expect.any(String),
      samplingRatePerMillion: expect.any(Number),
    },
  ])
})

test('the kubelet is given a KubeletConfiguration with the documented tracing fields and no others', () => {
  expect(readManifests('kubelet-configuration.yaml')).toEqual([
    {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      tracing: { endpoint: expect.any(String), samplingRatePerMillion: expect.any(Number) },
    },
  ])
})

test('both send a share that Kubernetes accepts to the gRPC port of the Service', () => {
  const [apiServer] = readManifests('tracing-configuration.yaml')
  const [kubelet] = readManifests('kubelet-configuration.yaml')
  for (const tracing of [apiServer, kubelet?.['tracing']] as Record<string, unknown>[]) {
    expect(tracing['endpoint']).toBe(`${ofKind('Service').spec.clusterIP}:${RECEIVER_PORT}`)
    const share = tracing['samplingRatePerMillion'] as number
    expect(Number.isInteger(share) && share > 0 && share <= 1_000_000).toBe(true)
  }
})

test('the ConfigMap holds a configuration that Causeway takes', () => {
  const { config, warnings } = shippedConfig()
  // It listens for the whole cluster and holds no secret; the README says how to close it.
  expect(warnings).toEqual(Array.from({ length: 3 }, () => expect.stringContaining('ANYBODY')))
  expect(config.pipelines.outTraces).toEqual(['otlp_grpc/jaeger'])
})

test.each([['# admission: '], ['# audit: '], ['# admission: ', '# audit: ']])(
  'with what %s stands before, it is whole, and Causeway takes that too',
  (...marks) => {
    const text = marks.reduce(
      (all, mark) => all.replaceAll(mark, ''),
      readFileSync(new URL('causeway.yaml', FOLDER), 'utf8'),
    )
    const manifests = parseAllDocuments(text).map((document) => {
      expect(document.errors).toEqual([])
      return document.toJS() as unknown
    }) as [object, ConfigMap, object, Deployment, Service]
    const [, { data }, , deployment, service] = manifests
    const { config } = loadConfig(
      { sources: ['marked'], sets: [], env: {}, readFile: () => data['otel-config.yaml'] ?? '' },
      COMPONENTS,
    )
    const { containers, volumes } = deployment.spec.template.spec
    const [{ volumeMounts, ports } = { volumeMounts: [], ports: [] }] = containers
    const receivers = config.receivers.map(({ id }) => id)
    expect(receivers).toContain('k8s_objects')
    for (const mark of marks) {
      const name = mark.slice(2, -2)
      expect(receivers).toContain(`k8s_${name}`)
      expect(config.receivers.find(({ id }) => id === `k8s_${name}`)?.signals).toEqual(['traces'])
      expect(volumeMounts.map((mount) => mount.name)).toContain(name)
    }
    expect(volumes.map((volume) => volume.name).sort()).toEqual(volumeMounts.map(({ name }) => name).sort())
    const portNames = ports.map((port) => port.name)
    for (const { targetPort } of service.spec.ports) expect(portNames).toContain(targetPort)
    expect(portNames.includes('admission')).toBe(marks.includes('# admission: '))
  },
)

test('beside a cluster of kind it reads the log that kind.yaml has the API server write', () => {
  const source = 'beside.yaml'
  const { config, warnings } = loadConfig(
    { sources: [source], sets: [], env: {}, readFile: () => readFileSync(new URL(source, FOLDER), 'utf8') },
    COMPONENTS,
  )
  expect(warnings).toEqual([])
  const [kind] = readManifests('kind.yaml') as unknown as [
    {
      nodes: { extraMounts: { hostPath: string; containerPath: string }[]; kubeadmConfigPatches: string[] }[]
    },
  ]
  const [{ extraMounts, kubeadmConfigPatches } = { extraMounts: [], kubeadmConfigPatches: [] }] = kind.nodes
  const { apiServer } = parse(kubeadmConfigPatches[0] ?? '') as {
    apiServer: { extraArgs: Record<string, string> }
  }
  const mount = extraMounts.find(({ containerPath }) =>
    apiServer.extraArgs['audit-log-path']?.startsWith(`${containerPath}/`),
  )
  const audit = config.receivers.find(({ id }) => id === 'k8s_audit')?.settings
  expect(audit).toMatchObject({
    log: { path: `examples/kubernetes/${mount?.hostPath.slice(2) ?? ''}/audit.log` },
  })
})

test('it watches what its ClusterRole lets it, and no more is let to it than that and Events', () => {
  const role = readManifests('cluster-role.yaml').find(({ kind }) => kind === 'ClusterRole')
  const rules = role?.['rules'] as { apiGroups: string[]; resources: string[] }[]
  const { receivers } = parse(ofKind('ConfigMap').data['otel-config.yaml'] ?? '') as {
    receivers: { k8s_objects: { objects: { name: string; group?: string }[] } }
  }
  const watched = receivers.k8s_objects.objects.map(({ name, group = '' }) => `${group}/${name}`)
  const allowed = rules.flatMap(({ apiGroups: [group = ''], resources }) =>
    resources.map((name) => `${group}/${name}`),
  )
  expect(allowed.filter((one) => one !== 'events.k8s.io/events').sort()).toEqual(watched.sort())
})

test('everything in the Pod listens on all addresses, on the ports the Deployment declares', () => {
  const { receivers, extensions, telemetry } = shippedConfig().config
  const all = [...receivers, ...extensions].flatMap((component) => component.listeners)
  const called = (wanted: string) => all.find(({ what }) => what === wanted)
  const listeners = [
    ['otlp-grpc', called('OTLP/gRPC')],
    ['otlp-http', called('OTLP/HTTP')],
    ['query', called('query API')],
    ['metrics', telemetry.metrics],
    ['health', called('health check')],
  ] as const
  expect(all).toHaveLength(listeners.length - 1)
  expect(container().ports).toEqual(
    listeners.map(([name, listener]) => ({ name, containerPort: listener?.port })),
  )
  for (const [, listener] of listeners) expect(listener?.host).toBe('0.0.0.0')
})

test('the Service reaches the Pod by ports that it has', () => {
  const { selector, ports } = ofKind('Service').spec
  const { template, ...rest } = ofKind('Deployment').spec
  expect(template.metadata.labels).toEqual(selector)
  expect(rest.selector.matchLabels).toEqual(selector)
  const declared = new Map(container().ports.map(({ name, containerPort }) => [name, containerPort]))
  for (const { port, targetPort } of ports) expect(declared.get(targetPort)).toBe(port)
})

test('one process at a time owns the database, which is on the volume', () => {
  const { replicas, strategy } = ofKind('Deployment').spec
  expect([replicas, strategy.type]).toEqual([1, 'Recreate'])
  const data = container().volumeMounts.find(({ name }) => name === 'data')
  expect(shippedConfig().config.cpid.storage.path).toBe(`${data?.mountPath ?? ''}/causeway.db`)
})

test('the container reads the ConfigMap and is asked where the health check answers', () => {
  const { spec } = ofKind('Deployment').spec.template
  const config = container().volumeMounts.find(({ name }) => name === 'config')
  expect(container().args).toEqual(['--config', `${config?.mountPath ?? ''}/otel-config.yaml`])
  const volume = spec.volumes.find(({ name }) => name === 'config')
  expect(volume?.configMap?.name).toBe(ofKind('ConfigMap').metadata.name)
  const { path, port } = container().readinessProbe.httpGet
  const asked = shippedConfig().config.extensions.flatMap(({ listeners }) => listeners)
  expect(port).toBe('health')
  expect(asked.find(({ what }) => what === 'health check')?.page?.path).toBe(path)
})

test('a fault of the disk takes the Pod out of the Service and does not restart it', () => {
  const { startupProbe, livenessProbe, readinessProbe } = container()
  expect(readinessProbe.httpGet.port).toBe('health')
  for (const { httpGet } of [startupProbe, livenessProbe]) {
    expect(httpGet).toEqual({ path: '/metrics', port: 'metrics' })
  }
})

test('the Pod has longer to end than the ten seconds that Causeway may take', () => {
  expect(ofKind('Deployment').spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(10)
})

test('the README explains every field', () => {
  const readme = readFileSync(new URL('README.md', FOLDER), 'utf8')
  for (const field of ['apiVersion', 'endpoint', 'samplingRatePerMillion']) {
    expect(readme).toMatch(new RegExp(`^\\| \`${field}\` +\\|`, 'm'))
  }
})
