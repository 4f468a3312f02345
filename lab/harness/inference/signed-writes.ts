import type { Decision } from '../../../src/kube/inference/decide.ts'
import type { JsonObject } from '../../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../../src/kube/objects/observations.ts'
import type { Observation } from '../../../src/model/kubernetes-observations.ts'
import { nanosOfMs } from '../../../src/model/time-and-size.ts'
import { replay } from './replay.ts'

const START_MS = Date.UTC(2026, 0, 1)
const GROUPS: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  ReplicaSet: 'apps/v1',
  Job: 'batch/v1',
  ...Object.fromEntries(
    ['ConfigMap', 'Secret', 'Pod', 'Namespace', 'Service', 'Node', 'PersistentVolumeClaim'].map((kind) => [
      kind,
      'v1',
    ]),
  ),
}

export interface SignedWrite {
  readonly type?: 'DELETED'
  readonly kind: string
  readonly name: string
  /** `shop` unless given. */
  readonly namespace?: string
  readonly meta?: JsonObject
  readonly rest?: JsonObject
  readonly subresource?: string
}

/** When and by which manager of fields. One that has no name, or that deletes, leaves no entry. */
export type SignedBy = readonly [second: number, by: string, write: SignedWrite]

/** The time of a second as managedFields have it. */
export const timeAt = (second: number): string =>
  new Date(START_MS + Math.floor(second) * 1_000).toISOString().replace('.000', '')

/** Custom resources are of trade.example.com/v1. What a watch tells of these writes, with the entries that the API server keeps. */
export function signedWrites(...told: readonly SignedBy[]): Observation[] {
  const entries = new Map<string, Map<string, JsonObject>>()
  return told.map(([second, by, write], at) => {
    const { type, kind, name, meta = {}, rest = {}, subresource = '' } = write
    const namespace = write.namespace ?? (kind === 'Namespace' || kind === 'Node' ? '' : 'shop')
    const uid = `uid of ${name}`
    const own = entries.get(uid) ?? new Map<string, JsonObject>()
    entries.set(uid, own)
    if (by !== '' && type === undefined) {
      const key = `${by} ${subresource}`
      own.delete(key)
      own.set(key, { manager: by, operation: 'Update', subresource, time: timeAt(second) })
    }
    const metadata = {
      ...{ name, uid, resourceVersion: String(at + 1), managedFields: [...own.values()] },
      ...(namespace !== '' && { namespace }),
      ...meta,
    }
    const object = { kind, apiVersion: GROUPS[kind] ?? 'trade.example.com/v1', metadata, ...rest }
    const seen = readWatchEvent(
      { type: type ?? 'MODIFIED', object },
      nanosOfMs(START_MS + Math.round(second * 1_000)),
    )
    if (typeof seen === 'string') throw new Error(seen)
    return seen
  })
}

/** What is decided of these writes with a watch alone. */
export const decidedByWatch = (...told: readonly SignedBy[]): readonly Decision[] =>
  replay(signedWrites(...told), ['watch']).decisions
