import type { JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { CausewayQueries } from '../model/queries.ts'
import { endJson } from './tempo-search-json.ts'
import { type FoundSpan, type FoundTrace, SearchEffort, TraceLook } from './trace-search.ts'
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
  const { range } = asked
  const effort = new SearchEffort(nowMs, () => queries.bytesRead)
  let [series, failure]: [readonly Series[], string | undefined] = [[], undefined]
  try {
    series = yield* seriesOf(queries, asked, effort)
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

function* seriesOf(
  queries: CausewayQueries,
  asked: MetricsAsked,
  effort: SearchEffort,
): Generator<string, readonly Series[]> {
  const { query, range } = asked
  const { pipeline, metric, seconds } = query
  if (metric === undefined) throw new TraceQlError('the query asks for no metric')
  const isCompare = metric.kind === 'compare'
  const counting = isCompare
    ? new CompareSeries(metric, range, asked.series, effort.matching)
    : new MetricSeries(metric, range, asked)
  const also = isCompare ? CompareSeries.reads(metric) : MetricSeries.reads(metric)
  const search = { pipeline, fromNs: range.fromNs, toNs: range.toNs }
  const look = new TraceLook(queries, search, effort, also, isCompare)
  const spans = counting instanceof MetricSeries ? look.spans() : undefined
  if (counting instanceof MetricSeries && spans !== undefined)
    yield* inTime(countedAlone(counting, spans, effort), effort)
  else for (const source of look.sources()) yield* inTime(counted(counting, source, effort), effort)
  const results = counting.results()
  if (counting.isCut)
    effort.leaveOut(
      `there are more series than the ${asked.series} asked for, or more values than may be counted: ` +
        'group by fewer attributes, take longer steps, or raise maxSeries (1000 at most)',
    )
  const intervals = new Intervals(range).count
  return seconds.reduce((left, stage) => secondStage(stage, left, intervals), results)
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
    for (const { view, read, traceId } of spans) {
      if (matching.next()) yield ''
      counting.add(read, traceId, view)
    }
  }
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
      else counting.add(read, () => found.trace.traceId, view)
    }
  }
}

/** In Tempo's order: fewer labels first, then by each label's name and by the text of its value in protobuf. */
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
