// Evicts Pods every five seconds from nodes with a taint that lets no new ones in. It watches nothing, and has no custom resource.
import { all, apiAs, evict, list, looksAgain, type Named } from './looks-again.ts'

interface Node extends Named {
  readonly spec: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] }
}

const LOOKS_EACH_MS = 5_000

const api = apiAs('taint-mover')

const isClosed = ({ spec: { taints = [] } }: Node): boolean =>
  taints.some(({ key, effect }) => key === 'story' && effect === 'NoSchedule')

async function look(): Promise<void> {
  const nodes = await list<Node>(api, all('v1', 'nodes'))
  for (const { metadata } of nodes.filter(isClosed)) {
    const pods = await list<Named>(api, all('v1', 'pods'), `fieldSelector=spec.nodeName%3D${metadata.name}`)
    for (const pod of pods) if (pod.metadata.deletionTimestamp === undefined) await evict(api, pod)
  }
}

looksAgain(api, [], look, LOOKS_EACH_MS)
