import { ownValue } from '../../model/untrusted-names.ts'
import type { TraceQuestion, TraceShape } from '../question.ts'
import type { NamesAsked } from '../trace-names-json.ts'
import { allOf, ANY_SPAN, compare, INTRINSIC, OLD_TAGS, spansWith } from '../span-filters.ts'
import { readIncompleteTraceQl } from '../traceql/incomplete-query.ts'
import { readAttribute, readTraceQl } from '../traceql/parse-traceql.ts'
import { type Field, type Query, TraceQlError } from '../traceql/syntax.ts'
import { readMetrics } from './metrics-requests.ts'
import { JSON_TYPE } from './replies.ts'
import {
  ANY_NUMBER,
  ANY_TEXT,
  BadParameter,
  decoded,
  malformed,
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

/** A request of Grafana's Tempo data source; undefined for any other path. Throws BadParameter. */
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
      return asked(readMetrics(which, parameters, nowMs, queryOf))
  }
  if (what !== 'search') return undefined
  const [tag, name, values, ...others] = more
  if (tag === undefined) return version === 1 ? asked(readTempoSearch(parameters)) : undefined
  if (tag === 'tags' && name === undefined) {
    const scope = parameters.oneOf(SCOPES, 'scope')
    return asked({ kind: 'tags', version, ...readNames(parameters), ...(scope !== undefined && { scope }) })
  }
  if (tag !== 'tag' || name === undefined || values !== 'values' || others.length > 0) return undefined
  // Grafana encodes names of attributes twice.
  const tagged = decoded(name)
  if (version === 2) checkAttribute(tagged)
  return asked({ kind: 'tagValues', version, tag: tagged, ...readNames(parameters) })
}

function asked(question: TraceQuestion): TraceRequest {
  return { kind: 'question', question, dialect: 'tempo' }
}

/** Parameters that limit where Tempo searches; they have no effect here. */
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
/** Tempo refuses to search for more. */
const MOST_ASKED = 262_144
const MAX_SPANS = 1_000
const SECOND = 1_000_000_000n

/** A search for traces, by TraceQL or by tags. Throws BadParameter. */
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

/** Spans with all tags of a logfmt; a text need only have the other in it, in any case, as in Tempo. */
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

/** To Tempo 0 is no limit. */
function traceLasts(operator: '>=' | '<=', nanos = 0): Field {
  return nanos === 0 ? ANY_SPAN : compare(INTRINSIC.traceDuration, operator, nanos)
}

const PAIR = /\s*([^\s="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s="]*))(?=\s|$)/y

/** The pairs of a logfmt, such as `service.name=web note="two words"`; undefined when it is none. */
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
