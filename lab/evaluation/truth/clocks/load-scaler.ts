// Scales the Deployment that each Scaler names to what a load outside of the cluster wants, every 6 s, within the Scaler's bounds.
import { all, apiAs, at, list, looksAgain, maybe, type Named } from '../programs/looks-again.ts'
import { byTheClock, each } from './by-the-clock.ts'

interface Scaler extends Named {
  readonly spec: {
    readonly targetRef: { readonly kind: string; readonly name: string }
    min: number
    max: number
  }
  readonly status?: { readonly wanted?: number }
}
interface Scale extends Named {
  readonly spec: { readonly replicas: number }
}

const API_VERSION = 'scale.example.com/v1'
const PROGRAM = 'load-scaler'
const SCALERS = all(API_VERSION, 'scalers')
const LOADS = [1, 3, 3, 2, 4]
const TICK_MS = 6_000

const api = apiAs(PROGRAM)
const clock = byTheClock(api, PROGRAM)
let load = 1

async function keep(by: typeof api, { metadata: { namespace, name }, spec, status }: Scaler): Promise<void> {
  const path = at('apps/v1', namespace, 'deployments', spec.targetRef.name, 'scale')
  const there = await maybe<Scale>(api, path)
  const wanted = Math.min(spec.max, Math.max(spec.min, load))
  if (there !== undefined && there.spec.replicas !== wanted)
    await by.patch(path, { spec: { replicas: wanted } })
  if (status?.wanted !== wanted)
    await by.patch(at(API_VERSION, namespace, 'scalers', name, 'status'), { status: { wanted } })
}

const look = async (by: typeof api): Promise<void> => {
  for (const scaler of await list<Scaler>(api, SCALERS)) await keep(by, scaler)
}
looksAgain(api, [SCALERS], () => look(api), 3_600_000)
each(TICK_MS, (tick) => {
  load = LOADS[tick % LOADS.length] ?? 1
  return look(clock)
})
