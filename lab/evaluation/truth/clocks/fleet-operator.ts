// Makes a Deployment for each Fleet, which it owns, and gives it the price of the Fleet's product in an annotation of its Pods.
import { podSpec, podsOf } from '../manifests.ts'
import { all, apiAs, at, list, looksAgain, maybe, type Named, ownedBy } from '../programs/looks-again.ts'

interface Fleet extends Named {
  readonly spec: { readonly replicas?: number; readonly priceRef: { readonly name: string } }
  readonly status?: { readonly ready: number }
}
interface Price extends Named {
  readonly status?: { readonly value?: string }
}
interface Deployment extends Named {
  readonly spec: {
    readonly replicas: number
    readonly template: { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } }
  }
  readonly status?: { readonly readyReplicas?: number }
}

const API_VERSION = 'market.example.com/v1'
const PRICE = 'market.example.com/price'
const FLEETS = all(API_VERSION, 'fleets')
const api = apiAs('fleet-operator')

async function reconcile(fleet: Fleet): Promise<void> {
  const { namespace, name, deletionTimestamp } = fleet.metadata
  if (deletionTimestamp !== undefined) return
  const { replicas, priceRef } = fleet.spec
  const price = await maybe<Price>(api, at(API_VERSION, namespace, 'prices', priceRef.name))
  const value = price?.status?.value
  if (value === undefined) return
  const path = at('apps/v1', namespace, 'deployments')
  const there = await maybe<Deployment>(api, `${path}/${name}`)
  const template = { metadata: { annotations: { [PRICE]: value } } }
  if (there === undefined) {
    const whole = podsOf(name, podSpec('i:1')) as { template: { metadata: object } }
    const metadata = { name, ownerReferences: ownedBy(API_VERSION, 'Fleet', fleet) }
    const pods = { ...whole.template, metadata: { ...whole.template.metadata, ...template.metadata } }
    await api.create(path, { metadata, spec: { replicas: replicas ?? 1, ...whole, template: pods } })
  } else {
    const isOld = there.spec.template.metadata.annotations?.[PRICE] !== value
    const isOther = replicas !== undefined && there.spec.replicas !== replicas
    if (isOld || isOther)
      await api.patch(`${path}/${name}`, {
        spec: { ...(isOther && { replicas }), ...(isOld && { template }) },
      })
  }
  const ready = there?.status?.readyReplicas ?? 0
  if (fleet.status?.ready !== ready)
    await api.patch(at(API_VERSION, namespace, 'fleets', name, 'status'), { status: { ready } })
}

looksAgain(api, [FLEETS, all(API_VERSION, 'prices'), all('apps/v1', 'deployments')], async () => {
  for (const fleet of await list<Fleet>(api, FLEETS)) await reconcile(fleet)
})
