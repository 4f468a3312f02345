import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { eventually } from '../../../lab/harness/eventually.ts'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'

const FOLDER = fileURLToPath(new URL('../../../examples/kubernetes/', import.meta.url))
const LONGEST_START_MS = 300_000
const LONGEST_WAIT_MS = 60_000

const file = (name: string): string => join(FOLDER, name)
const run = promisify(execFile)

interface Rule {
  apiGroups: string[]
  resources: string[]
  verbs: string[]
}

interface Role {
  kind: string
  rules: Rule[]
}

const over = new AsyncDisposableStack()
let cluster: Cluster
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(process.env['CAUSEWAY_INTEROP_DIRECTORY'] ?? tmpdir(), 'deploying-'))
  over.defer(() => rm(directory, { recursive: true, force: true }))
  const auditPolicy = readFileSync(file('audit-policy.yaml'), 'utf8')
  const users = { alice: ['developers'] }
  cluster = over.use(await Cluster.start(join(directory, 'cluster'), { nodes: 1, users, auditPolicy }))
  await cluster.kubectl('alice', 'apply', '-f', file('causeway.yaml'), '-f', file('cluster-role.yaml'))
  await cluster.kubectl('alice', 'apply', '-f', file('admission.yaml'))
}, LONGEST_START_MS)

afterAll(() => over.disposeAsync(), 90_000)

describe('what is applied', () => {
  test('is taken as it is, and nothing of it is unknown to the API server', async () => {
    const names = ['causeway.yaml', 'cluster-role.yaml', 'admission.yaml'].flatMap((name) => [
      '-f',
      file(name),
    ])
    const strict = ['--dry-run=server', '--validate=strict', ...names]
    const said = await cluster.kubectl('alice', 'apply', ...strict)
    expect(
      said
        .trim()
        .split('\n')
        .map((line) => line.replace(/^\S+ (\S+) .*/, '$1')),
    ).toEqual(Array.from({ length: 9 }, () => 'unchanged'))
  })

  test('takes in admission and the audit log where their marks are taken away', async () => {
    const marked = await readFile(file('causeway.yaml'), 'utf8')
    for (const marks of [['# admission: '], ['# admission: ', '# audit: ']]) {
      const path = join(directory, 'marked.yaml')
      await writeFile(
        path,
        marks.reduce((text, mark) => text.replaceAll(mark, ''), marked),
      )
      const said = await cluster.kubectl(
        'alice',
        'apply',
        '--dry-run=server',
        '--validate=strict',
        '-f',
        path,
      )
      expect(said).toContain('deployment.apps/causeway configured')
    }
  })

  test('lets Causeway list and watch what it names, and do nothing else', async () => {
    const { api } = await cluster.account('causeway', 'causeway')
    // The API server takes the role in by a watch of its own.
    await eventually(() => api.get('/api/v1/nodes?limit=1'), LONGEST_WAIT_MS)
    const role = parseAllDocuments(await readFile(file('cluster-role.yaml'), 'utf8'))
      .map((document) => document.toJS() as Role)
      .find(({ kind }) => kind === 'ClusterRole')
    for (const { apiGroups, resources, verbs } of role?.rules ?? []) {
      expect(verbs).toEqual(['list', 'watch'])
      for (const group of apiGroups)
        for (const resource of resources) await api.get(`${await pathOf(group)}/${resource}?limit=1`)
    }
    await expect(api.get('/api/v1/secrets')).rejects.toThrow('answered 403')
    await expect(api.get('/api/v1/configmaps')).rejects.toThrow('answered 403')
    const namespace = '/api/v1/namespaces/causeway'
    await expect(api.get(`${namespace}/services/causeway`)).rejects.toThrow('answered 403')
    await expect(api.patch(`${namespace}/services/causeway`, {})).rejects.toThrow('answered 403')
    await expect(api.delete(`${namespace}/services/causeway`)).rejects.toThrow('answered 403')
  })

  test('writes where nobody records, since Causeway is not there: the webhook stops nobody', async () => {
    await cluster.kubectl('alice', 'create', 'deployment', 'web', '--image=nginx:1')
    await cluster.kubectl('alice', 'rollout', 'status', 'deployment/web', '--timeout=60s')
  })
})

test('the script makes a certificate, keeps it, and has the API server trust it', async () => {
  const path = join(directory, 'kubectl')
  await writeFile(path, `#!/bin/sh\nexec '${cluster.program('kubectl')}' "$@"\n`)
  await chmod(path, 0o755)
  const env = {
    ...process.env,
    KUBECONFIG: cluster.kubeconfig('alice'),
    PATH: [directory, process.env['PATH'] ?? ''].join(delimiter),
  }
  await run(file('admission-certificate.sh'), { env })
  const { data } = await cluster
    .api()
    .get<{ data: Record<string, string> }>('/api/v1/namespaces/causeway/secrets/causeway-admission')
  const { webhooks } = await cluster
    .api()
    .get<{ webhooks: { clientConfig: { caBundle: string } }[] }>(
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/causeway',
    )
  expect(webhooks.map(({ clientConfig }) => clientConfig.caBundle)).toEqual([data['tls.crt']])
})

test('the audit policy tells who wrote which version, and nothing of what is read, secret or only renewed', async () => {
  await cluster.kubectl('alice', 'create', 'secret', 'generic', 'hidden', '--from-literal=word=c2VjcmV0')
  await cluster.kubectl('alice', 'get', 'pods')
  await cluster.kubectl('alice', 'create', 'service', 'clusterip', 'last', '--tcp=80')
  interface Line {
    verb: string
    objectRef?: { resource: string; name?: string }
    user: { username: string }
    responseObject?: { metadata: { resourceVersion?: string; managedFields?: object } }
    requestObject?: object
  }
  const lines = await eventually(() => {
    const all = readFileSync(cluster.auditLog, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
    expect(all.map(({ objectRef }) => objectRef?.name)).toContain('last')
    return all
  }, LONGEST_WAIT_MS)
  const about = (resource: string): Line[] =>
    lines.filter(({ objectRef }) => objectRef?.resource === resource)
  expect(about('services').at(-1)).toMatchObject({
    verb: 'create',
    user: { username: 'alice' },
    responseObject: { metadata: { resourceVersion: expect.stringMatching(/^\d+$/) } },
  })
  expect(about('services').at(-1)?.responseObject?.metadata.managedFields).toBeUndefined()
  expect(
    about('secrets').map(({ requestObject, responseObject }) => [requestObject, responseObject]),
  ).toContainEqual([undefined, undefined])
  expect(readFileSync(cluster.auditLog, 'utf8')).not.toContain('c2VjcmV0')
  expect(about('leases')).toEqual([])
  expect(about('events')).toEqual([])
  expect(lines.filter(({ verb }) => ['get', 'list', 'watch'].includes(verb))).toEqual([])
})

/** The path of a group, in the version that the API server prefers. */
async function pathOf(group: string): Promise<string> {
  if (group === '') return '/api/v1'
  const { preferredVersion } = await cluster
    .api()
    .get<{ preferredVersion: { groupVersion: string } }>(`/apis/${group}`)
  return `/apis/${preferredVersion.groupVersion}`
}
