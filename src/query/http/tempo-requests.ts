import { ownValue } from '../../model/names-from-outside.ts'
import type { TraceQuestion, TraceShape } from '../question.ts'
import {
  allOf,
  ANY_SPAN,
  type Condition,
  needsWholeTrace,
  type Operator,
  type Subject,
} from '../trace-search.ts'
import { parseLogfmt, parseTraceQl, TraceQlError } from '../traceql.ts'
import {
  ANY_NUMBER,
  ANY_TEXT,
  BadParameter,
  malformed,
  type TraceApiParameters,
  traceIdOf,
  type TraceRequest,
} from './trace-parameters.ts'

const MODES = ['all', 'blocks', 'ingesters', 'external']
const SCOPES = ['none', 'resource', 'span', 'intrinsic', 'event', 'link', 'instrumentation', 'trace']
const MAX_NAMES = 1_000

/** A request of Grafana's Tempo data source; undefined for any other path. Throws BadParameter. */
export function readTempoRequest(
  parts: readonly string[],
  parameters: TraceApiParameters,
  wantsProtobuf: boolean,
): TraceRequest | undefined {
  const [first, ...rest] = parts
  const version = first === 'v2' ? 2 : 1
  const [what, ...more] = version === 2 ? rest : parts
  if (what === 'echo' && more.length === 0) return { kind: 'fixed', text: 'echo', type: 'text/plain' }
  if (what === 'traces' && more.length === 1)
    return readTrace(more[0] ?? '', { version, wantsProtobuf }, parameters)
  if (what !== 'search') return undefined
  const [tag, name, values, ...others] = more
  if (tag === undefined) return version === 1 ? asked(readTempoSearch(parameters)) : undefined
  if (tag === 'tags' && name === undefined) {
    const scope = parameters.oneOf(SCOPES, 'scope')
    return asked({ kind: 'tags', version, ...readNames(parameters), ...(scope !== undefined && { scope }) })
  }
  if (tag !== 'tag' || name === undefined || values !== 'values' || others.length > 0) return undefined
  return asked({ kind: 'tagValues', version, tag: decodedAgain(name), ...readNames(parameters) })
}

function asked(question: TraceQuestion): TraceRequest {
  return { kind: 'question', question, dialect: 'tempo' }
}

/** Where Tempo looks for a trace, and when, makes no difference here. */
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

/** Names and values are those of the newest spans, whatever the time asked about. */
function readNames(parameters: TraceApiParameters): { limit: number; condition: Condition } {
  parameters.pass(ANY_NUMBER, 'start', 'end', 'maxStaleValues')
  const limit =
    parameters.text('limit') === '0' ? MAX_NAMES : parameters.count(['limit'], MAX_NAMES, MAX_NAMES)
  const condition = readTraceQl(parameters.text('q'))
  if (needsWholeTrace(condition))
    throw new BadParameter(
      'parameter q: names and values can be asked for by what a span has, not by what its trace has',
    )
  return { limit, condition }
}

/** Grafana encodes names of attributes twice. */
function decodedAgain(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

const TRACES = 20
const SPANS_PER_TRACE = 3
const MAX_TRACES = 1_000
const MAX_SPANS = 1_000
const SECOND = 1_000_000_000n

/** A search for traces, by TraceQL or by tags. Throws BadParameter. */
function readTempoSearch(parameters: TraceApiParameters): TraceQuestion {
  const [start, end] = [parameters.time('start', SECOND), parameters.time('end', SECOND)]
  const [query, tags] = [parameters.text('q'), parameters.text('tags')]
  if (query !== undefined && tags !== undefined) throw new BadParameter('give either q or tags, not both')
  const condition = [
    hasTags(tags),
    traceLasts('>=', parameters.duration('minDuration')),
    traceLasts('<=', parameters.duration('maxDuration')),
  ].reduce(allOf, readTraceQl(query))
  if (start !== undefined && end !== undefined && end <= start)
    throw new BadParameter('start must be before end')
  const limit = parameters.count(['limit'], TRACES, MAX_TRACES)
  const isUnlimited = parameters.text('spss') === '0'
  const spansPerTrace = isUnlimited ? MAX_SPANS : parameters.count(['spss'], SPANS_PER_TRACE, MAX_SPANS)
  const range = { ...(start !== undefined && { fromNs: start }), ...(end !== undefined && { toNs: end }) }
  return { kind: 'searchTraces', shape: 'tempo', search: { condition, ...range, limit, spansPerTrace } }
}

function readTraceQl(query = ''): Condition {
  try {
    return parseTraceQl(query)
  } catch (error) {
    if (error instanceof TraceQlError) throw new BadParameter(`invalid TraceQL query: ${error.message}`)
    throw error
  }
}

/** What Tempo calls by a name of its own in tags. */
const INTRINSICS: Readonly<Record<string, Subject>> = {
  name: { scope: 'intrinsic', key: 'name' },
  'root.name': { scope: 'intrinsic', key: 'rootName' },
  'root.service.name': { scope: 'intrinsic', key: 'rootServiceName' },
}

/** Spans with all tags of a logfmt; a text need only have the other in it, in any case, as in Tempo. */
function hasTags(logfmt: string | undefined): Condition {
  if (logfmt === undefined) return ANY_SPAN
  const pairs = parseLogfmt(logfmt)
  if (pairs === undefined)
    throw malformed('tags', logfmt, 'key=value pairs with spaces between them, such as service.name=web')
  const keys = pairs.map(([key]) => key)
  const twice = keys.find((key, at) => keys.indexOf(key) !== at)
  if (twice !== undefined) throw new BadParameter(`parameter tags has ${twice} twice`)
  return pairs.reduce<Condition>((condition, [key, value]) => allOf(condition, tagIs(key, value)), ANY_SPAN)
}

function tagIs(key: string, value: string): Condition {
  if (key === 'status.code')
    return { kind: 'compare', subject: { scope: 'intrinsic', key: 'status' }, operator: '=', value }
  if (key === 'error' && value === 'true')
    return { kind: 'compare', subject: { scope: 'intrinsic', key: 'status' }, operator: '=', value: 'error' }
  const subject = ownValue(INTRINSICS, key)
  return { kind: 'compare', subject: subject ?? { scope: 'any', key }, operator: 'contains', value }
}

function traceLasts(operator: Operator, nanos: number | undefined): Condition {
  if (nanos === undefined) return ANY_SPAN
  return { kind: 'compare', subject: { scope: 'intrinsic', key: 'traceDuration' }, operator, value: nanos }
}
