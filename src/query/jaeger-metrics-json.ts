import { STATUS_ERROR } from '../model/arrivals.ts'
import { CPID_COPY, CPID_SYNTHETIC } from '../model/attributes.ts'
import type { CausewayQueries } from '../model/queries.ts'
import { MIB, type UnixNanos } from '../model/time-and-size.ts'
import { commaSeparated } from './list-json.ts'
import { allOf, anyOf, compare, INTRINSIC, SERVICE, spansWith } from './traceql/span-filters.ts'
import { partialJson } from './tempo-search-json.ts'
import { searchTraces } from './trace-names-json.ts'
import { SearchEffort } from './trace-search.ts'
import type { Attribute, Field, Kind, Static } from './traceql/syntax.ts'
import { TextKeys } from './traceql/text-keys.ts'
import type { StoredSpan } from './traceql/trace-data.ts'

/** A request of the Monitor tab of Jaeger's UI. */
export interface JaegerMetricsAsked {
  readonly what: 'latencies' | 'calls' | 'errors'
  readonly services: readonly string[]
  readonly kinds: readonly Kind[]
  readonly byOperation: boolean
  /** The quantile of `latencies`, from 0 to 1. */
  readonly quantile: number
  /** Each series has a point at `fromNs` and at every further step up to `toNs`. */
  readonly fromNs: UnixNanos
  readonly toNs: UnixNanos
  readonly stepNs: bigint
  /** A point covers the spans that started within this time before it. */
  readonly windowNs: bigint
}

const MOST_SERIES = 1_000
/** The most characters of the labels of all series together. */
const MOST_LABEL_LENGTH = 8 * MIB
/** The most histogram buckets, counted over all points of all series. */
const MOST_BUCKETS = 1_000_000
/** Attributes of spans that are not counted: Causeway's own spans, and copies of spans in other traces. */
const NO_CALLS: readonly Attribute[] = [
  { kind: 'attribute', scope: 'span', name: CPID_COPY },
  { kind: 'attribute', scope: 'span', name: CPID_SYNTHETIC },
]

const isTrue = (value: Static | undefined): boolean => value?.type === 'boolean' && value.value
/** The width of a histogram bucket in the logarithm of the duration: 1 %. */
const LOG_BUCKET_WIDTH = Math.log(1.01)

/** Call rates, error rates and latencies of services. Jaeger answers them from a metrics backend; Causeway computes them from spans. */
export function* jaegerMetricsJson(
  queries: CausewayQueries,
  asked: JaegerMetricsAsked,
  nowMs: () => number,
): Generator<string> {
  const effort = new SearchEffort(nowMs, () => queries.bytesRead)
  const windows = new Windows(asked)
  const [service, ...services] = asked.services.map((one): Field => compare(SERVICE, '=', one))
  const [kind, ...kinds] = asked.kinds.map((one): Field => compare(INTRINSIC.kind, 'reads', one))
  if (service !== undefined && kind !== undefined)
    yield* searchTraces(
      queries,
      {
        pipeline: spansWith(allOf(anyOf(service, ...services), anyOf(kind, ...kinds))),
        fromNs: asked.fromNs - asked.windowNs,
        toNs: asked.toNs,
      },
      {
        effort,
        also: NO_CALLS,
        see: ({ sets, selected }) => {
          for (const { stored } of sets.flatMap(({ spans }) => spans)) {
            const read = selected(stored)
            if (!NO_CALLS.some((attribute) => isTrue(read?.valueOf(attribute)))) windows.add(stored)
          }
          return true
        },
      },
    )
  if (windows.isFull)
    effort.leaveOut(
      `there are more than ${MOST_SERIES} operations, or more values than may be counted: ask about fewer services, or take ` +
        'longer steps',
    )
  const { name, help } = FAMILIES[asked.what]
  const family = {
    name: asked.byOperation ? name.replace('service', 'service_operation') : name,
    type: 'GAUGE',
    help: help(asked.quantile) + (asked.byOperation ? ' & operation' : ''),
  }
  yield `${JSON.stringify(family).slice(0, -1)},"metrics":[`
  yield* commaSeparated(windows.metrics(), (metric) => JSON.stringify(metric))
  yield `]${partialJson(effort.lacks)}}`
}

const FAMILIES = {
  latencies: {
    name: 'service_latencies',
    help: (quantile: number) => `${quantile.toFixed(2)}th quantile latency, grouped by service`,
  },
  calls: { name: 'service_call_rate', help: () => 'calls/sec, grouped by service' },
  errors: {
    name: 'service_error_rate',
    help: () => 'error rate, computed as a fraction of errors/sec over calls/sec, grouped by service',
  },
}

/** The difference between two successive points: the errors, and the spans in each duration bucket, that enter or leave the window. */
interface Change {
  errors: number
  readonly byBucket: Map<number, number>
}

interface Series {
  readonly service: string
  readonly operation: string
  readonly changes: Map<number, Change>
}

/** Counts each span in all points whose window contains it. */
class Windows {
  readonly #asked: JaegerMetricsAsked
  readonly #points: number
  readonly #series = new Map<string, Series>()
  readonly #keys = new TextKeys()
  #buckets = 0
  #labelLength = 0
  isFull = false

  constructor(asked: JaegerMetricsAsked) {
    this.#asked = asked
    this.#points = Number((asked.toNs - asked.fromNs) / asked.stepNs) + 1
  }

  add(span: StoredSpan): void {
    const { fromNs, stepNs, windowNs } = this.#asked
    const first = Math.max(0, Number(ceilOf(span.startNs - fromNs, stepNs)))
    const end = Number(ceilOf(span.startNs + windowNs - fromNs, stepNs))
    if (first >= this.#points || end <= first) return
    const series = this.#seriesOf(span)
    if (series === undefined) return
    const ns = Number(span.endNs - span.startNs)
    const bucket = ns <= 0 ? -Infinity : Math.round(Math.log(ns) / LOG_BUCKET_WIDTH)
    const isError = span.status === STATUS_ERROR
    this.#change(series, { at: first, by: 1, bucket, isError })
    if (end < this.#points) this.#change(series, { at: end, by: -1, bucket, isError })
  }

  #seriesOf({ scope, name }: StoredSpan): Series | undefined {
    const { service } = scope
    const operation = this.#asked.byOperation ? name : ''
    const key = JSON.stringify([this.#keys.of(service), this.#keys.of(operation)])
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const length = this.#labelLength + service.length + operation.length
    if (this.#series.size >= MOST_SERIES || length > MOST_LABEL_LENGTH) {
      this.isFull = true
      return undefined
    }
    this.#labelLength = length
    const made: Series = { service, operation, changes: new Map<number, Change>() }
    this.#series.set(key, made)
    return made
  }

  #change(
    { changes }: Series,
    { at, by, bucket, isError }: { at: number; by: 1 | -1; bucket: number; isError: boolean },
  ): void {
    let change = changes.get(at)
    if (change === undefined) changes.set(at, (change = { errors: 0, byBucket: new Map<number, number>() }))
    if (isError) change.errors += by
    const before = change.byBucket.get(bucket)
    if (before === undefined && ++this.#buckets > MOST_BUCKETS) this.isFull = true
    else change.byBucket.set(bucket, (before ?? 0) + by)
  }

  *metrics(): Generator<object> {
    const all = [...this.#series.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    for (const series of all) {
      const labels = [{ name: 'service_name', value: series.service }]
      if (this.#asked.byOperation) labels.unshift({ name: 'operation', value: series.operation })
      yield { labels, metricPoints: [...this.#pointsOf(series)] }
    }
  }

  *#pointsOf({ changes }: Series): Generator<object> {
    const { fromNs, stepNs } = this.#asked
    const spans: Spans = { byBucket: new Map(), count: 0, errors: 0 }
    for (let at = 0; at < this.#points; at++) {
      const change = changes.get(at)
      if (change !== undefined) apply(spans, change)
      const value = this.#valueOf(spans)
      if (Number.isNaN(value)) continue
      const timeNs = fromNs + BigInt(at) * stepNs
      yield {
        gaugeValue: { doubleValue: value },
        timestamp: new Date(Number(timeNs / 1_000_000n)).toISOString(),
      }
    }
  }

  /** The value of a point; NaN if it has none. */
  #valueOf(spans: Spans): number {
    const { what, windowNs, quantile } = this.#asked
    switch (what) {
      case 'calls':
        return spans.count / (Number(windowNs) / 1e9)
      case 'errors':
        return spans.count === 0 ? NaN : spans.errors / spans.count
      case 'latencies':
        return quantileMs(spans, quantile)
    }
  }
}

const keyOf = ({ service, operation }: Series): string => JSON.stringify([service, operation])

const ceilOf = (value: bigint, step: bigint): bigint =>
  value > 0n ? (value + step - 1n) / step : value / step

/** The spans in the window of a point, counted by duration bucket. */
interface Spans {
  readonly byBucket: Map<number, number>
  count: number
  errors: number
}

function apply(spans: Spans, { errors, byBucket }: Change): void {
  spans.errors += errors
  for (const [bucket, by] of byBucket) {
    const count = (spans.byBucket.get(bucket) ?? 0) + by
    if (count === 0) spans.byBucket.delete(bucket)
    else spans.byBucket.set(bucket, count)
    spans.count += by
  }
}

/** The quantile of the durations in milliseconds, rounded to a bucket. */
function quantileMs({ byBucket, count }: Spans, quantile: number): number {
  let left = Math.max(1, Math.ceil(count * quantile))
  for (const [bucket, inBucket] of [...byBucket].sort(([a], [b]) => a - b)) {
    left -= inBucket
    if (left <= 0) return Math.exp(bucket * LOG_BUCKET_WIDTH) / 1e6
  }
  return NaN
}
