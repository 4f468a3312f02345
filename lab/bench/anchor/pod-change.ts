import { hex, scrambled } from '../load/span-template.ts'
import type { CpidRole, ObjectShape } from './steps.ts'

export const NODES = 5_000
/** Of three Pods each; each is changed again after 500 s at 100 changes a second, when its last cascade has settled. */
export const DEPLOYMENTS = 50_000

/** The first half of the id of every span, by which the sink knows them from what Causeway adds. */
export const SPAN_ID_PREFIX = 0xa9c417e5

const ROLES: readonly CpidRole[] = ['operator', 'replicaset', 'endpoints']
const VERSIONS_PER_CHANGE = 16
/** So that all versions have as many digits. */
const FIRST_VERSION = 100_000_000_000

export const OBJECT_LENGTH: Record<ObjectShape['kind'], number> = {
  deployment: objectOf(0, { kind: 'deployment', version: 0 }).length,
  replicaset: objectOf(0, { kind: 'replicaset', version: 0 }).length,
  pod: objectOf(0, { kind: 'pod', version: 0 }).length,
  endpoints: objectOf(0, { kind: 'endpoints', version: 0 }).length,
}

/** The CPID that a role has in a change: text of 36 characters, looking random at the front as they do in life. */
export function cpidText(seed: number, change: number, role: CpidRole): string {
  const at = ROLES.indexOf(role)
  return `${hex(scrambled(seed ^ (change * 4 + at)), 8)}-${hex(seed & 0xffff, 4)}-4000-8000-${hex(change * 4 + at + 1, 12)}`
}

/** The change of the same Deployment before; the change itself when it is its first. */
export function previousChange(change: number): number {
  return change < DEPLOYMENTS ? change : change - DEPLOYMENTS
}

/** The node whose kubelet starts the Pod. */
export function nodeName(change: number): string {
  return `node-${String(scrambled(change) % NODES).padStart(4, '0')}`
}

export function objectOf(change: number, { kind, version }: ObjectShape): string {
  const name = `web-${hex(change % DEPLOYMENTS, 6)}`
  const rv = `rv=${FIRST_VERSION + change * VERSIONS_PER_CHANGE + version}`
  switch (kind) {
    case 'deployment':
      return `apps/v1/deployments/shop/${name}?${rv}`
    case 'replicaset':
      return `apps/v1/replicasets/shop/${name}-5d4f?${rv}`
    case 'pod':
      return `v1/pods/shop/${name}-5d4f-${hex(change, 8)}?${rv}`
    case 'endpoints':
      return `v1/endpoints/shop/${name}?${rv}`
  }
}
