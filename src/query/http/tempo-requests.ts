import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { NANOS_PER_MS, parseRfc3339 } from '../../model/time-and-size.ts'
import { ownValue } from '../../model/untrusted-names.ts'
import type { TraceQuestion, TraceShape } from '../question.ts'
import type { NamesAsked } from '../trace-names-json.ts'
import { allOf, ANY_SPAN, compare, INTRINSIC, OLD_TAGS, spansWith } from '../traceql/span-filters.ts'
import { DIFF_FORMATS } from '../trace-diff-json.ts'
import { readIncompleteTraceQl } from '../traceql/listed-spans.ts'
import { alignedRange, type MetricsRange } from '../traceql/metric-series.ts'
import { readAttribute, readTraceQl } from '../traceql/parse-traceql.ts'
import { durationOfText } from '../traceql/read-tokens.ts'
import { numberOf } from '../traceql/static-values.ts'
import { type Field, type Query, type Static, TraceQlError } from '../traceql/syntax.ts'
import { JSON_TYPE } from './replies.ts'
import {
  ANY_NUMBER,
  ANY_TEXT,
  BadParameter,
  decoded,
  LAST_NS,
  malformed,
  refused,
  type TraceApiParameters,
  traceIdOf,
  type TraceRequest,
} from './trace-requests.ts'

/** The Tempo version reported to clients. */
const BUILD = JSON.stringify({
  version: '3.0.3',
  revision: '',
  branch: '',
  buildUser: 'causeway',
  buildDate: '',
  goVersion: '',
})
const MODES = ['all', 'blocks', 'ingesters', 'external']
const SCOPES = ['none', 'resource', 'span', 'intrinsic', 'event', 'link', 'instrumentation', 'trace']
const MAX_NAMES = 1_000

/** Reads a request of Grafana's Tempo data source; undefined for any other path. Throws BadParameter. */
export function readTempoRequest(
  parts: readonly string[],
  parameters: TraceApiParameters,
  wantsProtobuf: boolean,
  nowMs: number,
): TraceRequest | undefined {
  const [first, ...rest] = parts
  const version = first === 'v2' ? 2 : 1
  const [what, ...more] = version === 2 ? rest : parts
  if (what === 'echo' && more.length === 0) return { kind: 'fixed', text: 'echo', type: 'text/plain' }
  if (what === 'traces' && more.length === 1)
    return readTrace(more[0] ?? '', { version, wantsProtobuf }, parameters)
  if (version === 1 && more.length === 1) {
    const [which] = more
    if (what === 'status' && which === 'buildinfo') return { kind: 'fixed', text: BUILD, type: JSON_TYPE }
    if (what === 'metrics' && (which === 'query_range' || which === 'query'))
      return asked(readMetrics(which, parameters, nowMs))
  }
  if (what !== 'search') return undefined
  const [tag, name, values, ...others] = more
  if (tag === undefined) return version === 1 ? asked(readTempoSearch(parameters)) : undefined
  if (tag === 'tags' && name === undefined) {
    const scope = parameters.oneOf(SCOPES, 'scope')
    return asked({ kind: 'tags', version, ...readNames(parameters), ...(scope !== undefined && { scope }) })
  }
  if (tag !== 'tag' || name === undefined || values !== 'values' || others.length > 0) return undefined
  // Grafana percent-encodes attribute names twice.
  const tagged = decoded(name)
  if (version === 2) checkAttribute(tagged)
  return asked({ kind: 'tagValues', version, tag: tagged, ...readNames(parameters) })
}

function asked(question: TraceQuestion): TraceRequest {
  return { kind: 'question', question, dialect: 'tempo' }
}

/** Reads a request for a trace. The parameters that restrict which blocks Tempo searches are accepted and have no effect. */
function readTrace(
  text: string,
  { version, wantsProtobuf }: { version: 1 | 2; wantsProtobuf: boolean },
  parameters: TraceApiParameters,
): TraceRequest {
  parameters.oneOf(MODES, 'mode')
  parameters.pass(ANY_TEXT, 'blockStart', 'blockEnd')
  parameters.pass(ANY_NUMBER, 'start', 'end')
  const traceId = traceIdOf(text)
  if (traceId === undefined) throw new BadParameter('a trace id is 1 to 32 hex digits')
  const json: TraceShape = version === 2 ? 'tempoJsonV2' : 'tempoJson'
  const protobuf: TraceShape = version === 2 ? 'tempoProtobufV2' : 'tempoProtobuf'
  return asked({ kind: 'sentTrace', traceId, shape: wantsProtobuf ? protobuf : json })
}

function readNames(parameters: TraceApiParameters): Omit<NamesAsked, 'version'> {
  parameters.pass(ANY_NUMBER, 'maxStaleValues')
  const limit =
    parameters.text('limit') === '0'
      ? MAX_NAMES
      : parameters.count(['limit', 'maxTagsPerScope'], MAX_NAMES, MAX_NAMES)
  const { pipeline } = readIncompleteTraceQl(parameters.text('q') ?? '{}')
  return { limit, search: { pipeline, ...rangeOf(parameters) } }
}

const TRACES = 20
const SPANS_PER_TRACE = 3
const MAX_TRACES = 1_000
/** The highest limit that Tempo accepts. */
const MOST_ASKED = 262_144
const MAX_SPANS = 1_000
const SECOND = 1_000_000_000n

/** Reads a search by TraceQL or by tags. Throws BadParameter. */
function readTempoSearch(parameters: TraceApiParameters): TraceQuestion {
  const range = rangeOf(parameters)
  if (range.fromNs !== undefined && range.toNs === undefined)
    throw new BadParameter('parameter start is given without an end')
  const [text, tags] = [parameters.text('q'), parameters.text('tags')]
  if (text !== undefined && tags !== undefined) throw new BadParameter('give either q or tags, not both')
  const { pipeline, metric } = queryOf(text)
  if (metric !== undefined)
    throw new BadParameter('a query for metrics is asked at /api/metrics/query_range or /api/metrics/query')
  const { least, most } = parameters.durations()
  const filter = [hasTags(tags), traceLasts('>=', least), traceLasts('<=', most)].reduce(allOf)
  const limit = parameters.count(['limit'], TRACES, MOST_ASKED + 1)
  if (limit > MOST_ASKED) throw new BadParameter(`parameter limit is ${MOST_ASKED} at most`)
  const isUnlimited = parameters.text('spss') === '0'
  const spansPerTrace = isUnlimited ? MAX_SPANS : parameters.count(['spss'], SPANS_PER_TRACE, MAX_SPANS)
  const search = {
    pipeline: spansWith(filter, pipeline),
    ...range,
    limit: Math.min(limit, MAX_TRACES),
    spansPerTrace,
  }
  return { kind: 'searchTraces', shape: 'tempo', search }
}

function rangeOf(parameters: TraceApiParameters): { fromNs?: bigint; toNs?: bigint } {
  const [start, end] = [parameters.time('start', SECOND), parameters.time('end', SECOND)]
  if (start !== undefined && end !== undefined && end <= start)
    throw new BadParameter('start must be before end')
  return { ...(start !== undefined && { fromNs: start }), ...(end !== undefined && { toNs: end }) }
}

function checkAttribute(text: string): void {
  try {
    readAttribute(text)
  } catch (error) {
    if (!(error instanceof TraceQlError)) throw error
    throw malformed('tag', text, 'an attribute with its scope, such as span.name, or with a dot before it')
  }
}

function queryOf(text = ''): Query {
  try {
    return readTraceQl(text.trim() === '' ? '{}' : text)
  } catch (error) {
    if (error instanceof TraceQlError) throw new BadParameter(`invalid TraceQL query: ${error.message}`)
    throw error
  }
}

/** The condition that a span has all these tags. As in Tempo, a string only needs to contain the tag's value, in any case. */
function hasTags(logfmt: string | undefined): Field {
  if (logfmt === undefined) return ANY_SPAN
  const pairs = parseLogfmt(logfmt)
  if (pairs === undefined)
    throw malformed('tags', logfmt, 'key=value pairs with spaces between them, such as service.name=web')
  const keys = pairs.map(([key]) => key)
  const twice = keys.find((key, at) => keys.indexOf(key) !== at)
  if (twice !== undefined) throw new BadParameter(`parameter tags has ${twice} twice`)
  return pairs.reduce<Field>((filter, [key, value]) => allOf(filter, tagIs(key, value)), ANY_SPAN)
}

function tagIs(key: string, value: string): Field {
  if (key === 'status.code') return compare(INTRINSIC.status, 'reads', value)
  if (key === 'error' && value === 'true') return compare(INTRINSIC.status, 'reads', 'error')
  return compare(ownValue(OLD_TAGS, key) ?? { kind: 'attribute', scope: 'any', name: key }, 'contains', value)
}

/** The condition on the duration of the trace in nanoseconds. As in Tempo, 0 is no limit. */
function traceLasts(operator: '>=' | '<=', nanos = 0): Field {
  return nanos === 0 ? ANY_SPAN : compare(INTRINSIC.traceDuration, operator, nanos)
}

const PAIR = /\s*([^\s="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s="]*))(?=\s|$)/y

/** Parses logfmt, such as `service.name=web note="two words"`; undefined if it is malformed. */
function parseLogfmt(text: string): [key: string, value: string][] | undefined {
  const pairs: [string, string][] = []
  const trimmed = text.trimEnd()
  for (let at = 0; at < trimmed.length; at = PAIR.lastIndex) {
    PAIR.lastIndex = at
    const [, key, quoted, bare = ''] = PAIR.exec(trimmed) ?? []
    if (key === undefined) return undefined
    pairs.push([key, quoted === undefined ? bare : quoted.replaceAll(/\\(.)/gs, '$1')])
  }
  return pairs
}

const SERIES = 1_000
const EXEMPLARS = 100
/** Whoever asks for more points than this cannot mean it. */
const MOST_INTERVALS = 11_000n

/** Series of values over a time, or one value for all of it. Throws BadParameter. */
function readMetrics(
  what: 'query_range' | 'query',
  parameters: TraceApiParameters,
  nowMs: number,
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

const PATH = /^(?:\/tempo)?\/api\/v2\/traces\/diff\/?$/
/** A request has some 300 bytes. */
const MAX_BYTES = 16_384

/** Whether a request, by any method, is for the difference of two traces: the only path that takes a body. */
export function isTraceDiff(target: string): boolean {
  return PATH.test(URL.parse(target, 'http://causeway')?.pathname ?? '')
}

const Side = z.strictObject({
  traceId: z.string(),
  // Tempo searches between these times; Causeway needs none.
  start: z.int().optional(),
  end: z.int().optional(),
})
const Body = z.strictObject({
  base: Side,
  compare: Side,
  format: z.union([z.enum(DIFF_FORMATS), z.literal('')]).optional(),
})

/** The request that a body makes, or a refusal that says what is wrong with it. Rejects when the client hangs up. */
export async function readTraceDiff(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<TraceRequest> {
  if (request.method !== 'POST') {
    response.setHeader('allow', 'POST')
    return refused('tempo', 'write the two traces into the body of a POST', 405)
  }
  const text = await textOf(request)
  if (text === undefined) return refused('tempo', `the body may have at most ${MAX_BYTES} bytes`, 413)
  const { data, error } = Body.safeParse(jsonOrNothing(text))
  if (error !== undefined)
    return refused('tempo', `invalid trace diff request body: ${z.prettifyError(error)}`)
  for (const name of ['base', 'compare'] as const) {
    const { traceId, start, end } = data[name]
    if (traceIdOf(traceId) === undefined)
      return refused('tempo', `invalid ${name}.traceId: a trace id is 1 to 32 hex digits`)
    if (start !== undefined && end !== undefined && end <= start)
      return refused('tempo', `${name}.start must be before ${name}.end`)
  }
  const [base, compare] = [data.base.traceId, data.compare.traceId].map((id) => traceIdOf(id) ?? '')
  const format = data.format || 'trace-patch-v0'
  return asked({ kind: 'traceDiff', base: base ?? '', compare: compare ?? '', format })
}

/** Undefined if it is too long. */
async function textOf(request: IncomingMessage): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BYTES) return undefined
  const chunks: Buffer[] = []
  let bytes = 0
  // To its end, though it is not kept: to stop reading would close the connection without an answer.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= MAX_BYTES) chunks.push(chunk)
  }
  return bytes > MAX_BYTES ? undefined : Buffer.concat(chunks).toString()
}

function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
