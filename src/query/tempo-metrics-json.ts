import type { JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { CausewayQueries } from '../model/queries.ts'
import { endJson } from './tempo-search-json.ts'
import { type FoundSpan, type FoundTrace, SearchEffort, TraceLook } from './trace-search.ts'
import { CompareSeries } from './traceql/metric-compare.ts'
import {
  arithmetic,
  calculateSeries,
  type Exemplar,
  Intervals,
  type Label,
  MetricSeries,
  type MetricsRange,
  secondStage,
  type Series,
  textOfLabels,
} from './traceql/metric-series.ts'
import { staticJson } from './traceql/static-values.ts'
import {
  type MetricMath,
  type MetricOf,
  type Query,
  type SecondStage,
  TraceQlError,
} from './traceql/syntax.ts'

export interface MetricsAsked {
  readonly query: Query
  readonly range: MetricsRange
  /** How many series, and how many exemplars, at most. */
  readonly series: number
  readonly exemplars: number
}

/** What the spans of a time come to, as Tempo answers it. */
export function* tempoMetricsJson(
  queries: CausewayQueries,
  asked: MetricsAsked,
  nowMs: () => number,
): Generator<string> {
  const { query, range } = asked
  const effort = new SearchEffort(nowMs, () => queries.bytesRead)
  const working = new Working(queries, asked, effort)
  let [series, failure]: [readonly Series[], string | undefined] = [[], undefined]
  try {
    if (query.metric === undefined) throw new TraceQlError('the query asks for no metric')
    const made = yield* working.of(query.metric)
    series = working.finished(query.seconds, typeof made === 'number' ? [] : made)
  } catch (error) {
    if (!(error instanceof TraceQlError)) throw error
    failure = error.message
  }
  yield '{"series":['
  let separator = ''
  for (const one of sorted(series)) {
    const shown = range.isInstant ? instantJson(one) : seriesJson(one, range)
    if (shown === undefined) continue
    yield separator + JSON.stringify(shown)
    separator = ','
  }
  yield `]${endJson(effort, failure)}`
}

/** Works out what metrics come to, one after the other. */
class Working {
  readonly #queries: CausewayQueries
  readonly #asked: MetricsAsked
  readonly #effort: SearchEffort

  constructor(queries: CausewayQueries, asked: MetricsAsked, effort: SearchEffort) {
    this.#queries = queries
    this.#asked = asked
    this.#effort = effort
  }

  *of(math: MetricMath): Generator<string, number | readonly Series[]> {
    if (math.kind === 'number') return math.value
    if (math.kind === 'metricOf') return yield* this.#metricOf(math)
    const { operator } = math
    const [left, right] = [yield* this.of(math.left), yield* this.of(math.right)]
    if (typeof left !== 'number')
      return typeof right === 'number'
        ? withEach(left, (value) => arithmetic(operator, value, right))
        : calculateSeries(operator, left, right)
    return typeof right === 'number'
      ? arithmetic(operator, left, right)
      : withEach(right, (value) => arithmetic(operator, left, value))
  }

  finished(seconds: readonly SecondStage[], series: readonly Series[]): readonly Series[] {
    const intervals = new Intervals(this.#asked.range).count
    return seconds.reduce((left, stage) => secondStage(stage, left, intervals), series)
  }

  *#metricOf({ pipeline, metric, seconds }: MetricOf): Generator<string, readonly Series[]> {
    const { range } = this.#asked
    const effort = this.#effort
    const isCompare = metric.kind === 'compare'
    const counting = isCompare
      ? new CompareSeries(metric, range, this.#asked.series, effort.matching)
      : new MetricSeries(metric, range, this.#asked)
    const also = isCompare ? CompareSeries.reads(metric) : MetricSeries.reads(metric)
    const search = { pipeline, fromNs: range.fromNs, toNs: range.toNs }
    const look = new TraceLook(this.#queries, search, effort, also, isCompare)
    const spans = counting instanceof MetricSeries ? look.spans() : undefined
    if (counting instanceof MetricSeries && spans !== undefined)
      yield* inTime(countedAlone(counting, spans, effort), effort)
    else for (const source of look.sources()) yield* inTime(counted(counting, source, effort), effort)
    const results = counting.results()
    if (counting.isCut)
      effort.leaveOut(
        `there are more series than the ${this.#asked.series} asked for, or more values than may be counted: ` +
          'group by fewer attributes, take longer steps, or raise maxSeries (1000 at most)',
      )
    return this.finished(seconds, results)
  }
}

function* inTime(counting: Generator<''>, effort: SearchEffort): Generator<''> {
  effort.begin()
  for (const nothing of counting) {
    if (effort.end()) break
    yield nothing
    effort.begin()
  }
  effort.end()
}

/** Counts spans that are found without their traces. Yields where others may take a turn. */
function* countedAlone(
  counting: MetricSeries,
  found: Iterable<readonly FoundSpan[]>,
  { matching }: SearchEffort,
): Generator<''> {
  for (const spans of found) {
    if (spans.length === 0) yield ''
    for (const { view, traceId } of spans) {
      if (matching.next()) yield ''
      counting.add(view, traceId)
    }
  }
}

function withEach(series: readonly Series[], change: (value: number) => number): Series[] {
  return series.map(({ labels, values, exemplars }) => ({ labels, values: values.map(change), exemplars }))
}

/** Counts the spans of what is found. Yields where others may take a turn. */
function* counted(
  counting: CompareSeries | MetricSeries,
  source: Iterable<FoundTrace | undefined>,
  { matching }: SearchEffort,
): Generator<''> {
  for (const found of source) {
    if (found === undefined) {
      yield ''
      continue
    }
    for (const view of found.sets.flatMap(({ spans }) => spans)) {
      if (matching.next()) yield ''
      const read = found.selected(view.stored) ?? view
      if (counting instanceof CompareSeries) counting.add(read, found.facts)
      else counting.add(read, () => found.trace.traceId)
    }
  }
}

function sorted(series: readonly Series[]): readonly Series[] {
  const keys = new Map(series.map((one) => [one, textOfLabels(one.labels)]))
  return series.toSorted((a, b) => ((keys.get(a) ?? '') < (keys.get(b) ?? '') ? -1 : 1))
}

const labelsJson = (labels: readonly Label[]): JsonObject[] =>
  labels.map(({ name, value }) => ({ key: name, value: staticJson(value) }))

/** As protobuf's JSON has it, zero is left out. */
const valueJson = (value: number): JsonObject =>
  value === 0 ? {} : { value: Number.isFinite(value) ? value : String(value) }

/** Undefined for a series without any value. */
function seriesJson({ labels, values, exemplars }: Series, range: MetricsRange): JsonObject | undefined {
  const intervals = new Intervals(range)
  const samples = values.flatMap((value, at) =>
    Number.isNaN(value) ? [] : [{ timestampMs: String(intervals.timeMs(at)), ...valueJson(value) }],
  )
  if (samples.length === 0) return undefined
  const shown = exemplars.flatMap((exemplar) =>
    exemplarJson(exemplar, values[intervals.of(exemplar.timeNs)] ?? NaN),
  )
  return { labels: labelsJson(labels), samples, ...(shown.length > 0 && { exemplars: shown }) }
}

function exemplarJson({ labels, timeNs, value }: Exemplar, ofSeries: number): JsonObject[] {
  if (Number.isNaN(ofSeries)) return []
  return [
    {
      labels: labelsJson(labels),
      ...valueJson(Number.isNaN(value) ? ofSeries : value),
      timestampMs: String(timeNs / 1_000_000n),
    },
  ]
}

function instantJson({ labels, values }: Series): JsonObject | undefined {
  const [value = NaN] = values
  return Number.isNaN(value) ? undefined : { labels: labelsJson(labels), ...valueJson(value) }
}
