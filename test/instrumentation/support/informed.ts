import { createInstrumentation } from '../../../packages/instrumentation/src/create-instrumentation.ts'
import { traceCluster } from '../../../packages/instrumentation/src/kubernetes/index.ts'
import type { KubernetesObject } from '../../../packages/instrumentation/src/objects/kubernetes-object.ts'
import { derivedCpid } from '../../../src/kube/inference/write-key.ts'
import { cpid } from '../../support/otlp-requests.ts'
import type { Sdk } from './start-sdk.ts'

export const CPID = 'causeway.io/cpid'

interface Writer {
  manager: string
  operation: string
  subresource?: string
  time: string
  fieldsV1: object
}
export interface Version extends KubernetesObject {
  metadata: {
    name: string
    namespace?: string
    uid: string
    resourceVersion: string
    generation?: number
    annotations?: Record<string, string>
    ownerReferences?: object[]
    managedFields?: Writer[]
    deletionTimestamp?: string
  }
  data?: Record<string, string>
  spec?: { replicas: number }
  status?: { observedGeneration?: number; conditions?: { observedGeneration?: number }[] }
}

/** A cache that is told what a watch would tell it, as the client's informers are. */
class Informed {
  readonly #objects = new Map<string, Version>()
  readonly #told = new Map<string, ((object: Version) => void)[]>()

  on(verb: string, tell: (object: Version) => void): void {
    this.#told.set(verb, [...(this.#told.get(verb) ?? []), tell])
  }
  get(name: string): Version | undefined {
    return this.#objects.get(name)
  }
  list(): Version[] {
    return [...this.#objects.values()]
  }
  tell(verb: 'add' | 'update' | 'delete', object: Version): Version {
    if (verb === 'delete') this.#objects.delete(object.metadata.name)
    else this.#objects.set(object.metadata.name, object)
    for (const tell of this.#told.get(verb) ?? []) tell(object)
    return object
  }
}

export function informed() {
  let next = 100
  let atMs = Date.UTC(2026, 0, 1)
  const newCpid = () => cpid(next++)
  const instrumentation = createInstrumentation({ cluster: 'prod', newCpid, nowMs: () => atMs })
  const cluster = traceCluster({ makeApiClient: () => undefined }, { instrumentation })
  const plain = new Informed()
  const traced = cluster.informer(plain, { apiVersion: 'apps/v1', kind: 'Deployment' })
  const follow = (kind: string): Informed => {
    const others = new Informed()
    cluster.informer(others, { apiVersion: 'v1', kind })
    return others
  }
  const contextOf = (object: Version) => instrumentation.extractFromObject(object)?.cpid
  const wait = (ms: number): void => void (atMs += ms)
  return { instrumentation, plain, traced, contextOf, cluster, follow, wait }
}

export const version = (resourceVersion: string, more: Partial<Version['metadata']> = {}): Version => ({
  metadata: { name: 'web', uid: 'u1', resourceVersion, generation: 1, ...more },
})
export const marked = { annotations: { [CPID]: cpid(1) } }
export const byOperator = (second: number): Writer => ({
  manager: 'operator',
  operation: 'Update',
  time: `2026-01-01T00:00:0${second}Z`,
  fieldsV1: { 'f:metadata': { 'f:annotations': { [`f:${CPID}`]: {} } }, 'f:spec': { 'f:replicas': {} } },
})
export const byKubectl = (second: number): Writer => ({
  manager: 'kubectl-patch',
  operation: 'Update',
  time: `2026-01-01T00:00:0${second}Z`,
  fieldsV1: { 'f:spec': { 'f:replicas': {} } },
})
export const rootOf = (resourceVersion: string, uid = 'u1', cluster = 'prod'): string =>
  derivedCpid('root', { cluster, uid, version: resourceVersion })
export const told = (sdk: Sdk) => sdk.records().map(({ attributes }) => attributes['cpid.new'])
