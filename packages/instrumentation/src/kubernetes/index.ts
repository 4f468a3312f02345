// What `causeway-instrumentation/kubernetes` gives a controller that uses `@kubernetes/client-node`.
export { traceCluster, type TraceClusterSettings, type TracedCluster } from './trace-cluster.ts'
export type { Reconciler } from './reconciler.ts'
