import type { Instrumentation } from '../instrumentation.ts'

const clusters = new WeakMap<object, Instrumentation>()

/** Notes in which cluster an object is: objects themselves do not say, and two clusters may have one of the same name. */
export function noteCluster(object: object, cluster: Instrumentation): void {
  clusters.set(object, cluster)
}

/** The cluster whose informer told of an object; undefined where none did. */
export function clusterOf(object: object): Instrumentation | undefined {
  return clusters.get(object)
}
