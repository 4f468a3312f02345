import { eventually } from '../../harness/eventually.ts'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, make, remove } from './deeds.ts'
import type { Scene, Story } from './story.ts'

const GROUP = '/apis/external-secrets.io/v1beta1'
const CLUSTER_WIDE = `${GROUP}/clusterexternalsecrets`
const LONGEST_MS = 60_000

const storesOf = ({ name }: Scene, ...path: string[]): string =>
  [`${GROUP}/namespaces/${name}/secretstores`, ...path].join('/')
const wantedOf = ({ name }: Scene, ...path: string[]): string =>
  [`${GROUP}/namespaces/${name}/externalsecrets`, ...path].join('/')

/** A store that holds what stands in itself. */
const store = (values: Readonly<Record<string, string>>): object => ({
  apiVersion: 'external-secrets.io/v1beta1',
  kind: 'SecretStore',
  metadata: { name: 'vault' },
  spec: { provider: { fake: { data: Object.entries(values).map(([key, value]) => ({ key, value })) } } },
})

/** Asks the store for these keys, again and again. */
const wanted = (refreshInterval: string, keys: readonly string[], target: string): object => ({
  refreshInterval,
  secretStoreRef: { name: 'vault', kind: 'SecretStore' },
  target: { name: target },
  data: keys.map((key) => ({ secretKey: key, remoteRef: { key } })),
})

const externalSecret = (name: string, spec: object): object => ({
  apiVersion: 'external-secrets.io/v1beta1',
  kind: 'ExternalSecret',
  metadata: { name },
  spec,
})

/** Does it, and waits until a Secret has a value under this key. */
const until =
  (deed: (api: KubeApi) => Promise<unknown>, path: string, key: string, value: string) =>
  async (api: KubeApi): Promise<unknown> => {
    const done = await deed(api)
    await eventually(async () => {
      const { data } = await api.get<{ data?: Record<string, string> }>(path)
      const text = Buffer.from(data?.[key] ?? '', 'base64').toString()
      if (text !== value) throw new Error(`${path} still has ${text}`)
    }, LONGEST_MS)
    return done
  }

/** Stories for a cluster in which the controller of external secrets runs. */
export const STORIES_WITH_EXTERNAL_SECRETS: readonly Story[] = [
  {
    name: 'k2-synced',
    play: async (scene) => {
      const { step, at } = scene
      const secret = at('secrets', 'web')
      const slow = wanted('1h', ['password'], 'web')
      await step('alice', 'create the store', make(storesOf(scene), store({ password: 'one', user: 'u' })))
      await step(
        'bob',
        'create the external secret',
        until(make(wantedOf(scene), externalSecret('web', slow)), secret, 'password', 'one'),
      )
      await step(
        'carol',
        'ask for the user too',
        until(
          change(wantedOf(scene, 'web'), { spec: wanted('1h', ['password', 'user'], 'web') }),
          secret,
          'user',
          'u',
        ),
      )
      await step(
        'alice',
        'change the store',
        change(storesOf(scene, 'vault'), store({ password: 'two', user: 'u' })),
      )
      await step(
        'bob',
        'ask for it at once',
        until(
          change(wantedOf(scene, 'web'), { metadata: { annotations: { 'force-sync': 'now' } } }),
          secret,
          'password',
          'two',
        ),
      )
      await step('carol', 'delete the secret', until(remove(secret), secret, 'password', 'two'))
      await step(
        'alice',
        'edit the secret',
        until(change(secret, { data: { password: 'YQ==' } }), secret, 'password', 'two'),
      )
      await step('bob', 'label the secret', change(secret, { metadata: { labels: { team: 'k2' } } }))
      await step('carol', 'delete the external secret', remove(wantedOf(scene, 'web')))
    },
  },
  {
    name: 'k3-polled',
    play: async (scene) => {
      const { step, at } = scene
      const secret = at('secrets', 'api')
      const quick = wanted('8s', ['password'], 'api')
      await step('alice', 'create the store', make(storesOf(scene), store({ password: 'one' })))
      await step(
        'bob',
        'create the external secret',
        until(make(wantedOf(scene), externalSecret('api', quick)), secret, 'password', 'one'),
        0,
      )
      await step(
        'carol',
        'change the store',
        until(change(storesOf(scene, 'vault'), store({ password: 'two' })), secret, 'password', 'two'),
        2_000,
      )
      await step('alice', 'delete the external secret', remove(wantedOf(scene, 'api')))
    },
  },
  {
    name: 'k4-everywhere',
    play: async (scene) => {
      const { step } = scene
      const { name } = scene
      const other = '/api/v1/namespaces/k4-other'
      const vault = {
        ...store({ password: 'one' }),
        kind: 'ClusterSecretStore',
        metadata: { name: 'k4-vault' },
      }
      const everywhere = {
        apiVersion: 'external-secrets.io/v1beta1',
        kind: 'ClusterExternalSecret',
        metadata: { name: 'k4-password' },
        spec: {
          externalSecretName: 'password',
          namespaceSelector: { matchLabels: { k4: 'yes' } },
          refreshTime: '1h',
          externalSecretSpec: {
            refreshInterval: '1h',
            secretStoreRef: { name: 'k4-vault', kind: 'ClusterSecretStore' },
            data: [{ secretKey: 'password', remoteRef: { key: 'password' } }],
          },
        },
      }
      const labelled = (label: string | null): object => ({ metadata: { labels: { k4: label } } })
      await step('alice', 'create the store', make(`${GROUP}/clustersecretstores`, vault))
      await step('bob', 'create the external secret of the cluster', make(CLUSTER_WIDE, everywhere))
      await step('carol', 'label the namespace', change(`/api/v1/namespaces/${name}`, labelled('yes')))
      await step(
        'alice',
        'create a labelled namespace',
        make('/api/v1/namespaces', { metadata: { name: 'k4-other', labels: { k4: 'yes' } } }),
      )
      await step(
        'bob',
        'rename what it makes',
        change(`${CLUSTER_WIDE}/k4-password`, {
          spec: { externalSecretSpec: { target: { name: 'renamed' } } },
        }),
      )
      await step('carol', 'take the label away', change(other, labelled(null)))
      await step('alice', 'delete the external secret of the cluster', remove(`${CLUSTER_WIDE}/k4-password`))
      await step('bob', 'delete namespace k4-other', (api) => api.delete(other))
    },
  },
]
