import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, edit, make, remove } from './deeds.ts'
import { withImage, withReplicas } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const API_VERSION = 'trade.example.com/v1'
/** The operator looks at everything again after 10 s. */
const AGAIN_MS = 12_000

const at = ({ name }: Scene, resource: 'shops' | 'discounts', ...path: string[]): string =>
  [`/apis/${API_VERSION}/namespaces/${name}/${resource}`, ...path].join('/')

const shop = (name: string, replicas: number, labels: object = {}): object => ({
  ...{ apiVersion: API_VERSION, kind: 'Shop' },
  metadata: { name, labels },
  spec: { replicas },
})

const discount = (name: string, tier: string, percent: number): object => ({
  ...{ apiVersion: API_VERSION, kind: 'Discount' },
  metadata: { name },
  spec: { tier, percent },
})

/** The only object of a resource, which has a name that nobody can guess. */
async function theOne({ list }: Scene, resource: 'deployments' | 'configmaps'): Promise<string> {
  const all = await list(resource)
  const one = all.find(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
  if (one === undefined) throw new Error(`there are no ${resource}`)
  return one.metadata.name
}

/** For a cluster in which an operator makes what Shops want, with labels instead of owners, and another one writes into Shops. */
export const STORIES_WITH_SHOPS: readonly Story[] = [
  {
    name: 'q2-labelled',
    play: async (scene) => {
      const { step, at: of, running } = scene
      await step('alice', 'create shop books', make(at(scene, 'shops'), shop('books', 1)))
      await running(1)
      await step(
        'bob',
        'give it two replicas',
        change(at(scene, 'shops', 'books'), { spec: { replicas: 2 } }),
      )
      const [web, map] = [await theOne(scene, 'deployments'), await theOne(scene, 'configmaps')]
      await step(
        'carol',
        'scale its deployment by hand',
        change(of('deployments', web, 'scale'), withReplicas(3)),
      )
      await step(
        'alice',
        'edit its configmap',
        change(of('configmaps', map), { data: { discount: '99' } }),
        AGAIN_MS,
      )
      await step('bob', 'delete its configmap', remove(of('configmaps', map)), AGAIN_MS)
      await step(
        'carol',
        'image i:2 of its deployment',
        edit(of('deployments', web), withImage('i:2')),
        AGAIN_MS,
      )
      await step('alice', 'delete its deployment', remove(of('deployments', web)), AGAIN_MS)
      await step('bob', 'delete shop books', remove(at(scene, 'shops', 'books')))
    },
  },
  {
    name: 'q3-discounted',
    play: async (scene) => {
      const { step, running } = scene
      const percent = (percent: number) => ({ spec: { percent } })
      await step('alice', 'create shop toys', make(at(scene, 'shops'), shop('toys', 1, { tier: 'gold' })))
      await running(1)
      await step(
        'bob',
        'create discount spring',
        make(at(scene, 'discounts'), discount('spring', 'gold', 10)),
        AGAIN_MS,
      )
      await step('carol', 'raise it', change(at(scene, 'discounts', 'spring'), percent(20)), AGAIN_MS)
      await step(
        'alice',
        'create shop hats',
        make(at(scene, 'shops'), shop('hats', 1, { tier: 'tin' })),
        AGAIN_MS,
      )
      await step(
        'bob',
        'let hats be gold',
        change(at(scene, 'shops', 'hats'), { metadata: { labels: { tier: 'gold' } } }),
        AGAIN_MS,
      )
      await step(
        'carol',
        'set a discount by hand',
        change(at(scene, 'shops', 'toys'), { spec: { discount: 50 } }),
        AGAIN_MS,
      )
      await step(
        'alice',
        'delete the discount',
        (api: KubeApi) => api.delete(at(scene, 'discounts', 'spring')),
        AGAIN_MS,
      )
      await step('bob', 'delete both shops', async (api) => [
        await api.delete(at(scene, 'shops', 'toys')),
        await api.delete(at(scene, 'shops', 'hats')),
      ])
    },
  },
]
