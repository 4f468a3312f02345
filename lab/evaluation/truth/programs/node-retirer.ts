// Closes nodes with a label, evicts their Pods, and deletes the nodes when they have none. It has no custom resource.
import { all, apiAs, evict, list, looksAgain, type Named } from './looks-again.ts'

interface Node extends Named {
  readonly spec: { readonly unschedulable?: boolean }
}

const RETIRES = 'retire.example.com/now'
const LOOKS_EACH_MS = 1_500

const api = apiAs('node-retirer')
const NODES = all('v1', 'nodes')

async function retire({ metadata: { name }, spec }: Node): Promise<void> {
  if (spec.unschedulable !== true) await api.patch(`${NODES}/${name}`, { spec: { unschedulable: true } })
  const pods = await list<Named>(api, all('v1', 'pods'), `fieldSelector=spec.nodeName%3D${name}`)
  for (const pod of pods) if (pod.metadata.deletionTimestamp === undefined) await evict(api, pod)
  if (pods.length === 0) await api.delete(`${NODES}/${name}`)
}

async function look(): Promise<void> {
  const nodes = await list<Node>(api, NODES)
  for (const node of nodes) if (node.metadata.labels?.[RETIRES] === 'yes') await retire(node)
}

looksAgain(api, [NODES], look, LOOKS_EACH_MS)
