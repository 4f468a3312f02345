import type { JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { CausewayQueries } from '../model/queries.ts'
import { endJson } from './tempo-search-json.ts'
import { type FoundTrace, SearchEffort, TraceLook } from './trace-search.ts'
import { CompareSeries } from './traceql/metric-compare.ts'
import {
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
  const { query, range } = asked
  const { pipeline, metric } = query
  const effort = new SearchEffort(nowMs, () => queries.bytesRead)
  const search = { pipeline, fromNs: range.fromNs, toNs: range.toNs }
  let [series, failure]: [Series[], string | undefined] = [[], undefined]
  let isCut = false
  try {
    if (metric === undefined) throw new TraceQlError('the query asks for no metric')
    const counting =
      metric.kind === 'compare'
        ? new CompareSeries(metric, range, effort.matching)
        : new MetricSeries(metric, range, asked)
    const also = metric.kind === 'compare' ? CompareSeries.reads(metric) : MetricSeries.reads(metric)
    const look = new TraceLook(queries, search, effort, also, metric.kind === 'compare')
    for (const source of look.sources()) {
      effort.begin()
      for (const found of source) {
        if (found !== undefined) count(counting, found)
        else {
          if (effort.end()) break
          yield ''
          effort.begin()
        }
      }
      effort.end()
    }
    isCut = counting.isCut
    const intervals = new Intervals(range).count
    series = query.seconds.reduce<Series[]>(
      (left, stage) => secondStage(stage, left, intervals),
      counting.results(),
    )
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
  const tooMany = isCut ? 'there are more series than an answer may have: group by less' : undefined
  const lacks =
    failure ?? ([effort.lacks, tooMany].filter((one) => one !== undefined).join('; ') || undefined)
  yield `]${endJson(effort, lacks)}`
}

function count(counting: CompareSeries | MetricSeries, { trace, facts, sets, selected }: FoundTrace): void {
  for (const { spans } of sets)
    for (const view of spans) {
      const read = selected(view.stored) ?? view
      if (counting instanceof CompareSeries) counting.add(read, facts)
      else counting.add(read, trace.traceId)
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
