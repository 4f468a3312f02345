/** What a line shows of a Pod. */
type PodStatKind = 'cpu' | 'memory' | 'restarts' | 'throttling'

/** A metric of which the points of Pods are kept. */
export interface PodMetric {
  /** As it is stored; never another metric's. */
  readonly id: number
  readonly name: string
  readonly kind: PodStatKind
  readonly unit: string
  /** Its values grow: only differences between them say something. */
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
 * What the Collector's receivers kubeletstats, k8s_cluster, docker_stats and, from cAdvisor, prometheus say of Pods and their containers.
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

/** One value that was measured of a Pod, or of a container in it. */
export interface PodPoint {
  readonly uid: string
  /** Empty for the Pod itself. */
  readonly container: string
  /** `PodMetric.id`. */
  readonly metric: number
  /** Unix time in milliseconds; 0 where it was not said. */
  readonly timeMs: number
  readonly value: number
}

/** One resource of a request for metrics. */
export interface MetricResource {
  /** The ResourceMetrics with its tag and length: such bytes one after the other are a request. */
  readonly field: Buffer
  readonly service: string
  readonly cluster: string | undefined
  /** Which of those two it names more than once. */
  readonly repeated: string | undefined
  /** How many data points it holds. */
  readonly points: number
  readonly podPoints: readonly PodPoint[]
}

/** A part of the outbox of metrics, and how many data points it holds. */
export interface MetricPart {
  readonly request: Buffer
  readonly points: number
}

/** A part in the outbox. */
export interface QueuedMetrics extends MetricPart {
  readonly decision: number
}

/** Reads the outbox of metrics; it never writes. */
export interface MetricOutboxReader {
  /** Parts after `position` in order, at most `limit`, and fewer where they are large. */
  after(position: number, limit: number): QueuedMetrics[]
}

/** Where metrics are kept, inside a transaction. */
export interface MetricStore {
  /** Keeps a part of a request until every exporter has sent it; nothing where there are none. */
  queue(part: MetricPart): void
  /**
   * Keeps points, all of one cluster, until it is known whether a change made or ended their Pods. Returns how many of them were left
   * out because too many wait already.
   */
  hold(points: readonly PodPoint[], cluster: string): number
  /** Decides about points that waited long enough, oldest first, until `mayGoOn` returns false; true if there may be more. */
  decide(mayGoOn: () => boolean): boolean
}
