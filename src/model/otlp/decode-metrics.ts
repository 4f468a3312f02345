import { CLUSTER_NAME, CONTAINER_NAME, POD_UID, SERVICE_NAME } from '../attributes.ts'
import { type MetricResource, POD_METRICS, type PodMetric, type PodPoint } from '../pod-stats.ts'
import { FIXED64, ItemCount, readAttribute, VARINT, WireCursor } from './protobuf-wire.ts'

const RESOURCE_METRICS = 1
const RESOURCE = 1
const RESOURCE_ATTRIBUTES = 1
const SCOPE_METRICS = 2
const METRICS = 2
const NAME = 1
const GAUGE = 5
const SUM = 7
/** The field numbers of a metric's data: gauge, sum, histogram, exponential histogram, summary. */
const DATA: readonly number[] = [GAUGE, SUM, 9, 10, 11]
const DATA_POINTS = 1
const TIME = 3
const AS_DOUBLE = 4
const AS_INT = 6
const FLAGS = 8
const NO_RECORDED_VALUE = 1

const NS_PER_MS = 1_000_000n
/** Points with a longer uid are ignored, and longer container names are cut: a uid is a UUID, a container's name a DNS label. */
const MOST_UID = 64
const MOST_NAME = 256

const KEYS: readonly string[] = [SERVICE_NAME, CLUSTER_NAME, POD_UID, CONTAINER_NAME]
const KEY_LENGTHS: ReadonlySet<number> = new Set(KEYS.map(({ length }) => length))
const BY_NAME: ReadonlyMap<string, PodMetric> = new Map(POD_METRICS.map((metric) => [metric.name, metric]))
const NAME_LENGTHS: ReadonlySet<number> = new Set(POD_METRICS.map(({ name }) => name.length))

/**
 * Decodes an ExportMetricsServiceRequest. Each resource stays as bytes; only metrics of Pods are decoded to points. Resources without data
 * points are left out. Throws MalformedOtlp if the bytes are malformed, or hold too many items for their length.
 */
export function decodeMetrics(request: Buffer): MetricResource[] {
  const count = new ItemCount(request.length)
  const resources: MetricResource[] = []
  const cursor = new WireCursor(request)
  while (cursor.next()) {
    if (cursor.field !== RESOURCE_METRICS) continue
    cursor.expectLength('resource group')
    count.add('resources')
    const { tagAt, pos, start, end } = cursor
    const found = new ResourceReader(request, count).read(start, end)
    if (found.points > 0) resources.push({ field: request.subarray(tagAt, pos), ...found })
  }
  return resources
}

/** Reads a resource. Its attributes are read first, since they may come last in the bytes. */
class ResourceReader {
  readonly #bytes: Buffer
  readonly #count: ItemCount
  readonly #said = new Map<string, string>()
  #repeated: string | undefined
  #points = 0
  readonly #podPoints: PodPoint[] = []

  constructor(bytes: Buffer, count: ItemCount) {
    this.#bytes = bytes
    this.#count = count
  }

  read(start: number, end: number): Omit<MetricResource, 'field'> {
    const cursor = new WireCursor(this.#bytes, start, end)
    while (cursor.next()) {
      if (cursor.field !== RESOURCE) continue
      cursor.expectLength('resource')
      this.#readWho(cursor.start, cursor.end)
    }
    cursor.reset(start, end)
    while (cursor.next()) {
      if (cursor.field !== SCOPE_METRICS) continue
      cursor.expectLength('scope group')
      this.#count.add('scopes')
      this.#readScope(cursor.start, cursor.end)
    }
    return {
      service: this.#said.get(SERVICE_NAME) ?? '',
      cluster: this.#said.get(CLUSTER_NAME),
      repeated: this.#repeated,
      points: this.#points,
      podPoints: this.#podPoints,
    }
  }

  /** Attribute keys are unique (OTLP). If one is repeated, the first counts, as for spans. */
  #readWho(start: number, end: number): void {
    const cursor = new WireCursor(this.#bytes, start, end)
    while (cursor.next()) {
      if (cursor.field !== RESOURCE_ATTRIBUTES) continue
      cursor.expectLength('resource attribute')
      if (!mayBeKey(this.#bytes, cursor.start)) continue
      const { key, value } = readAttribute(this.#bytes, cursor.start, cursor.end, this.#count)
      if (!KEYS.includes(key)) continue
      if (!this.#said.has(key)) this.#said.set(key, typeof value === 'string' ? value : '')
      else if (key === SERVICE_NAME || key === CLUSTER_NAME) this.#repeated ??= key
    }
  }

  #readScope(start: number, end: number): void {
    const cursor = new WireCursor(this.#bytes, start, end)
    while (cursor.next()) {
      if (cursor.field !== METRICS) continue
      cursor.expectLength('metric')
      this.#count.add('metrics')
      this.#readMetric(cursor.start, cursor.end)
    }
  }

  #readMetric(start: number, end: number): void {
    const cursor = new WireCursor(this.#bytes, start, end)
    let metric: PodMetric | undefined
    while (cursor.next()) {
      if (cursor.field === NAME) {
        cursor.expectLength('name')
        metric = NAME_LENGTHS.has(cursor.end - cursor.start) ? BY_NAME.get(cursor.text()) : undefined
      } else if (DATA.includes(cursor.field)) {
        cursor.expectLength('data')
        this.#countPoints(cursor.start, cursor.end)
      }
    }
    const uid = this.#said.get(POD_UID) ?? ''
    if (metric === undefined || uid === '' || uid.length > MOST_UID) return
    cursor.reset(start, end)
    while (cursor.next())
      if (cursor.field === GAUGE || cursor.field === SUM)
        this.#readPoints(cursor.start, cursor.end, metric, uid)
  }

  #countPoints(start: number, end: number): void {
    const cursor = new WireCursor(this.#bytes, start, end)
    while (cursor.next()) {
      if (cursor.field !== DATA_POINTS) continue
      cursor.expectLength('data point')
      this.#count.add('data points')
      this.#points++
    }
  }

  #readPoints(start: number, end: number, { id: metric }: PodMetric, uid: string): void {
    const cursor = new WireCursor(this.#bytes, start, end)
    const container = (this.#said.get(CONTAINER_NAME) ?? '').slice(0, MOST_NAME)
    while (cursor.next()) {
      if (cursor.field !== DATA_POINTS) continue
      const point = readNumber(this.#bytes, cursor.start, cursor.end)
      if (point === undefined) continue
      this.#count.add('points of Pods')
      this.#podPoints.push({ uid, container, metric, ...point })
    }
  }
}

/** Whether an attribute may be one of those needed, judged by the length of its key; also true if the key does not come first. */
function mayBeKey(bytes: Buffer, start: number): boolean {
  return bytes[start] !== KEY_TAG || KEY_LENGTHS.has(bytes[start + 1] ?? 0)
}

const KEY_TAG = 0x0a

/** Decodes a NumberDataPoint; undefined unless its value is a finite number. */
function readNumber(
  bytes: Buffer,
  start: number,
  end: number,
): Pick<PodPoint, 'timeMs' | 'value'> | undefined {
  const cursor = new WireCursor(bytes, start, end)
  let timeMs = 0
  let value: number | undefined
  let isMissing = false
  while (cursor.next()) {
    if (cursor.field === TIME) timeMs = Number(cursor.nanos('time_unix_nano') / NS_PER_MS)
    else if (cursor.field === AS_DOUBLE && cursor.wire === FIXED64) value = bytes.readDoubleLE(cursor.start)
    else if (cursor.field === AS_INT && cursor.wire === FIXED64)
      value = Number(bytes.readBigInt64LE(cursor.start))
    else if (cursor.field === FLAGS && cursor.wire === VARINT)
      isMissing = (cursor.int32('flags') & NO_RECORDED_VALUE) !== 0
  }
  return value === undefined || !Number.isFinite(value) || isMissing ? undefined : { timeMs, value }
}
