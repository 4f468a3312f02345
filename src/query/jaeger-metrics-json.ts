import { STATUS_ERROR } from '../model/arrivals.ts'
import { CPID_COPY, CPID_SYNTHETIC } from '../model/attributes.ts'
import type { CausewayQueries } from '../model/queries.ts'
import type { UnixNanos } from '../model/time-and-size.ts'
import { allOf, anyOf, compare, INTRINSIC, SERVICE, spansWith } from './span-filters.ts'
import { partialJson } from './tempo-search-json.ts'
import { lookThrough } from './trace-names-json.ts'
import { SearchEffort } from './trace-search.ts'
import type { Attribute, Field, Kind, Static } from './traceql/syntax.ts'
import type { StoredSpan } from './traceql/trace-data.ts'

/** What Jaeger's page shows under Monitor. */
export interface JaegerMetricsAsked {
  readonly what: 'latencies' | 'calls' | 'errors'
  readonly services: readonly string[]
  readonly kinds: readonly Kind[]
  readonly byOperation: boolean
  /** From 0 to 1; of latencies. */
  readonly quantile: number
  /** A value each step from the first of these times until the last. */
  readonly fromNs: UnixNanos
  readonly toNs: UnixNanos
  readonly stepNs: bigint
  /** Each value is of the spans that started within so long before its time. */
  readonly windowNs: bigint
}

const MOST_SERIES = 1_000
/** How many values of how many lengths all series together may remember. */
const MOST_CHANGES = 1_000_000
/** What marks spans that are no calls, or those of another trace again. */
const NO_CALLS: readonly Attribute[] = [
  { kind: 'attribute', scope: 'span', name: CPID_COPY },
  { kind: 'attribute', scope: 'span', name: CPID_SYNTHETIC },
]

const isTrue = (value: Static | undefined): boolean => value?.type === 'boolean' && value.value
/** Lengths count as the same that differ by no more than this. */
const LOG_WIDTH = Math.log(1.01)

/** The rates, errors and durations of the spans of services, as Jaeger answers them of what a metrics backend keeps. */
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
    yield* lookThrough(
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
  let separator = ''
  for (const metric of windows.metrics()) {
    yield separator + JSON.stringify(metric)
    separator = ','
  }
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

/** What changes from one time to the next: how many spans more or less of a length. */
interface Change {
  errors: number
  readonly ofLength: Map<number, number>
}

interface Series {
  readonly service: string
  readonly operation: string
  readonly changes: Map<number, Change>
}

/** Counts spans for each of the times whose window they are in. */
class Windows {
  readonly #asked: JaegerMetricsAsked
  readonly #points: number
  readonly #series = new Map<string, Series>()
  #changes = 0
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
    const length = ns <= 0 ? -Infinity : Math.round(Math.log(ns) / LOG_WIDTH)
    const isError = span.status === STATUS_ERROR
    this.#change(series, { at: first, by: 1, length, isError })
    if (end < this.#points) this.#change(series, { at: end, by: -1, length, isError })
  }

  #seriesOf({ scope, name }: StoredSpan): Series | undefined {
    const { service } = scope
    const operation = this.#asked.byOperation ? name : ''
    const key = JSON.stringify([service, operation])
    const known = this.#series.get(key)
    if (known !== undefined) return known
    if (this.#series.size >= MOST_SERIES) {
      this.isFull = true
      return undefined
    }
    const made: Series = { service, operation, changes: new Map<number, Change>() }
    this.#series.set(key, made)
    return made
  }

  #change(
    { changes }: Series,
    { at, by, length, isError }: { at: number; by: 1 | -1; length: number; isError: boolean },
  ): void {
    let change = changes.get(at)
    if (change === undefined) changes.set(at, (change = { errors: 0, ofLength: new Map<number, number>() }))
    if (isError) change.errors += by
    const before = change.ofLength.get(length)
    if (before === undefined && ++this.#changes > MOST_CHANGES) this.isFull = true
    else change.ofLength.set(length, (before ?? 0) + by)
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
    const spans: Spans = { ofLength: new Map(), count: 0, errors: 0 }
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

  /** NaN where there is none. */
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

/** Those in the window of one time. */
interface Spans {
  readonly ofLength: Map<number, number>
  count: number
  errors: number
}

function apply(spans: Spans, { errors, ofLength }: Change): void {
  spans.errors += errors
  for (const [length, by] of ofLength) {
    const count = (spans.ofLength.get(length) ?? 0) + by
    if (count === 0) spans.ofLength.delete(length)
    else spans.ofLength.set(length, count)
    spans.count += by
  }
}

/** The length that so many of the spans do not exceed, in milliseconds. */
function quantileMs({ ofLength, count }: Spans, quantile: number): number {
  let left = Math.max(1, Math.ceil(count * quantile))
  for (const [length, ofThat] of [...ofLength].sort(([a], [b]) => a - b)) {
    left -= ofThat
    if (left <= 0) return Math.exp(length * LOG_WIDTH) / 1e6
  }
  return NaN
}
