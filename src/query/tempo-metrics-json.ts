import type { JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { CausewayQueries } from '../model/queries.ts'
import { commaSeparated } from './list-json.ts'
import { endJson } from './tempo-search-json.ts'
import { type FoundSpan, type FoundTrace, SearchEffort, TraceScan } from './trace-search.ts'
import { CompareSeries } from './traceql/metric-compare.ts'
import {
  type Exemplar,
  Intervals,
  type Label,
  MetricSeries,
  type MetricsRange,
  secondStage,
  type Series,
} from './traceql/metric-series.ts'
import { compareTexts, protobufText, staticJson } from './traceql/static-values.ts'
import { type Query, TraceQlError } from './traceql/syntax.ts'

export interface MetricsAsked {
  readonly query: Query
  readonly range: MetricsRange
  /** The limit of series, and that of exemplars. */
  readonly series: number
  readonly exemplars: number
}

/** Answers a TraceQL metric as Tempo does. */
export function* tempoMetricsJson(
  queries: CausewayQueries,
  asked: MetricsAsked,
  nowMs: () => number,
): Generator<string> {
  const { range } = asked
  const effort = new SearchEffort(nowMs, () => queries.bytesRead)
  let [series, failure]: [readonly Series[], string | undefined] = [[], undefined]
  try {
    const counted = yield* seriesOf(queries, asked, effort)
    series = yield* lastStages(counted, asked, nowMs)
  } catch (error) {
    if (!(error instanceof TraceQlError)) throw error
    failure = error.message
  }
  yield '{"series":['
  yield* commaSeparated(sorted(series), (one) => {
    const shown = range.isInstant ? instantJson(one) : seriesJson(one, range)
    return shown === undefined ? '' : JSON.stringify(shown)
  })
  yield `]${endJson(effort, failure)}`
}

function* seriesOf(
  queries: CausewayQueries,
  asked: MetricsAsked,
  effort: SearchEffort,
): Generator<string, readonly Series[]> {
  const { query, range } = asked
  const { pipeline, metric } = query
  if (metric === undefined) throw new TraceQlError('the query asks for no metric')
  const isCompare = metric.kind === 'compare'
  const counting = isCompare
    ? new CompareSeries(metric, range, asked.series, effort.matching)
    : new MetricSeries(metric, range, asked)
  const also = isCompare ? CompareSeries.reads(metric) : MetricSeries.reads(metric)
  const search = { pipeline, fromNs: range.fromNs, toNs: range.toNs }
  const look = new TraceScan(queries, search, effort, also, isCompare)
  const spans = counting instanceof MetricSeries ? look.spans() : undefined
  if (counting instanceof MetricSeries && spans !== undefined)
    yield* inTime(countedAlone(counting, spans, effort), effort)
  else for (const source of look.sources()) yield* inTime(counted(counting, source, effort), effort)
  const results = counting.results()
  if (counting.isCut)
    effort.leaveOut(
      `there are more series than the ${asked.series} asked for, more values than may be counted, or longer ones ` +
        'than may be shown: group by fewer attributes, take longer steps, or raise maxSeries (1000 at most)',
    )
  return results
}

/** Applies the second stages. Throws TraceQlError after 30 seconds: series that only some stages were applied to would be wrong. */
function* lastStages(
  series: readonly Series[],
  { query: { seconds }, range }: MetricsAsked,
  nowMs: () => number,
): Generator<'', readonly Series[]> {
  const effort = new SearchEffort(nowMs, () => 0)
  const intervals = new Intervals(range).count
  let left = series
  for (const stage of seconds) {
    const turns = secondStage(stage, left, intervals)
    effort.begin()
    for (let turn = turns.next(); ; turn = turns.next()) {
      if (effort.end())
        throw new TraceQlError('the stages after the metric take too long: write fewer, or take longer steps')
      if (turn.done === true) {
        left = turn.value
        break
      }
      yield ''
      effort.begin()
    }
  }
  return left
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

/** Counts spans that were read without their traces. Yields when others may take a turn. */
function* countedAlone(
  counting: MetricSeries,
  found: Iterable<readonly FoundSpan[]>,
  { matching }: SearchEffort,
): Generator<''> {
  for (const spans of found) {
    if (spans.length === 0) yield ''
    for (const { view, read, traceId } of spans) {
      if (matching.next()) yield ''
      counting.add(read, traceId, view)
    }
  }
}

/** Counts the spans of the traces found. Yields when others may take a turn. */
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
      else counting.add(read, () => found.trace.traceId, view)
    }
  }
}

/** Sorts as Tempo does: by number of labels, then by the names of the labels and their values in protobuf's text format. */
function sorted(series: readonly Series[]): readonly Series[] {
  const keyed = series.map((one) => ({
    one,
    keys: one.labels.flatMap(({ name, value }) => [name, protobufText(value)]),
  }))
  return keyed
    .sort((a, b) => a.keys.length - b.keys.length || compareLists(a.keys, b.keys))
    .map(({ one }) => one)
}

function compareLists(left: readonly string[], right: readonly string[]): number {
  for (const [at, text] of left.entries()) {
    const order = compareTexts(text, right[at] ?? '')
    if (order !== 0) return order
  }
  return 0
}

const labelsJson = (labels: readonly Label[]): JsonObject[] =>
  labels.map(({ name, value }) => ({ key: name, value: staticJson(value) }))

/** A value in protobuf's JSON, which omits zero. */
const valueJson = (value: number): JsonObject =>
  value === 0 ? {} : { value: Number.isFinite(value) ? value : String(value) }

/** A series; undefined if it has no value. */
function seriesJson({ labels, values, exemplars }: Series, range: MetricsRange): JsonObject | undefined {
  const intervals = new Intervals(range)
  const samples = values.flatMap((value, at) =>
    Number.isNaN(value) ? [] : [{ timestampMs: String(intervals.timeMs(at)), ...valueJson(value) }],
  )
  if (samples.length === 0) return undefined
  const inOrder = exemplars.toSorted((a, b) => Number(a.timeNs - b.timeNs))
  const shown = inOrder.flatMap((exemplar) =>
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
