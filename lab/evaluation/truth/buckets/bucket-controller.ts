// A controller of a custom resource with a finalizer, as many are. It knows nothing of changes. It finds its cluster by KUBECONFIG.
import { setTimeout as pause } from 'node:timers/promises'
import { apiOfKubeconfig } from '../../../harness/kubernetes/api-of-kubeconfig.ts'
import type { WatchLine } from '../../../harness/kubernetes/kube-api.ts'
import { deployment } from '../manifests.ts'

const API_VERSION = 'storage.example.com/v1'
const FINALIZER = 'storage.example.com/bucket'
const USER_AGENT = 'bucket-operator/v1.4.0 (linux/amd64) kubernetes/$Format'
const AGAIN_MS = 1_000

interface Metadata {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly finalizers?: readonly string[]
  readonly deletionTimestamp?: string
  readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[]
}

interface Bucket {
  readonly metadata: Metadata
  readonly spec: { readonly replicas: number; readonly emptiedInMs: number }
  readonly status?: object
}

const api = apiOfKubeconfig(process.env['KUBECONFIG'] ?? '', USER_AGENT)

const bucketAt = (namespace: string, name: string): string =>
  `/apis/${API_VERSION}/namespaces/${namespace}/buckets/${name}`
const deploymentsAt = (namespace: string): string => `/apis/apps/v1/namespaces/${namespace}/deployments`
const policiesAt = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const policyOf = ({ metadata }: Bucket): string => `${metadata.name}-policy`
/** What is of the whole cluster nobody in a namespace can own. */
const roleOf = ({ metadata: { namespace, name } }: Bucket): string => `${namespace}-${name}`

const unlessGone = (error: unknown): undefined => {
  if (!String(error).includes('is answered 404')) throw error
}
const unlessThere = (error: unknown): undefined => {
  if (!String(error).includes('is answered 409')) throw error
}

async function reconcile(namespace: string, name: string): Promise<void> {
  const bucket = await api.get<Bucket>(bucketAt(namespace, name)).catch(unlessGone)
  if (bucket === undefined) return
  const { metadata } = bucket
  const { finalizers = [] } = metadata
  const isHeld = finalizers.includes(FINALIZER)
  if (metadata.deletionTimestamp !== undefined) return isHeld ? letGo(bucket) : undefined
  if (!isHeld) {
    const held = { ...bucket, metadata: { ...metadata, finalizers: [...finalizers, FINALIZER] } }
    await api.replace(bucketAt(namespace, name), held)
    return
  }
  await keep(bucket)
}

async function keep(bucket: Bucket): Promise<void> {
  const { name, namespace, uid } = bucket.metadata
  const { replicas } = bucket.spec
  const labels = { app: name }
  await api.create(policiesAt(namespace), { metadata: { name: policyOf(bucket), labels } }).catch(unlessThere)
  const rules = [{ apiGroups: ['storage.example.com'], resources: ['buckets'], verbs: ['get'] }]
  await api.create(ROLES, { metadata: { name: roleOf(bucket), labels }, rules }).catch(unlessThere)
  const path = `${deploymentsAt(namespace)}/${name}`
  const there = await api.get<{ spec: object; status: { readyReplicas?: number } }>(path).catch(unlessGone)
  if (there === undefined) {
    const wanted = deployment(name, { replicas }) as { metadata: object }
    const owner = { apiVersion: API_VERSION, kind: 'Bucket', name, uid, controller: true }
    const metadata = { ...wanted.metadata, ownerReferences: [owner] }
    await api.create(deploymentsAt(namespace), { ...wanted, metadata })
  } else if ((there.spec as { replicas: number }).replicas !== replicas) {
    await api.replace(path, { ...there, spec: { ...there.spec, replicas } })
  }
  await say(bucket, { phase: 'Ready', readyReplicas: there?.status.readyReplicas ?? 0 })
}

/** What nobody would take away for it. */
async function letGo(bucket: Bucket): Promise<void> {
  const { name, namespace } = bucket.metadata
  await say(bucket, { phase: 'Emptying' })
  const policy = `${policiesAt(namespace)}/${policyOf(bucket)}`
  await api.patch(policy, { data: { mode: 'read-only' } }).catch(unlessGone)
  await pause(bucket.spec.emptiedInMs)
  await api.delete(policy).catch(unlessGone)
  await api.delete(`${ROLES}/${roleOf(bucket)}`).catch(unlessGone)
  const empty = await api.get<Bucket>(bucketAt(namespace, name))
  const finalizers = empty.metadata.finalizers?.filter((one) => one !== FINALIZER)
  await api.replace(bucketAt(namespace, name), { ...empty, metadata: { ...empty.metadata, finalizers } })
}

async function say(bucket: Bucket, status: object): Promise<void> {
  if (JSON.stringify(bucket.status) === JSON.stringify(status)) return
  const { name, namespace } = bucket.metadata
  await api.replace(`${bucketAt(namespace, name)}/status`, { ...bucket, status })
}

/** Keys that are worked on, and whether they have to be again. */
const going = new Map<string, boolean>()

function wake(key: string): void {
  const isGoing = going.has(key)
  going.set(key, isGoing)
  if (!isGoing) void work(key)
}

async function work(key: string): Promise<void> {
  const [namespace = '', name = ''] = key.split('/')
  do {
    going.set(key, false)
    await reconcile(namespace, name).catch(async () => {
      await pause(AGAIN_MS)
      going.set(key, true)
    })
  } while (going.get(key) === true)
  going.delete(key)
}

const follow = (path: string, keyOf: (metadata: Metadata) => string | undefined): Promise<void> =>
  api.watch(
    `${path}?watch=true`,
    ({ object }: WatchLine) => {
      const key = keyOf((object as Bucket).metadata)
      if (key !== undefined) wake(key)
    },
    new AbortController().signal,
  )

await Promise.all([
  follow(`/apis/${API_VERSION}/buckets`, ({ namespace, name }) => `${namespace}/${name}`),
  follow('/apis/apps/v1/deployments', ({ namespace, ownerReferences = [] }) => {
    const owner = ownerReferences.find(({ kind }) => kind === 'Bucket')
    return owner && `${namespace}/${owner.name}`
  }),
])
