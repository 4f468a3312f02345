// Evicts all Pods of the Deployment that a Restart names, once for each round of it.
import { all, apiAs, at, evict, labelled, list, looksAgain, type Named } from './looks-again.ts'

interface Restart extends Named {
  readonly spec: { readonly deployment: string; readonly round: number }
  readonly status?: { readonly done: number }
}

const API_VERSION = 'ops.example.com/v1'
const LOOKS_EACH_MS = 5_000

const api = apiAs('pod-restarter')
const RESTARTS = all(API_VERSION, 'restarts')

async function look(): Promise<void> {
  for (const { metadata, spec, status } of await list<Restart>(api, RESTARTS)) {
    const { namespace, name } = metadata
    if (status?.done === spec.round) continue
    const pods = await list<Named>(api, at('v1', namespace, 'pods'), labelled(`app=${spec.deployment}`))
    for (const pod of pods) await evict(api, pod)
    const path = at(API_VERSION, namespace, 'restarts', name, 'status')
    await api.patch(path, { status: { done: spec.round } })
  }
}

looksAgain(api, [RESTARTS], look, LOOKS_EACH_MS)
