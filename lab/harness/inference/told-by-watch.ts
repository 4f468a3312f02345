import { decide, type Decision } from '../../../src/kube/inference/decide.ts'
import { RELATIONS } from '../../../src/kube/inference/relations.ts'
import { WriteQueue } from '../../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../../src/kube/objects/observations.ts'
import { MemoryChanges } from './memory-changes.ts'
import { MemoryObjects } from './memory-objects.ts'

const SETTINGS = { cluster: 'test', relations: RELATIONS, operators: [], controllers: [] }
/** Nothing is waited for any more. */
const LONG_AFTER_NS = 1_000_000_000_000n
const LINE = { windowNs: 0n, whoWaitNs: 0n, isWatched: true }

/** What a watch tells of a version of an object. */
export interface Sketch {
  kind: string
  apiVersion?: string
  name: string
  gone?: boolean
  /** In nanoseconds since 1970; its version unless given. */
  seenNs?: bigint
  meta?: JsonObject
  spec?: JsonObject
  status?: JsonObject
}

/** What is decided when a watch tells of these, one version after the other, and nothing tells who. */
export function decided(...sketches: Sketch[]): Decision[] {
  const [objects, changes, line] = [new MemoryObjects(), new MemoryChanges(), new WriteQueue(LINE)]
  sketches.forEach(
    ({ kind, apiVersion = 'v1', name, gone = false, seenNs, meta = {}, spec = {}, status = {} }, index) => {
      const version = index + 1
      const seen = seenNs ?? BigInt(version)
      const namespace = kind === 'Namespace' || kind === 'Node' ? '' : 'shop'
      const metadata = { name, namespace, uid: `uid of ${name}`, resourceVersion: String(version), ...meta }
      const object = { kind, apiVersion, metadata, spec, status }
      const read = readWatchEvent({ type: gone ? 'DELETED' : 'MODIFIED', object }, seen)
      if (typeof read === 'string') throw new Error(read)
      line.add(read, seen)
    },
  )
  return line.takeDue(LONG_AFTER_NS).flatMap((write) => {
    const decision = decide(write, objects, changes, SETTINGS)
    if (decision?.sources !== undefined) changes.merge(decision.cpid, decision.sources)
    return decision ?? []
  })
}

/** Who wrote the last of them, and whether that began a change. */
export function last(...sketches: Sketch[]): [string, string] {
  const decision = decided(...sketches).at(-1)
  return [decision?.writer.service ?? '', decision?.cause ?? '']
}

export const GOING = { deletionTimestamp: '2026-11-22T19:30:53Z' }
export const ownedBy = (kind: string, name: string): JsonObject => ({
  ownerReferences: [{ kind, name, uid: `uid of ${name}`, controller: true }],
})
