import { setTimeout as pause } from 'node:timers/promises'
import { change, edit, inTurn, make, remove, type Turn } from './deeds.ts'
import { deployment, withImage, withReplicas } from './manifests.ts'
import type { Scene, Story } from './story.ts'

/** Where a clock goes on, nothing ever comes to rest. */
const BETWEEN_MS = 7_000

async function whileClocksTick({ step }: Scene, ...turns: readonly Turn[]): Promise<void> {
  for (const [user, desc, deed, pauseMs = BETWEEN_MS] of turns) {
    await step(user, desc, deed, 0)
    await pause(pauseMs)
  }
}

/** The path of a custom resource of the namespace of a story, and what makes one. */
function kind(
  apiVersion: string,
  kind: string,
): (scene: Scene) => {
  at: (name: string) => string
  made: (name: string, spec: object) => ReturnType<typeof make>
} {
  return ({ name: namespace }) => {
    const path = `/apis/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s`
    return {
      at: (name) => `${path}/${name}`,
      made: (name, spec) => make(path, { apiVersion, kind, metadata: { name }, spec }),
    }
  }
}

const PRICES = kind('market.example.com/v1', 'Price')
const FLEETS = kind('market.example.com/v1', 'Fleet')
const SCALERS = kind('scale.example.com/v1', 'Scaler')
const CLAIMS = kind('disks.example.com/v1', 'DiskClaim')
const PLANS = kind('keep.example.com/v1', 'Plan')
const SNAPSHOTS = kind('keep.example.com/v1', 'Snapshot')
const TENANTS = kind('tenants.example.com/v1', 'Tenant')

const DISKS = '/apis/disks.example.com/v1/disks'
const disk = (name: string, size: number): ReturnType<typeof make> =>
  make(DISKS, { apiVersion: 'disks.example.com/v1', kind: 'Disk', metadata: { name }, spec: { size } })

const spec = (spec: object): object => ({ spec })

/** For a cluster in which programs write because time goes by, bind objects to one another, and clear up after others. */
export const STORIES_WITH_CLOCKS: readonly Story[] = [
  {
    name: 'fa-priced',
    play: async (scene) => {
      const { at, aPod } = scene
      const [prices, fleets] = [PRICES(scene), FLEETS(scene)]
      const boat = at('deployments', 'boats')
      await whileClocksTick(
        scene,
        ['alice', 'create price tea', prices.made('tea', {})],
        [
          'bob',
          'create fleet boats x2',
          fleets.made('boats', { replicas: 2, priceRef: { name: 'tea' } }),
          15_000,
        ],
        ['carol', 'let it have 3', change(fleets.at('boats'), spec({ replicas: 3 }))],
        ['alice', 'image i:2 of its deployment', edit(boat, withImage('i:2'))],
        ['bob', 'create fleet carts', fleets.made('carts', { priceRef: { name: 'tea' } })],
        [
          'carol',
          'scale deployment carts to 2',
          change(`${at('deployments', 'carts')}/scale`, withReplicas(2)),
        ],
        ['alice', 'delete a pod by hand', async (api) => api.delete(at('pods', await aPod()))],
        ['bob', 'delete fleet boats', remove(fleets.at('boats'))],
        ['carol', 'delete price tea', remove(prices.at('tea')), 10_000],
        ['alice', 'let carts have 1', change(fleets.at('carts'), spec({ replicas: 1 }))],
      )
    },
  },
  {
    name: 'fb-scaled',
    play: async (scene) => {
      const { at } = scene
      const scalers = SCALERS(scene)
      const [web, scaler] = [at('deployments', 'web'), scalers.at('web')]
      await whileClocksTick(
        scene,
        ['alice', 'create deployment web x1', make(at('deployments'), deployment('web', { replicas: 1 }))],
        [
          ...(['bob', 'create scaler web'] as const),
          scalers.made('web', { targetRef: { kind: 'Deployment', name: 'web' }, min: 1, max: 4 }),
          20_000,
        ],
        ['carol', 'image i:2', edit(web, withImage('i:2')), 14_000],
        ['alice', 'allow 2 at most', change(scaler, spec({ max: 2 })), 14_000],
        ['bob', 'scale to 6 by hand', change(`${web}/scale`, withReplicas(6)), 14_000],
        ['carol', 'delete the scaler', remove(scaler)],
        ['alice', 'delete deployment web', remove(web)],
      )
    },
  },
  {
    name: 'fc-bound',
    play: async (scene) => {
      const claims = CLAIMS(scene)
      await inTurn(
        scene,
        ['alice', 'create disk fc-small', disk('fc-small', 10)],
        ['bob', 'create claim data', claims.made('data', { size: 5 })],
        ['carol', 'create claim logs, which waits', claims.made('logs', { size: 20 })],
        ['alice', 'create disk fc-large', disk('fc-large', 30)],
        ['bob', 'delete claim data', remove(claims.at('data'))],
        ['carol', 'create claim more', claims.made('more', { size: 8 })],
        ['alice', 'delete disk fc-large', remove(`${DISKS}/fc-large`)],
        ['bob', 'delete claim more', remove(claims.at('more'))],
        ['carol', 'delete claim logs', remove(claims.at('logs'))],
      )
    },
  },
  {
    name: 'fd-kept',
    play: async (scene) => {
      const [plans, snapshots] = [PLANS(scene), SNAPSHOTS(scene)]
      await whileClocksTick(
        scene,
        ['alice', 'create plan nightly', plans.made('nightly', { keepsSeconds: 20 }), 20_000],
        ['bob', 'create snapshot mine', snapshots.made('mine', {}), 10_000],
        ['carol', 'keep them for 8 s', change(plans.at('nightly'), spec({ keepsSeconds: 8 })), 30_000],
        ['alice', 'delete snapshot mine', remove(snapshots.at('mine'))],
        ['bob', 'delete plan nightly', remove(plans.at('nightly'))],
      )
    },
  },
  {
    name: 'fe-tenants',
    play: async (scene) => {
      const { at, aPod } = scene
      const tenants = TENANTS(scene)
      const run = at('deployments', 'run-red')
      await inTurn(
        scene,
        ['alice', 'create tenant red x2', tenants.made('red', { replicas: 2, color: 'red' })],
        ['bob', 'create tenant blue x1', tenants.made('blue', { replicas: 1, color: 'blue' })],
        ['carol', 'let red be pink', change(tenants.at('red'), spec({ color: 'pink' }))],
        ['alice', 'scale its deployment to 4, which is set back', change(`${run}/scale`, withReplicas(4))],
        ['bob', 'image i:2 of its deployment', edit(run, withImage('i:2'))],
        ['carol', 'delete a pod by hand', async (api) => api.delete(at('pods', await aPod()))],
        ['alice', 'delete the quota of blue', remove(at('resourcequotas', 'run-blue'))],
        ['bob', 'delete tenant red', remove(tenants.at('red'))],
        ['carol', 'create tenant red x1 again', tenants.made('red', { replicas: 1, color: 'rose' })],
        ['alice', 'delete tenant blue', remove(tenants.at('blue'))],
      )
    },
  },
  {
    name: 'ff-rolled',
    play: async (scene) => {
      const { at } = scene
      const settings = (a: string): object => ({ data: { a } })
      const web = deployment('web', { replicas: 2 }) as { metadata: object }
      const annotations = { 'roller.example.com/settings': 'settings' }
      const told = { ...web, metadata: { ...web.metadata, annotations } }
      await inTurn(
        scene,
        [
          'alice',
          'create configmap settings',
          make(at('configmaps'), { metadata: { name: 'settings' }, ...settings('1') }),
        ],
        ['bob', 'create deployment web x2', make(at('deployments'), told)],
        ['carol', 'change settings', change(at('configmaps', 'settings'), settings('2'))],
        ['alice', 'scale to 3', change(`${at('deployments', 'web')}/scale`, withReplicas(3))],
        ['bob', 'change settings again', change(at('configmaps', 'settings'), settings('3'))],
        ['carol', 'image i:2', edit(at('deployments', 'web'), withImage('i:2'))],
        ['alice', 'delete configmap settings', remove(at('configmaps', 'settings'))],
        ['bob', 'delete deployment web', remove(at('deployments', 'web'))],
      )
    },
  },
]
