import type { Decision } from '../../../src/kube/inference/decide.ts'
import { readAuditEvent } from '../../../src/kube/objects/audit-events.ts'
import type { JsonObject } from '../../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../../src/kube/objects/observations.ts'
import type { Observation } from '../../../src/model/kubernetes-observations.ts'
import { nanosOfMs } from '../../../src/model/time-and-size.ts'
import { replay } from './replay.ts'

const START_MS = Date.UTC(2026, 0, 1)
export const API = 'trade.example.com/v1'
const VERBS = { ADDED: 'create', MODIFIED: 'update', DELETED: 'delete' } as const
const RESOURCES: Readonly<Record<string, [apiVersion: string, resource: string]>> = {
  Shop: [API, 'shops'],
  Discount: [API, 'discounts'],
  House: [API, 'houses'],
  Price: [API, 'prices'],
  Scaler: [API, 'scalers'],
  Plan: [API, 'plans'],
  Snapshot: [API, 'snapshots'],
  Disk: [API, 'disks'],
  DiskClaim: [API, 'diskclaims'],
  ConfigMap: ['v1', 'configmaps'],
  Secret: ['v1', 'secrets'],
  Pod: ['v1', 'pods'],
  Namespace: ['v1', 'namespaces'],
  Deployment: ['apps/v1', 'deployments'],
  ReplicaSet: ['apps/v1', 'replicasets'],
}

export interface Write {
  readonly type?: keyof typeof VERBS
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  /** Of another object that had its name. */
  readonly uid?: string
  readonly meta?: JsonObject
  readonly rest?: JsonObject
  readonly subresource?: string
  readonly second: number
  /** An account, or a person where it begins with @. */
  readonly by: string
}

/** A write as its watch and the audit log tell it; versions count the seconds. */
export function told(write: Write): Observation[] {
  const { type = 'MODIFIED', kind, name, uid = `uid of ${name}`, second, by } = write
  const { namespace = kind === 'Namespace' ? '' : 'shop', subresource = '' } = write
  const [apiVersion, resource] = RESOURCES[kind] ?? ['', '']
  const timeAt = (ms: number): string => new Date(START_MS + second * 1_000 + ms).toISOString()
  const metadata = {
    ...{ name, uid, resourceVersion: String(second), ...write.meta },
    ...(namespace !== '' && { namespace }),
  }
  const seen = readWatchEvent(
    { type, object: { kind, apiVersion, metadata, ...write.rest } },
    nanosOfMs(START_MS + second * 1_000),
  )
  const username = by.startsWith('@') ? by.slice(1) : `system:serviceaccount:controllers:${by}`
  const request = readAuditEvent({
    ...{ stage: 'ResponseComplete', level: 'RequestResponse', verb: VERBS[type], auditID: `of ${second}` },
    ...{ user: { username }, userAgent: `${by}/v1`, requestURI: '/', responseStatus: { code: 200 } },
    objectRef: { apiVersion, resource, namespace, name, ...(subresource !== '' && { subresource }) },
    ...{ requestReceivedTimestamp: timeAt(-10), stageTimestamp: timeAt(1) },
    responseObject: { kind, apiVersion, metadata, ...write.rest },
  })
  return [seen, request].map((one) => {
    if (typeof one === 'string') throw new Error(one)
    return one
  })
}

export const decided = (...writes: Write[]): readonly Decision[] =>
  replay(writes.flatMap(told), ['audit', 'watch']).decisions

/** What the last of these writes follows from, and how that was found. */
export const read = (...writes: Write[]): unknown[] =>
  (decided(...writes).at(-1)?.reads ?? []).map(({ identity, known, foundBy }) => [
    identity.name,
    Number(known.version),
    foundBy,
  ])
