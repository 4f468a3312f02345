// Makes a Snapshot for each Plan every 15 s, a ConfigMap of each Snapshot, and takes Snapshots away that are older than the Plan says.
import { all, apiAs, at, list, looksAgain, maybe, type Named, ownedBy } from '../programs/looks-again.ts'
import { byTheClock, each } from './by-the-clock.ts'

interface Dated extends Named {
  readonly metadata: Named['metadata'] & { readonly creationTimestamp: string }
}
interface Plan extends Named {
  readonly spec: { readonly keepsSeconds: number }
}
interface Snapshot extends Dated {
  readonly spec: { readonly keepsSeconds?: number }
  readonly status?: { readonly phase?: string }
}

const API_VERSION = 'keep.example.com/v1'
const PROGRAM = 'snapshot-keeper'
const [PLANS, SNAPSHOTS] = [all(API_VERSION, 'plans'), all(API_VERSION, 'snapshots')]
const api = apiAs(PROGRAM)
const clock = byTheClock(api, PROGRAM)

looksAgain(
  api,
  [SNAPSHOTS],
  async () => {
    for (const snapshot of await list<Snapshot>(api, SNAPSHOTS)) {
      const { namespace, name, deletionTimestamp } = snapshot.metadata
      if (deletionTimestamp !== undefined) continue
      const maps = at('v1', namespace, 'configmaps')
      const metadata = { name: `snap-${name}`, ownerReferences: ownedBy(API_VERSION, 'Snapshot', snapshot) }
      if ((await maybe(api, `${maps}/snap-${name}`)) === undefined)
        await api.create(maps, { metadata, data: {} })
      if (snapshot.status?.phase !== 'Ready')
        await api.patch(at(API_VERSION, namespace, 'snapshots', name, 'status'), {
          status: { phase: 'Ready' },
        })
    }
  },
  3_600_000,
)
each(15_000, async (tick) => {
  for (const plan of await list<Plan>(api, PLANS)) {
    const { namespace, name } = plan.metadata
    const metadata = { name: `${name}-${tick}`, ownerReferences: ownedBy(API_VERSION, 'Plan', plan) }
    await clock.create(at(API_VERSION, namespace, 'snapshots'), {
      ...{
        apiVersion: API_VERSION,
        kind: 'Snapshot',
        metadata,
        spec: { keepsSeconds: plan.spec.keepsSeconds },
      },
    })
  }
})
each(3_000, async () => {
  for (const { metadata, spec } of await list<Snapshot>(api, SNAPSHOTS)) {
    const ageMs = Date.now() - Date.parse(metadata.creationTimestamp)
    if (spec.keepsSeconds !== undefined && ageMs > spec.keepsSeconds * 1_000)
      await clock.delete(at(API_VERSION, metadata.namespace, 'snapshots', metadata.name))
  }
})
