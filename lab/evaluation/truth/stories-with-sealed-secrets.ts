import { constants, createCipheriv, publicEncrypt, randomBytes, X509Certificate } from 'node:crypto'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { eventually } from '../../harness/eventually.ts'
import { going } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const API_VERSION = 'bitnami.com/v1alpha1'
/** Where the controller keeps its keys: the namespace in which it runs. */
const KEYS =
  '/api/v1/namespaces/controllers/secrets?labelSelector=sealedsecrets.bitnami.com%2Fsealed-secrets-key%3Dactive'
const MANAGED = 'sealedsecrets.bitnami.com/managed'

interface Keys {
  readonly items: readonly { readonly data: { readonly 'tls.crt': string } }[]
}

const at = ({ name }: Scene, ...path: string[]): string =>
  [`/apis/${API_VERSION}/namespaces/${name}/sealedsecrets`, ...path].join('/')

/** As kubeseal does it: with a key for this once, which only the controller can read, for a secret of this name. */
async function sealed(api: KubeApi, { name: namespace }: Scene, name: string, text: string): Promise<string> {
  const [key] = await eventually(async () => {
    const { items } = await api.get<Keys>(KEYS)
    if (items.length === 0) throw new Error('the controller has no key yet')
    return items
  })
  const certificate = new X509Certificate(Buffer.from(key!.data['tls.crt'], 'base64'))
  const session = randomBytes(32)
  const cipher = createCipheriv('aes-256-gcm', session, Buffer.alloc(12))
  const hidden = Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()])
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const oaepLabel = Buffer.from(`${namespace}/${name}`)
  const sent = publicEncrypt({ key: certificate.publicKey, padding, oaepHash: 'sha256', oaepLabel }, session)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(sent.length)
  return Buffer.concat([length, sent, hidden]).toString('base64')
}

/** Creates one that holds a password. */
const makeSealed = (scene: Scene, name: string, password: string) => async (api: KubeApi) => {
  const encryptedData = { password: await sealed(api, scene, name, password) }
  const object = {
    apiVersion: API_VERSION,
    kind: 'SealedSecret',
    metadata: { name },
    spec: { encryptedData },
  }
  return api.create(at(scene), object)
}

const giveSealed = (scene: Scene, name: string, password: string) => async (api: KubeApi) =>
  api.patch(at(scene, name), {
    spec: { encryptedData: { password: await sealed(api, scene, name, password) } },
  })

/** Stories for a cluster in which the controller of sealed secrets runs. */
export const STORIES_WITH_SEALED_SECRETS: readonly Story[] = [
  {
    name: 'l1-sealed',
    play: async (scene) => {
      const { step, at: pathOf } = scene
      const labels = { spec: { template: { metadata: { labels: { team: 'a' } } } } }
      await step('alice', 'create sealed secret db', makeSealed(scene, 'db', 'a'))
      await step('bob', 'delete the secret by hand', (api) => api.delete(pathOf('secrets', 'db')))
      await step('carol', 'give it another password', giveSealed(scene, 'db', 'b'))
      await step('alice', 'create sealed secret web', makeSealed(scene, 'web', 'a'))
      await step('bob', 'give its secret a label', (api) => api.patch(at(scene, 'db'), labels))
      await step('carol', 'change the secret by hand', (api) =>
        api.patch(pathOf('secrets', 'db'), { data: { other: 'eA==' } }),
      )
      await step('alice', 'delete sealed secret db', (api) =>
        api.delete(at(scene, 'db'), going('Background')),
      )
      await step('bob', 'delete sealed secret web in the foreground', (api) =>
        api.delete(at(scene, 'web'), going('Foreground')),
      )
    },
  },
  {
    name: 'l2-broken',
    play: async (scene) => {
      const { step, at: pathOf } = scene
      const own = { metadata: { name: 'taken' }, data: { password: 'eA==' } }
      const broken = {
        apiVersion: API_VERSION,
        kind: 'SealedSecret',
        metadata: { name: 'db' },
        spec: { encryptedData: { password: 'bm9uZQ==' } },
      }
      await step('alice', 'create sealed secret db, which nobody can read', (api) =>
        api.create(at(scene), broken),
      )
      await step('bob', 'give it a password that can be read', giveSealed(scene, 'db', 'a'))
      await step('carol', 'create secret taken', (api) => api.create(pathOf('secrets'), own))
      await step('alice', 'create sealed secret taken', makeSealed(scene, 'taken', 'b'))
      await step('carol', 'let it be managed', (api) =>
        api.patch(pathOf('secrets', 'taken'), { metadata: { annotations: { [MANAGED]: 'true' } } }),
      )
      await step('bob', 'give it another password', giveSealed(scene, 'taken', 'c'))
      await step('carol', 'delete both', async (api) => [
        await api.delete(at(scene, 'db'), going('Background')),
        await api.delete(at(scene, 'taken'), going('Background')),
      ])
    },
  },
]
