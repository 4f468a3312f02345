import { deployment } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'

export const FORTY = 'forty'

const APPS = Array.from({ length: 40 }, (_, index) => `app-${String(index).padStart(2, '0')}`)
/** What each of the two does to every Deployment, one after the other; what one does the other does not overwrite. */
const PATCHES: Readonly<Record<string, readonly ((app: string) => object)[]>> = {
  alice: [
    (app) => withContainer(app, { image: 'nginx:2' }),
    () => ({ spec: { replicas: 2 } }),
    (app) => withContainer(app, { image: 'nginx:3' }),
  ],
  bob: [
    () => withAnnotation('first'),
    () => ({ metadata: { annotations: { 'example.com/note': 'by bob' } } }),
    () => withAnnotation('second'),
  ],
}

interface Deployed {
  metadata: { generation: number }
  status?: {
    observedGeneration?: number
    updatedReplicas?: number
    replicas?: number
    readyReplicas?: number
  }
}

/** Two users patch 40 Deployments 240 times, at once, each as fast as the API server answers. */
export async function playForty(stage: Stage): Promise<void> {
  const path = stage.path('/apis/apps/v1', 'deployments')
  await Promise.all(APPS.map((app) => stage.cluster.api('alice').create(path, deployment(app, 1))))
  await allRolledOut(stage, path, 1)
  await Promise.all(
    Object.entries(PATCHES).map(async ([user, patches]) => {
      const api = stage.cluster.api(user)
      for (const patch of patches) for (const app of APPS) await api.patch(`${path}/${app}`, patch(app))
    }),
  )
  await allRolledOut(stage, path, 2)
}

/** Which of the Deployments an object belongs to: all that come from one bear its name. */
export function appOf(name: string): string {
  return /^app-\d\d/.exec(name)?.[0] ?? name
}

function allRolledOut(stage: Stage, path: string, wanted: number): Promise<void> {
  return stage.until(async () => {
    const { items } = await stage.api.get<{ items: Deployed[] }>(path)
    return items.every(({ metadata, status = {} }) => {
      const { observedGeneration, replicas, updatedReplicas, readyReplicas } = status
      const counts = [replicas, updatedReplicas, readyReplicas]
      return observedGeneration === metadata.generation && counts.every((count) => count === wanted)
    })
  }, `${APPS.length} Deployments have ${wanted} Pods each`)
}

function withContainer(app: string, container: object): object {
  return {
    spec: {
      template: {
        metadata: { labels: { app } },
        spec: { containers: [{ name: 'main', ...container }] },
      },
    },
  }
}

function withAnnotation(value: string): object {
  return { spec: { template: { metadata: { annotations: { 'example.com/renewed': value } } } } }
}
