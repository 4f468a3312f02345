import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { Authority } from '../../../lab/harness/certificates.ts'
import { freePort } from '../../../lab/harness/free-ports.ts'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { WriteQueue } from '../../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../../src/kube/objects/audit-events.ts'
import type { AuditedRequest, ClusterWrite, Observation } from '../../../src/model/kubernetes-observations.ts'
import { startReceiver as startAdmission } from '../../../src/receiver/k8s-admission/start-k8s-admission.ts'
import { startReceiver as startObjects } from '../../../src/receiver/k8s-objects/start-k8s-objects.ts'
import { SourceHost } from '../../receiver/support/source-host.ts'
import { sceneTest } from '../support/scene.ts'

const SECOND_NS = 1_000_000_000n

const ACTORS = ['alice', 'admin', 'kwok', 'kube-scheduler', 'deployment-controller', 'replicaset-controller']

/** What an audit log has told so far; its last line may still be being written. */
function auditedIn(path: string): AuditedRequest[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.flatMap((line) => {
    const read = readAuditEvent(JSON.parse(line) as JsonObject)
    return typeof read === 'string' ? [] : [read]
  })
}

/** The writes of a namespace, by object and version, as they are known by what was told. */
function writesOf(told: readonly Observation[], isAudited: boolean): Map<string, ClusterWrite> {
  const line = new WriteQueue({
    windowNs: 3n * SECOND_NS,
    whoWaitNs: 2n * SECOND_NS,
    isWatched: true,
    isAudited,
  })
  const writes: ClusterWrite[] = []
  for (const one of [...told].sort((first, other) => (first.seenNs < other.seenNs ? -1 : 1))) {
    line.add(one, one.seenNs)
    writes.push(...line.takeDue(one.seenNs))
  }
  writes.push(...line.takeDue(2n ** 62n))
  const inNamespace = writes.filter(
    ({ object, version }) => object.namespace === 'shop' && version !== undefined,
  )
  return new Map(inNamespace.map((write) => [`${write.object.uid} ${write.version}`, write]))
}

sceneTest('admission tells of a real rollout who wrote what, as the audit log does', async (scene) => {
  const [host, port] = [new SourceHost(), await freePort()]
  const authority = new Authority('an authority of a webhook')
  const { cert, key } = authority.issue()
  const [certFile, keyFile] = [join(scene.directory, 'cert.pem'), join(scene.directory, 'key.pem')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  const tls = {
    certFile,
    keyFile,
    reloadIntervalMs: 0,
    minVersion: 'TLSv1.2' as const,
    cipherSuites: [],
    curves: [],
  }
  const common = { signals: ['traces' as const], listeners: [] }
  const settings = { cluster: 'test', host: '127.0.0.1', port, maxBytes: 8_388_608, tls }
  scene.use(
    await startAdmission({ ...common, id: 'k8s_admission', type: 'k8s_admission', settings }, host.of()),
  )
  const cluster = scene.use(
    await Cluster.start(join(scene.directory, 'cluster'), {
      users: { alice: ['developers'] },
      auditLevel: 'RequestResponse',
    }),
  )
  await cluster.api().create('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'causeway' },
    webhooks: [
      {
        ...{ name: 'record.causeway.io', admissionReviewVersions: ['v1'], sideEffects: 'None' },
        ...{ failurePolicy: 'Ignore', timeoutSeconds: 30, matchPolicy: 'Equivalent' },
        clientConfig: {
          url: `https://localhost:${port}/admit`,
          caBundle: Buffer.from(authority.cert).toString('base64'),
        },
        rules: [
          {
            ...{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], scope: '*' },
            operations: ['CREATE', 'UPDATE', 'DELETE'],
          },
        ],
      },
    ],
  })
  const asked = { cluster: 'test', authType: 'kubeConfig' as const, kubeconfig: cluster.kubeconfig('admin') }
  const watching = { ...asked, objects: [], namespaces: [], discoveryIntervalMs: 30_000 }
  scene.use(
    await startObjects({ ...common, id: 'k8s_objects', type: 'k8s_objects', settings: watching }, host.of()),
  )
  const watched = (resource: string): number =>
    host.store.told.filter((one) => one.source === 'watch' && one.object.resource === resource).length
  await scene.eventually(() => expect(watched('nodes')).toBeGreaterThan(2))
  // An API server that has just started may not name every resource at the first discovery.
  await cluster.kubectl('admin', 'create', 'deployment', 'watched', '--image=nginx:1', '--replicas=0')
  for (const resource of ['deployments', 'replicasets'])
    await scene.eventually(() => expect(watched(resource)).toBeGreaterThan(0))

  await cluster.kubectl('alice', 'create', 'namespace', 'shop')
  await cluster.kubectl(
    'alice',
    '-n',
    'shop',
    'create',
    'deployment',
    'web',
    '--image=nginx:1',
    '--replicas=3',
  )
  await cluster.kubectl('alice', '-n', 'shop', 'rollout', 'status', 'deployment/web', '--timeout=60s')
  await cluster.kubectl('admin', '-n', 'shop', 'scale', 'deployment/web', '--replicas=1')
  await cluster.kubectl('alice', '-n', 'shop', 'set', 'image', 'deployment/web', 'nginx=nginx:2')
  await cluster.kubectl('alice', '-n', 'shop', 'rollout', 'status', 'deployment/web', '--timeout=60s')
  await cluster.kubectl('alice', '-n', 'shop', 'delete', 'deployment', 'web')
  await scene.eventually(() => {
    const pods = host.store.told.filter((one) => one.source === 'watch' && one.object.resource === 'pods')
    const uids = (some: typeof pods): string[] => [...new Set(some.map(({ object }) => object.uid))].sort()
    const gone = uids(pods.filter((one) => one.source === 'watch' && one.gone))
    expect(gone.length).toBeGreaterThanOrEqual(4)
    expect(gone).toEqual(uids(pods))
  })

  // The watch, the log and admission tell each in its own time.
  await scene.eventually(() => {
    const seen = host.store.told.filter(({ source }) => source !== 'admission')
    const truth = writesOf([...seen, ...auditedIn(cluster.auditLog)], true)
    const found = writesOf(host.store.told, false)
    const named = [...truth].filter(([, { request }]) => request !== undefined)
    // How many writes there are depends on how many changes a controller finds at once; who made some does not.
    const actors = named.map(([, { request }]) => request?.actor.user.replace(/^system:(?:.*:)?/, ''))
    expect(actors).toEqual(expect.arrayContaining(ACTORS))
    const users = (writes: ReadonlyMap<string, ClusterWrite>): unknown =>
      named.map(([name, { object }]) => [object.resource, name, writes.get(name)?.request?.actor.user])
    expect(users(found)).toEqual(users(truth))
  })
  expect([host.unreadable, host.lost, host.troubles]).toEqual([0, 0, []])
})
