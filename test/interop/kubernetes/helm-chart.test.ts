import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { BIN } from '../../../lab/harness/causeway/causeway-process.ts'
import { peerVersions } from '../../../lab/peers/peer-versions.ts'
import { allowed, CHART, configIn, Helm, objectsIn, ofKind, SAID, valuesOf } from './support/helm.ts'

const EXAMPLES = new URL('../../../examples/kubernetes/', import.meta.url)
const example = (name: string) => objectsIn(readFileSync(new URL(name, EXAMPLES), 'utf8'))
const named = ['--set', 'cluster=production,image.repository=registry.example.com/causeway']

let helm: Helm
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(process.env['CAUSEWAY_INTEROP_DIRECTORY'] ?? tmpdir(), 'chart-'))
  helm = await Helm.open(directory)
})

afterAll(() => rm(directory, { recursive: true, force: true }))

describe.each(SAID)('with %s', (said) => {
  test('helm has no complaint about the chart', async () => {
    const about = ['--strict', '--kube-version', peerVersions.kubectl, '--values', valuesOf(said)]
    expect(await helm.run('lint', CHART, ...about)).toContain('0 chart(s) failed')
  })

  test('Causeway takes the configuration that it makes', async () => {
    const path = join(directory, `${said}.yaml`)
    const chosen = ['--values', valuesOf(said), '--show-only', 'templates/configmap.yaml']
    const made = await helm.run(
      'template',
      'causeway',
      CHART,
      '--kube-version',
      peerVersions.kubectl,
      ...chosen,
    )
    // As docs/install.md does.
    const taken = `sed '1,/otel-config.yaml/d; s/^    //'`
    await writeFile(path, execFileSync('sh', ['-c', taken], { input: made }))
    const env = { ...process.env, CAUSEWAY_TOKEN: 'secret' }
    const { stderr } = await promisify(execFile)(process.execPath, [BIN, 'validate', '--config', path], {
      env,
    })
    // It listens for the whole cluster, and says so.
    expect(stderr.split('\n').filter((line) => line !== '' && !line.includes('ANYBODY'))).toEqual([])
  })
})

test('what is said of a configuration is laid over the default, and the ports follow', async () => {
  const objects = await helm.rendered('--values', valuesOf('sending'))
  expect(parse(configIn(objects))).toMatchObject({
    receivers: { otlp: { protocols: { grpc: { endpoint: '0.0.0.0:4317' } } } },
    connectors: { cpid: { linking: { mode: 'links', max_trace_spans: 1_000_000 } } },
    extensions: { cpid_query: { endpoint: '0.0.0.0:8080', write_timeout: '0s' } },
    service: { telemetry: { logs: { encoding: 'json', level: 'debug' } } },
  })
  expect(parse(configIn(objects))).not.toHaveProperty('receivers.otlp.protocols.http')
  const [service] = ofKind(objects, 'Service')
  expect(service?.spec?.ports?.map(({ name, port }) => [name, port])).toEqual([
    ['metrics', 8888],
    ['otlp-grpc', 4317],
    ['query', 8080],
  ])
})

const TEXTS =
  /\.(?:labels|annotations|matchLabels|selector|values|nodeSelector|path|namespace|[a-z]*name)(?:\.[^.]*)?$/i

/** The values below places that hold texts alone, by their places, and which are none. */
function noTexts(value: unknown, at: string): [string, unknown][] {
  if (typeof value === 'string') return []
  if (typeof value !== 'object' || value === null) return TEXTS.test(at) ? [[at, value]] : []
  return Object.entries(value).flatMap(([key, inner]) => noTexts(inner, `${at}.${key}`))
}

// Whatever YAML takes for a number, for nothing or for a truth.
test.each(['123', '1e3', '0x1f', '0o7', 'null', 'true', 'on', 'y'])(
  'names that read otherwise in YAML stay names: %s',
  async (name) => {
    const values = {
      ...{ cluster: name, image: { repository: 'registry.example.com/causeway', tag: name } },
      ...{ nameOverride: name, priorityClassName: name, serviceAccount: { name }, podLabels: { of: name } },
      ...{ admission: { enabled: true }, watch: { namespaces: [name] } },
      audit: { file: { enabled: true, path: `/${name}/${name}/log` } },
      certificate: { source: 'secret', secretName: name, caBundle: 'YQ==' },
      persistence: { storageClassName: name },
      ...{ networkPolicy: { enabled: true }, podDisruptionBudget: { enabled: true } },
    }
    const path = join(directory, `names-${name}.yaml`)
    await writeFile(path, JSON.stringify(values))
    const about = ['--kube-version', peerVersions.kubectl, '--namespace', name, '--values', path]
    const objects = objectsIn(await helm.run('template', name, CHART, ...about), '1.1')
    expect(objects.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['StatefulSet', 'Service', 'Role', 'NetworkPolicy', CONFIGURATION]),
    )
    expect(objects.flatMap((object) => noTexts(object, object.kind))).toEqual([])
    const config: unknown = parse(configIn(objects))
    expect(config).toMatchObject({ receivers: { k8s_objects: { cluster: name, namespaces: [name] } } })
  },
)

test.each([
  'watch.extraObjects',
  'watch.namespaces',
  'probes.startup',
  'probes.liveness',
  'probes.readiness',
  'networkPolicy.egress',
  'podSecurityContext.runAsUser',
  'tolerations',
])('what is null is as if nothing were said: %s', async (key) => {
  const objects = await helm.rendered(...named, '--set', `networkPolicy.enabled=true,${key}=null`)
  expect(ofKind(objects, 'StatefulSet')).toHaveLength(1)
})

test('a volume without a class can be asked for', async () => {
  const classOf = async (...said: string[]): Promise<unknown> => {
    const [set] = ofKind(await helm.rendered(...named, ...said), 'StatefulSet')
    return set?.spec?.volumeClaimTemplates?.[0]?.spec.storageClassName
  }
  expect(await classOf()).toBeUndefined()
  expect(await classOf('--set', 'persistence.storageClassName=')).toBe('')
})

test('where nobody is named nobody may send or ask', async () => {
  const rulesOf = async (...said: string[]): Promise<unknown> => {
    const [policy] = ofKind(
      await helm.rendered(...named, '--set', 'networkPolicy.enabled=true', ...said),
      'NetworkPolicy',
    )
    return policy?.spec?.ingress
  }
  expect(await rulesOf()).toEqual([
    {
      from: [{ namespaceSelector: {} }],
      ports: ['otlp-grpc', 'otlp-http', 'query'].map((port) => ({ port })),
    },
    { from: [{ namespaceSelector: {} }], ports: [{ port: 'metrics' }] },
  ])
  expect((await rulesOf('--set-json', 'networkPolicy.from=[],networkPolicy.metricsFrom=[]')) ?? []).toEqual(
    [],
  )
  const config = { receivers: { otlp: null }, extensions: { cpid_query: null } }
  expect(await rulesOf('--set-json', `config=${JSON.stringify(config)}`)).toEqual([
    { from: [{ namespaceSelector: {} }], ports: [{ port: 'metrics' }] },
  ])
})

test('a value that is false or 0 counts, and null takes a receiver away with the right to watch', async () => {
  const config = {
    receivers: { k8s_events: null },
    connectors: { cpid: { retention: { max_cpids: 0 } } },
    extensions: { cpid_query: { proxy_protocol: false } },
    service: { pipelines: { 'logs/in': { receivers: ['otlp'] } } },
  }
  const objects = await helm.rendered(...named, '--set-json', `config=${JSON.stringify(config)}`)
  const made: unknown = parse(configIn(objects))
  expect(made).toMatchObject({ connectors: config.connectors, extensions: config.extensions })
  expect(made).not.toHaveProperty('receivers.k8s_events')
  expect(ofKind(objects, 'ClusterRole')[0]?.rules?.flatMap(({ apiGroups }) => apiGroups)).not.toContain(
    'events.k8s.io',
  )
})

describe('the rights', () => {
  test('are those of the example, which docs/kubernetes.md asks for, over what the example watches', async () => {
    const objects = await helm.rendered(...named)
    const [role, ...others] = ofKind(objects, 'ClusterRole')
    expect(others).toEqual([])
    expect(allowed(role?.rules)).toEqual(
      allowed(ofKind(example('cluster-role.yaml'), 'ClusterRole')[0]?.rules),
    )
    const objectsOf = (config: string): unknown =>
      (parse(config) as { receivers: { k8s_objects: { objects: object[] } } }).receivers.k8s_objects.objects
    expect(objectsOf(configIn(objects))).toEqual(objectsOf(configIn(example('causeway.yaml'))))
  })

  test('grow with what is watched besides', async () => {
    const more = ['--set-json', 'watch.extraObjects=[{"name":"applications","group":"argoproj.io"}]']
    const [role] = ofKind(await helm.rendered(...named, ...more), 'ClusterRole')
    expect(allowed(role?.rules)).toEqual(expect.arrayContaining(['list argoproj.io/applications']))
  })

  test('are held in the namespaces that are named, and are none where nothing is watched', async () => {
    const inTwo = await helm.rendered('--values', valuesOf('namespaces'))
    expect(ofKind(inTwo, 'ClusterRole')).toEqual([])
    expect(ofKind(inTwo, 'Role').map(({ metadata }) => metadata.namespace)).toEqual(['shop', 'till'])
    expect(allowed(ofKind(inTwo, 'Role')[0]?.rules)).not.toEqual(expect.arrayContaining(['list /nodes']))
    const receiving = await helm.rendered('--values', valuesOf('receiving'))
    expect(receiving.filter(({ kind }) => kind.includes('Role'))).toEqual([])
  })
})

test('the webhook asks about what that of the example asks about', async () => {
  const [made] = ofKind(await helm.rendered(...named, '--set', 'admission.enabled=true'), CONFIGURATION)
  const [shown] = ofKind(example('admission.yaml'), CONFIGURATION)
  for (const key of ['rules', 'matchConditions'] as const)
    expect(made?.webhooks?.[0]?.[key]).toEqual(shown?.webhooks?.[0]?.[key])
})

test('the webhook asks about nothing outside of the namespaces that are watched', async () => {
  const chosen = ['--values', valuesOf('namespaces'), '--set', 'admission.enabled=true']
  const [made] = ofKind(await helm.rendered(...chosen), CONFIGURATION)
  expect(made?.webhooks).toMatchObject([
    {
      namespaceSelector: {
        matchExpressions: expect.arrayContaining([
          { key: 'kubernetes.io/metadata.name', operator: 'In', values: ['shop', 'till'] },
        ]),
      },
      rules: [{ scope: 'Namespaced' }],
    },
  ])
})

const CONFIGURATION = 'ValidatingWebhookConfiguration'

test.each([
  ['no cluster', ['--set', 'image.repository=a'], 'cluster: name the cluster that Causeway watches'],
  ['no image', ['--set', 'cluster=a'], 'image.repository: there is no published image; build one'],
  ['a tag in the name of the image', [...named, '--set', 'image.repository=a:5000/b:1'], '/image/repository'],
  ['a misspelt value', [...named, '--set', 'confg.a=b'], "additional properties 'confg' not allowed"],
  ['a size that cannot be divided', [...named, '--set', 'persistence.size=1Ti'], '/persistence/size'],
  [
    'a certificate of nobody',
    [...named, '--set', 'admission.enabled=true,certificate.source=secret'],
    'certificate.secretName: name the Secret',
  ],
])('%s is refused', async (_, args, complaint) => {
  await expect(helm.rendered(...args)).rejects.toThrow(complaint)
})
