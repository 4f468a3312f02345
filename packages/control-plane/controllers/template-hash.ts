import { createHash } from 'node:crypto'
import type { PodTemplate } from '../api/kube-objects.ts'

export const HASH_LABEL = 'pod-template-hash'

const DIGITS = 9

/** What tells the ReplicaSets of a Deployment apart. */
export function templateHash(template: PodTemplate): string {
  return createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, DIGITS)
}
