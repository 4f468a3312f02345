import { counter, gauge } from './metric-spec.ts'

const CLUSTER = ['cluster'] as const

/** What is seen of clusters from outside, and what is made of it. */
export const CLUSTER_METRICS = {
  cpid_inferred_writes: counter(
    'writes',
    ['cluster', 'cause'],
    'Writes of observed clusters that were decided: of operators, with an exact cause, with an inferred one.',
  ),
  cpid_inference_unchanged: counter(
    'writes',
    CLUSTER,
    'Versions and requests that were known already, or only a sign of life.',
  ),
  cpid_inference_gaps: counter('writes', CLUSTER, 'Writes with versions before them that nobody saw.'),
  cpid_inference_unmatched_admissions: counter(
    'requests',
    CLUSTER,
    'Requests that `k8s_admission` told of and that made no write: refused in the end, or their version was not seen.',
  ),
  cpid_inferred_events: counter('events', CLUSTER, 'Events told as log records of their object’s cascade.'),
  cpid_inference_waiting: gauge(
    'items',
    [],
    'Writes and Events of observed clusters that are not decided yet.',
  ),
}
