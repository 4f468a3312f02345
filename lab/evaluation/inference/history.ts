import { isRefusal } from '../../../packages/control-plane/api/api-error.ts'
import type { Location } from '../../../packages/control-plane/api/api-client.ts'
import type { Resource } from '../../../packages/control-plane/api/kube-objects.ts'
import { Chance } from '../../../packages/control-plane/chance.ts'
import type { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import { LOAD } from '../../../packages/control-plane/controllers/metrics-server.ts'
import { autoscaler, deployment, load, service } from '../../../packages/control-plane/manifests.ts'

/** One history of a cluster: all of it is drawn from its seed. */
export interface History {
  seed: number
  /** How unreliable the controllers' watches are. */
  latency: { watchDrops: number; watchExpires: number }
  /** How often what looks on from outside loses its watch of a resource: never, goes on where it was, or must list again. */
  outage: 'none' | 'resumed' | 'relisted'
  users: number
  play: (plane: ControlPlane) => Promise<void>
}

const APPS = ['web', 'api', 'shop'] as const
const QUIET_MS = 5_000
const SCALING_MS = 60_000
const MOST_REPLICAS = 5

export function historyOf(seed: number): History {
  const chance = new Chance(`history ${seed}`)
  const users = 1 + numberBelow(chance, 3)
  const withAutoscaler = chance.next() < 0.3
  const apps = APPS.slice(0, 1 + numberBelow(chance, APPS.length))
  const mostPauseMs = oneOf(chance, [100, 1_000, 10_000])
  return {
    seed,
    latency: { watchDrops: oneOf(chance, [0, 0.01, 0.05]), watchExpires: oneOf(chance, [0, 0.1, 0.5]) },
    outage: oneOf(chance, ['none', 'none', 'resumed', 'resumed', 'relisted']),
    users,
    play: async (plane) => {
      await begin(plane, apps, withAutoscaler)
      const playing = Array.from({ length: users }, async (_, user) => {
        const own = chance.fork(`user ${user}`)
        const steps = 1 + numberBelow(own, 5)
        for (let step = 0; step < steps; step++) {
          await plane.sleep(own.next() * mostPauseMs)
          await take(plane, own, oneOf(own, apps)).catch(unlessMeanwhile)
        }
      })
      await Promise.all(playing)
      if (withAutoscaler) await plane.sleep(SCALING_MS)
      await plane.settled(QUIET_MS)
    },
  }
}

async function begin(plane: ControlPlane, apps: readonly string[], withAutoscaler: boolean): Promise<void> {
  const { kubectl } = plane
  if (withAutoscaler) await kubectl.create('v1/configmaps', load({ web: '400m' }))
  for (const app of apps) {
    await kubectl.create('v1/services', service(app))
    await kubectl.create('apps/v1/deployments', deployment(app, 2))
  }
  if (!withAutoscaler) return
  const limits = { minReplicas: 1, maxReplicas: 4, averageValue: '200m' }
  await kubectl.create('autoscaling/v2/horizontalpodautoscalers', autoscaler('web', limits))
}

/** Something that an operator may do to an app; nothing that changes nothing. */
async function take({ kubectl, store }: ControlPlane, chance: Chance, app: string): Promise<void> {
  const at = { name: app, namespace: 'default' }
  const drawn = chance.next()
  const some = numberBelow(chance, MOST_REPLICAS)
  if (drawn < 0.35) {
    const { replicas } = store.get('apps/v1/deployments', at).spec as { replicas: number }
    await kubectl.scale(at, (replicas + 1 + some) % (MOST_REPLICAS + 1))
  } else if (drawn < 0.6) await kubectl.setImage(at, `${app}:${chance.hex(4)}`)
  else if (drawn < 0.75) await removeOne('v1/pods')
  else if (drawn < 0.82) await removeOne('apps/v1/replicasets')
  else if (drawn < 0.88) await kubectl.delete('v1/endpoints', at)
  else if (drawn < 0.94) {
    await kubectl.delete('v1/services', at)
    await kubectl.create('v1/services', service(app))
  } else {
    await kubectl.delete('apps/v1/deployments', at)
    await kubectl.create('apps/v1/deployments', deployment(app, 1 + some))
  }
  if (store.list('v1/configmaps').items.length > 0 && chance.next() < 0.3) {
    const data = { web: `${Math.round(chance.next() * 1_500)}m` }
    await kubectl.edit('v1/configmaps', LOAD, (object) => ({ ...object, data }))
  }

  async function removeOne(resource: Resource): Promise<void> {
    const all = store.list(resource).items.filter(({ metadata }) => metadata.labels?.['app'] === app)
    const one: Location | undefined = all[some % Math.max(1, all.length)]?.metadata
    if (one !== undefined) await kubectl.delete(resource, one)
  }
}

function unlessMeanwhile(error: unknown): void {
  const isExpected = (['NotFound', 'AlreadyExists', 'Conflict'] as const).some((why) => isRefusal(error, why))
  if (!isExpected) throw error
}

function numberBelow(chance: Chance, most: number): number {
  return Math.floor(chance.next() * most)
}

function oneOf<T>(chance: Chance, all: readonly T[]): T {
  return all[numberBelow(chance, all.length)]!
}
