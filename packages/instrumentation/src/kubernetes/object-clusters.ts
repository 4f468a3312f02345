import type { Instrumentation } from '../instrumentation.ts'

const clusters = new WeakMap<object, Instrumentation>()

/** Notes the cluster of an object: objects do not name it, and two clusters may have objects of the same name. */
export function noteCluster(object: object, cluster: Instrumentation): void {
  clusters.set(object, cluster)
}

/** The cluster whose informer delivered an object; undefined if none did. */
export function clusterOf(object: object): Instrumentation | undefined {
  return clusters.get(object)
}
