import { NANOS_PER_MS, parseRfc3339 } from '../../model/time-and-size.ts'
import type { TraceQuestion } from '../question.ts'
import { alignedRange, type MetricsRange } from '../traceql/metric-series.ts'
import { durationOfText } from '../traceql/read-tokens.ts'
import { numberOf } from '../traceql/static-values.ts'
import type { Query, Static } from '../traceql/syntax.ts'
import { ANY_TEXT, BadParameter, LAST_NS, malformed, type TraceApiParameters } from './trace-requests.ts'

const SERIES = 1_000
const EXEMPLARS = 100
const SECOND = 1_000_000_000n
/** Whoever asks for more points than this cannot mean it. */
const MOST_INTERVALS = 11_000n

/** Series of values over a time, or one value for all of it. Throws BadParameter. */
export function readMetrics(
  what: 'query_range' | 'query',
  parameters: TraceApiParameters,
  nowMs: number,
  queryOf: (text: string) => Query,
): TraceQuestion {
  const text = parameters.text('q', 'query')
  if (text === undefined) throw new BadParameter('parameter q is required, such as {} | rate()')
  const query = queryOf(text)
  if (query.metric === undefined)
    throw new BadParameter('parameter q asks for no metric; write one such as {} | rate()')
  const { start, end } = timesOf(parameters, BigInt(nowMs) * NANOS_PER_MS)
  // As in Tempo, a moment is answered with the interval that it is in.
  if (end < start || (end === start && what === 'query')) throw new BadParameter('start must be before end')
  const range = what === 'query' ? instant(start, end) : overTime(parameters, start, end)
  const series = parameters.count(['maxSeries'], SERIES, SERIES)
  const exemplars = exemplarsOf(parameters, query)
  // As in Tempo, which takes them for one value too, where they change nothing.
  if (what === 'query') stepOf(parameters)
  parameters.pass(ANY_TEXT, 'mode')
  return { kind: 'metrics', query, range, series, exemplars }
}

function instant(fromNs: bigint, toNs: bigint): MetricsRange {
  return { fromNs, toNs, stepNs: toNs - fromNs, isInstant: true }
}

function overTime(parameters: TraceApiParameters, start: bigint, end: bigint): MetricsRange {
  const stepNs = stepOf(parameters) ?? usualStep(end - start)
  if ((end - start) / stepNs > MOST_INTERVALS)
    throw new BadParameter(
      `parameter step is too short: there may be ${MOST_INTERVALS} intervals at most; write a longer one, or ask for less time`,
    )
  return alignedRange(start, end, stepNs)
}

/** Until now and of the last hour, where nothing else is asked; `since` is counted back from now where `end` is later. */
function timesOf(parameters: TraceApiParameters, now: bigint): { start: bigint; end: bigint } {
  const end = timeOf(parameters, 'end') ?? now
  const text = parameters.text('since') ?? '1h'
  const since = lengthOf(text)
  if (since === undefined) throw malformed('since', text, 'a duration such as 1h')
  return { start: timeOf(parameters, 'start') ?? (end < now ? end : now) - since, end }
}

/** Seconds, with a fraction or without, nanoseconds, or RFC 3339. */
function timeOf(parameters: TraceApiParameters, name: 'start' | 'end'): bigint | undefined {
  const text = parameters.text(name)
  if (text === undefined) return undefined
  if (/^\d{1,10}$/.test(text)) return BigInt(text) * SECOND
  if (/^\d{11,19}$/.test(text) && BigInt(text) <= LAST_NS) return BigInt(text)
  const [, seconds, part] = /^(\d{1,10})\.(\d{1,9})$/.exec(text) ?? []
  if (seconds !== undefined && part !== undefined)
    return BigInt(seconds) * SECOND + BigInt(part.padEnd(9, '0'))
  const time = parseRfc3339(text)
  if (time === undefined) throw malformed(name, text, 'seconds since 1970')
  return time
}

function stepOf(parameters: TraceApiParameters): bigint | undefined {
  const text = parameters.text('step')
  if (text === undefined) return undefined
  const nanos = /^\d{1,10}(?:\.\d+)?$/.test(text) ? BigInt(Math.round(Number(text) * 1e9)) : lengthOf(text)
  if (nanos === undefined || nanos <= 0n || nanos > LAST_NS)
    throw malformed('step', text, 'a duration such as 15s')
  return nanos
}

function lengthOf(text: string): bigint | undefined {
  try {
    const length: Static = durationOfText(text)
    return length.type === 'duration' ? length.value : undefined
  } catch {
    return undefined
  }
}

/** About 240 values in all, at a length that Tempo would take. */
function usualStep(length: bigint): bigint {
  const wanted = length / 240n
  if (length < 60n * SECOND) {
    const least = 50_000_000n
    return wanted > least ? (wanted / least) * least : least
  }
  const unit = [3600n, 300n, 60n, 15n, 5n, 1n].map((seconds) => seconds * SECOND).find((one) => wanted > one)
  return unit === undefined ? SECOND : (wanted / unit) * unit
}

/** A hint in the query comes before the parameter. As in Tempo, a parameter of 0 counts as not given. */
function exemplarsOf(parameters: TraceApiParameters, { hints }: Query): number {
  const asked =
    parameters.text('exemplars') === '0' ? EXEMPLARS : parameters.count(['exemplars'], EXEMPLARS, EXEMPLARS)
  const values = hints.flatMap(({ name, value }) => (name === 'exemplars' ? [value] : []))
  const count = values.find(({ type }) => type === 'int')
  if (count !== undefined) return numberOf(count)
  const isWanted = values.find(({ type }) => type === 'boolean')
  return isWanted?.type === 'boolean' && !isWanted.value ? 0 : asked
}
