import type { Pod } from '../api/kube-objects.ts'

/** Runs and can be reached. */
export function isReady({ metadata, status }: Pod): boolean {
  return status.phase === 'Running' && status.podIP !== undefined && metadata.deletionTimestamp === undefined
}
