import type { IngestCounts } from '../model/arrivals.ts'
import type { MetricResource, MetricStore, PodPoint } from '../model/pod-stats.ts'
import { MIB } from '../model/time-and-size.ts'
import {
  notAllowedSentence,
  repeatedAttributeSentence,
  type SenderPermissions,
} from './sender-permissions.ts'

/** The size of a part, unless one resource is larger: backends accept 4 MiB, and several parts are sent together. */
const PART_BYTES = MIB / 2

interface MetricSink {
  /** Absent when metrics are not stored. */
  readonly store: Pick<MetricStore, 'queue' | 'hold'> | undefined
  /** The sender's permissions; undefined when everybody may send everything. */
  readonly permissions: SenderPermissions | undefined
  readonly sender: string | undefined
  readonly counts: () => IngestCounts
  readonly reject: (points: number, reason: string) => void
}

/** Stores the permitted resources of a request: in parts for exporters, and the points of Pods. */
export function* recordMetrics(
  resources: readonly MetricResource[],
  { store, permissions, sender, counts, reject }: MetricSink,
): Generator<undefined> {
  let fields: Buffer[] = []
  let bytes = 0
  let points = 0
  const ofPods = new Map<string, PodPoint[]>()
  const queue = (): void => {
    if (fields.length === 0) return
    store?.queue({ request: Buffer.concat(fields), points })
    counts().points += points
    fields = []
    bytes = points = 0
  }
  for (const resource of resources) {
    const refusal = refusalOf(resource, permissions, sender)
    if (refusal !== undefined) {
      counts().forbiddenPoints += resource.points
      reject(resource.points, refusal)
      continue
    }
    if (resource.podPoints.length > 0) addTo(ofPods, resource)
    fields.push(resource.field)
    bytes += resource.field.length
    points += resource.points
    if (bytes < PART_BYTES) continue
    queue()
    yield
  }
  queue()
  for (const [cluster, held] of ofPods) counts().podPointsLeftOut += store?.hold(held, cluster) ?? 0
}

function addTo(ofPods: Map<string, PodPoint[]>, { cluster = '', podPoints }: MetricResource): void {
  const known = ofPods.get(cluster)
  if (known === undefined) ofPods.set(cluster, [...podPoints])
  else for (const point of podPoints) known.push(point)
}

function refusalOf(
  { service, cluster = '', repeated }: MetricResource,
  permissions: SenderPermissions | undefined,
  sender: string | undefined,
): string | undefined {
  if (permissions === undefined) return undefined
  if (repeated !== undefined) return repeatedAttributeSentence('data points', repeated)
  if (permissions.may('metrics', service, cluster)) return undefined
  return notAllowedSentence('data points', { sender, service, cluster })
}
