import type { KubeObject, Resource } from '../../../packages/control-plane/api/kube-objects.ts'
import type { ObjectStore } from '../../../packages/control-plane/api/object-store.ts'

/** What the API server had to do and keeps. */
export interface ServerLoad {
  /** Versions that were made: each is also one event for every watch of the resource. */
  writes: number
  objects: number
  /** Of an object in JSON, on average. */
  bytesPerObject: number
}

const KEPT: readonly Resource[] = ['apps/v1/deployments', 'apps/v1/replicasets', 'v1/pods']

export function loadOf(store: ObjectStore, firstVersion: number): ServerLoad {
  const objects = KEPT.flatMap((resource): KubeObject[] => store.list(resource).items)
  const bytes = objects.reduce((sum, object) => sum + Buffer.byteLength(JSON.stringify(object)), 0)
  return {
    writes: versionOf(store) - firstVersion,
    objects: objects.length,
    bytesPerObject: bytes / objects.length,
  }
}

export function versionOf(store: ObjectStore): number {
  return Number(store.list('v1/pods').resourceVersion)
}
