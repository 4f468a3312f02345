/** What a chart of a Pod shows. */
type PodStatKind = 'cpu' | 'memory' | 'restarts' | 'throttling'

/** A metric whose points about Pods are stored. */
export interface PodMetric {
  /** Its id in the database; never reused for another metric. */
  readonly id: number
  readonly name: string
  readonly kind: PodStatKind
  readonly unit: string
  /** Whether values accumulate, so that only differences are meaningful. */
  readonly isCumulative: boolean
}

const gauge = (id: number, name: string, kind: PodStatKind, unit: string): PodMetric => ({
  ...{ id, name, kind, unit },
  isCumulative: false,
})

const cumulative = (id: number, name: string, kind: PodStatKind, unit: string): PodMetric => ({
  ...{ id, name, kind, unit },
  isCumulative: true,
})

/**
 * The metrics of Pods and containers from the Collector's receivers kubeletstats, k8s_cluster, docker_stats and (from cAdvisor) prometheus.
 * A kubelet's summary has no throttling.
 */
export const POD_METRICS: readonly PodMetric[] = [
  gauge(1, 'k8s.pod.cpu.usage', 'cpu', '{cpu}'),
  gauge(2, 'container.cpu.usage', 'cpu', '{cpu}'),
  gauge(3, 'k8s.pod.memory.working_set', 'memory', 'By'),
  gauge(4, 'container.memory.working_set', 'memory', 'By'),
  gauge(5, 'k8s.container.restarts', 'restarts', '{restart}'),
  cumulative(6, 'container.cpu.throttling_data.throttled_time', 'throttling', 'ns'),
  cumulative(7, 'container_cpu_cfs_throttled_seconds_total', 'throttling', 's'),
]

/** A value measured for a Pod, or for a container in it. */
export interface PodPoint {
  readonly uid: string
  /** '' for the Pod itself. */
  readonly container: string
  /** `PodMetric.id`. */
  readonly metric: number
  /** Unix time in milliseconds; 0 if absent. */
  readonly timeMs: number
  readonly value: number
}

/** A resource of a metrics request. */
export interface MetricResource {
  /** The ResourceMetrics with its tag and length; concatenated, such bytes are a request. */
  readonly field: Buffer
  readonly service: string
  readonly cluster: string | undefined
  /** Which of these two attributes occurs more than once. */
  readonly repeated: string | undefined
  /** The number of its data points. */
  readonly points: number
  readonly podPoints: readonly PodPoint[]
}

/** A part of a metrics request, and the number of its data points. */
export interface MetricPart {
  readonly request: Buffer
  readonly points: number
}

/** A part in the metrics outbox. */
export interface QueuedMetrics extends MetricPart {
  readonly decision: number
}

/** Reads the metrics outbox; never writes. */
export interface MetricOutboxReader {
  /** The parts after `position` in order, at most `limit`; fewer if they are large. */
  after(position: number, limit: number): QueuedMetrics[]
}

/** Stores metrics, inside a transaction. */
export interface MetricStore {
  /** Keeps a part until every exporter has sent it; drops it if there is no exporter. */
  queue(part: MetricPart): void
  /**
   * Holds points of one cluster until it is known whether a change created or deleted their Pods. Returns how many were dropped because too
   * many are held.
   */
  hold(points: readonly PodPoint[], cluster: string): number
  /** Decides about points that were held long enough, oldest first, until `mayGoOn` returns false. True if there may be more. */
  decide(mayGoOn: () => boolean): boolean
}
