import { setTimeout as pause } from 'node:timers/promises'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { deployment, service } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const API_VERSION = 'storage.example.com/v1'
const AT_ONCE = 0
/** The finalizer of a slow one runs for longer than it takes to end all else of the namespace. */
const SLOWLY_MS = 12_000
/** The namespace controller looks again after longer and longer. */
const ENDED_MS = 15_000

const at = ({ name }: Scene, ...path: string[]): string =>
  [`/apis/${API_VERSION}/namespaces/${name}/buckets`, ...path].join('/')

const bucket = (name: string, { emptiedInMs = 500, finalizers = [] as string[] } = {}): object => ({
  ...{ apiVersion: API_VERSION, kind: 'Bucket' },
  metadata: { name, finalizers },
  spec: { replicas: 1, emptiedInMs },
})

const make =
  (scene: Scene, object: object) =>
  (api: KubeApi): Promise<unknown> =>
    api.create(at(scene), object)

const endNamespace =
  ({ name }: Scene) =>
  (api: KubeApi): Promise<unknown> =>
    api.delete(`/api/v1/namespaces/${name}`)

/** Stories for a cluster in which the controller of buckets runs. */
export const STORIES_WITH_BUCKETS: readonly Story[] = [
  {
    name: 'd1-ended',
    play: async (scene) => {
      const { step } = scene
      await step('alice', 'create bucket media', make(scene, bucket('media')))
      const two = { spec: { replicas: 2 } }
      await step('carol', 'give it two replicas', (api) => api.patch(at(scene, 'media'), two))
      await step('bob', 'delete the namespace', endNamespace(scene), ENDED_MS)
    },
  },
  {
    name: 'd2-several',
    play: async (scene) => {
      const { step, at: pathOf } = scene
      const web = deployment('web', { replicas: 2 })
      await step('alice', 'create bucket media', make(scene, bucket('media')))
      await step('carol', 'create bucket logs', make(scene, bucket('logs', { emptiedInMs: SLOWLY_MS })))
      await step('bob', 'create deployment web x2', (api) => api.create(pathOf('deployments'), web))
      await step('alice', 'create service web', (api) => api.create(pathOf('services'), service('web')))
      await step('carol', 'delete the namespace', endNamespace(scene), ENDED_MS)
    },
  },
  {
    name: 'd3-alone',
    play: async (scene) => {
      const { step } = scene
      await step('alice', 'create bucket media', make(scene, bucket('media')))
      await step('carol', 'delete bucket media', (api) => api.delete(at(scene, 'media')), ENDED_MS)
      await step('bob', 'create bucket logs', make(scene, bucket('logs', { emptiedInMs: SLOWLY_MS })))
      await step('alice', 'delete the namespace', endNamespace(scene), ENDED_MS)
    },
  },
  {
    name: 'd4-held',
    play: async (scene) => {
      const { step } = scene
      const held = bucket('held', { finalizers: ['example.com/by-hand'] })
      await step('alice', 'create bucket held', make(scene, held))
      await step('bob', 'delete the namespace, which stays', endNamespace(scene), ENDED_MS)
      const letGo = { metadata: { finalizers: null } }
      await step('carol', 'delete the finalizer', (api) => api.patch(at(scene, 'held'), letGo), ENDED_MS)
    },
  },
  {
    name: 'd5-before',
    play: async (scene) => {
      const { step } = scene
      const slow = bucket('media', { emptiedInMs: SLOWLY_MS })
      await step('alice', 'create bucket media', make(scene, slow))
      await step('bob', 'delete bucket media', (api) => api.delete(at(scene, 'media')), AT_ONCE)
      await pause(SLOWLY_MS / 4)
      await step('carol', 'delete the namespace while it goes', endNamespace(scene), ENDED_MS)
    },
  },
]
