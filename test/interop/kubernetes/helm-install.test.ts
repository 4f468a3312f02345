import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { readFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { BIN } from '../../../lab/harness/causeway/causeway-process.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { CHART, configIn, Helm, objectsIn, ofKind, SAID, valuesOf, type Rendered } from './support/helm.ts'

/** Modules of Go that hold what the options need of other programs: their kinds of objects. */
const DEFINITIONS = [
  [
    'github.com/prometheus-operator/prometheus-operator@v0.77.2',
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
  ],
  ['github.com/cert-manager/cert-manager@v1.11.5', 'deploy/crds/crd-certificates.yaml'],
  ['github.com/cert-manager/cert-manager@v1.11.5', 'deploy/crds/crd-issuers.yaml'],
] as const
const LONGEST_START_MS = 300_000
const LONGEST_WAIT_MS = 60_000

const run = promisify(execFile)
const over = new AsyncDisposableStack()
let cluster: Cluster
let helm: Helm
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(process.env['CAUSEWAY_INTEROP_DIRECTORY'] ?? tmpdir(), 'installing-'))
  over.defer(() => rm(directory, { recursive: true, force: true }))
  cluster = over.use(await Cluster.start(join(directory, 'cluster'), { nodes: 1, users: { alice: [] } }))
  helm = await Helm.open(directory, cluster.kubeconfig('alice'))
  for (const [module, path] of DEFINITIONS) await define(module, path)
  await cluster.kubectl('alice', 'label', 'node', 'node-1', 'node-role.kubernetes.io/control-plane=')
  for (const namespace of ['shop', 'till']) await cluster.kubectl('alice', 'create', 'namespace', namespace)
}, LONGEST_START_MS)

afterAll(() => over.disposeAsync(), 90_000)

test.each(SAID)('with %s, the API server takes every object, and the Pod runs', async (said) => {
  const namespace = `with-${said}`
  const about = [said, CHART, '--namespace', namespace, '--values', valuesOf(said)]
  await volume(namespace, said === 'everything' ? 'fast' : '')
  const notes = await helm.run('install', ...about, '--create-namespace')
  expect(notes).toContain(`kubectl -n ${namespace} rollout status statefulset/`)
  const manifest = await helm.run('get', 'manifest', said, '--namespace', namespace)
  const objects = objectsIn(manifest)
  // What the API server does not know of an object it would only warn of.
  const path = join(directory, `${said}.yaml`)
  await writeFile(path, manifest)
  const strict = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict']
  const taken = await cluster.kubectl('alice', ...strict, '-f', path)
  expect(taken.trim().split('\n')).toHaveLength(objects.length)
  const [{ metadata }] = ofKind(objects, 'StatefulSet') as [Rendered]
  const waiting = ['rollout', 'status', `statefulset/${metadata.name}`, '--timeout=60s']
  await cluster.kubectl('alice', '-n', namespace, ...waiting)
  await helm.run('uninstall', said, '--namespace', namespace)
})

test('Causeway, who it is then and with that configuration, may list and watch all that it wants', async () => {
  await helm.run('install', 'least', CHART, '-n', 'causeway', '--create-namespace', '-f', valuesOf('least'))
  const objects = objectsIn(await helm.run('get', 'manifest', 'least', '-n', 'causeway'))
  const [{ metadata }] = ofKind(objects, 'ServiceAccount') as [Rendered]
  const { kubeconfig, api } = await cluster.account('causeway', metadata.name)
  // The API server takes the role in by a watch of its own.
  await eventually(() => api.get('/api/v1/nodes?limit=1'), LONGEST_WAIT_MS)
  await expect(api.get('/api/v1/secrets')).rejects.toThrow('answered 403')
  const path = join(directory, 'least-config.yaml')
  await writeFile(path, configIn(objects))
  const access = { auth_type: 'kubeConfig', kubeconfig }
  const here = {
    receivers: { k8s_objects: access, k8s_events: access },
    connectors: { cpid: { storage: { path: join(directory, 'least.db') } } },
  }
  const args = [BIN, 'doctor', '--config', path, '--config', `yaml:${stringify(here)}`]
  const { stdout } = await run(process.execPath, args).catch((error: unknown) => error as { stdout: string })
  expect(stdout).toContain('k8s_objects may list and watch all 20 resources')
  expect(stdout).toContain('k8s_events may list and watch the Events')
})

test('an upgrade keeps the certificate that was made, and a configuration that changed starts the Pod anew', async () => {
  const about = ['kept', CHART, '--namespace', 'kept', '--values', valuesOf('least')]
  const admission = ['--set', 'admission.enabled=true']
  const made = async (): Promise<(string | undefined)[]> => {
    const objects = objectsIn(await helm.run('get', 'manifest', 'kept', '--namespace', 'kept'))
    const [secret] = ofKind(objects, 'Secret')
    const [webhook] = ofKind(objects, 'ValidatingWebhookConfiguration')
    return [secret?.data?.['tls.crt'], webhook?.webhooks?.[0]?.clientConfig.caBundle]
  }
  const podOf = (): Promise<string> =>
    cluster.kubectl('alice', '-n', 'kept', 'get', 'pod', 'kept-causeway-0', '-o', 'jsonpath={.metadata.uid}')
  await volume('kept', '')
  await helm.run('install', ...about, '--create-namespace', ...admission)
  await cluster.kubectl('alice', '-n', 'kept', 'rollout', 'status', 'statefulset/kept-causeway')
  const [before, pod] = [await made(), await podOf()]
  expect(before[0]).toBeDefined()
  expect(before[1]).toBe(before[0])
  await helm.run('upgrade', ...about, ...admission, '--set', 'config.connectors.cpid.linking.mode=links')
  await cluster.kubectl('alice', '-n', 'kept', 'rollout', 'status', 'statefulset/kept-causeway')
  expect(await made()).toEqual(before)
  expect(await podOf()).not.toBe(pod)
  await helm.run('uninstall', 'kept', '--namespace', 'kept')
})

/** Has the API server know the objects of another program, by its own definition. */
async function define(module: string, path: string): Promise<void> {
  const { stdout } = await run('go', ['mod', 'download', '-json', module], { cwd: directory })
  const { Dir } = JSON.parse(stdout) as { Dir: string }
  const [definition] = objectsIn(await readFile(join(Dir, path), 'utf8')) as [Rendered]
  // Labels are filled in by its own chart.
  const metadata = { ...definition.metadata, labels: {} }
  const file = join(directory, 'definition.json')
  await writeFile(file, JSON.stringify({ ...definition, metadata }))
  await cluster.kubectl('alice', 'create', '-f', file)
  const established = [
    'wait',
    '--for=condition=Established',
    `crd/${definition.metadata.name}`,
    '--timeout=60s',
  ]
  // kubectl waits for no object that has no conditions yet.
  await eventually(() => cluster.kubectl('alice', ...established), LONGEST_WAIT_MS)
}

/** A volume to be had: nobody makes any in this cluster. */
async function volume(name: string, storageClassName: string): Promise<void> {
  await cluster.api().create('/api/v1/persistentvolumes', {
    metadata: { name },
    spec: {
      storageClassName,
      capacity: { storage: '100Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/nowhere' },
    },
  })
}
