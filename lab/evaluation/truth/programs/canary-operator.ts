// Runs a share of a Deployment with another image beside it: a second Deployment that a Canary does not own. The first has the other
// replicas once the second is ready, and all of them when its Canary is gone.
import { podSpec, podsOf, withImage, withReplicas } from '../manifests.ts'
import { all, apiAs, at, labelled, list, looksAgain, maybe, type Named } from './looks-again.ts'

interface Canary extends Named {
  readonly spec: { readonly target: string; readonly image: string; readonly weight: number }
  readonly status?: object
}
interface Deployment extends Named {
  readonly spec: {
    readonly replicas: number
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } }
  }
  readonly status?: { readonly readyReplicas?: number }
}

const API_VERSION = 'ops.example.com/v1'
const CANARY_OF = 'ops.example.com/canary-of'
/** Of both Deployments together. */
const REPLICAS = 4

const api = apiAs('canary-operator')
const [CANARIES, DEPLOYMENTS] = [all(API_VERSION, 'canaries'), all('apps/v1', 'deployments')]

/** Answers with the Deployment that it looks after. */
async function reconcile({ metadata, spec, status }: Canary): Promise<string | undefined> {
  const { namespace, name } = metadata
  const { target, image, weight } = spec
  const deployments = at('apps/v1', namespace, 'deployments')
  const main = await maybe<Deployment>(api, `${deployments}/${target}`)
  if (main === undefined) return undefined
  const other = `${target}-canary`
  const replicas = Math.round((REPLICAS * weight) / 100)
  const there = await maybe<Deployment>(api, `${deployments}/${other}`)
  if (there === undefined)
    await api.create(deployments, {
      metadata: { name: other, annotations: { [CANARY_OF]: target }, labels: { canary: 'y' } },
      spec: { replicas, ...podsOf(other, podSpec(image)) },
    })
  else if (there.spec.replicas !== replicas)
    await api.patch(`${deployments}/${other}`, withReplicas(replicas))
  else if (there.spec.template.spec.containers[0]?.image !== image)
    await api.patch(`${deployments}/${other}`, withImage(image), 'strategic-merge-patch')
  const isReady = (there?.status?.readyReplicas ?? 0) >= replicas
  if (isReady && main.spec.replicas !== REPLICAS - replicas)
    await api.patch(`${deployments}/${target}`, withReplicas(REPLICAS - replicas))
  const now = { phase: isReady ? 'Steady' : 'Shifting', canary: replicas }
  if (JSON.stringify(status) !== JSON.stringify(now))
    await api.patch(at(API_VERSION, namespace, 'canaries', name, 'status'), { status: now })
  return `${namespace}/${other}`
}

async function look(): Promise<void> {
  const wanted = new Set<string | undefined>()
  for (const canary of await list<Canary>(api, CANARIES)) wanted.add(await reconcile(canary))
  for (const { metadata } of await list<Deployment>(api, DEPLOYMENTS, labelled('canary=y'))) {
    const { namespace, name, annotations } = metadata
    if (wanted.has(`${namespace}/${name}`)) continue
    await api.delete(at('apps/v1', namespace, 'deployments', name))
    const main = at('apps/v1', namespace, 'deployments', annotations?.[CANARY_OF] ?? '')
    await api.patch(main, withReplicas(REPLICAS)).catch(() => undefined)
  }
}

looksAgain(api, [CANARIES, DEPLOYMENTS], look)
