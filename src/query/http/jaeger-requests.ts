import { ownValue } from '../../model/untrusted-names.ts'
import type { TraceQuestion } from '../question.ts'
import { allOf, ANY_SPAN, anyOf, compare, INTRINSIC, SERVICE, spansWith } from '../traceql/span-filters.ts'
import { type Attribute, type Field, KINDS } from '../traceql/syntax.ts'
import { JSON_TYPE } from './replies.ts'
import {
  ANY_BOOLEAN,
  ANY_NUMBER,
  ANY_TEXT,
  BadParameter,
  type Dialect,
  malformed,
  type TraceApiParameters,
  traceIdOf,
  type TraceRequest,
} from './trace-requests.ts'

/** Which of Jaeger's two APIs a path belongs to. */
export function jaegerDialect(parts: readonly string[]): Dialect {
  return parts[0] === 'v3' ? 'jaegerV3' : 'jaeger'
}

/**
 * Reads a request of Jaeger's UI or Grafana's Jaeger data source; undefined for any other path. Throws BadParameter. A trace is answered as
 * a whole and as it was sent: `raw` and the time range are accepted and have no effect.
 */
export function readJaegerRequest(
  parts: readonly string[],
  parameters: TraceApiParameters,
  nowMs: number,
): TraceRequest | undefined {
  const [first = '', second, third, ...more] = parts
  if (more.length > 0) return undefined
  if (first === 'v3')
    return third === undefined ? readV3(second, parameters) : readV3Trace(second, third, parameters)
  parameters.pass(ANY_BOOLEAN, 'prettyPrint')
  switch (first) {
    case 'services':
      if (second === undefined) return asked('jaeger', { kind: 'services', version: 1 })
      return third === 'operations'
        ? asked('jaeger', { kind: 'operations', service: second, shape: 'names' })
        : undefined
    case 'operations':
      return second === undefined ? readOperations('jaeger', 'legacy', parameters) : undefined
    case 'dependencies':
      if (second !== undefined) return undefined
      return asked('jaeger', readDependencies(parameters, BigInt(nowMs) * MILLISECOND))
    case 'metrics':
      return third === undefined ? readMonitor(second, parameters, BigInt(nowMs) * MILLISECOND) : undefined
    case 'traces':
      if (third !== undefined) return undefined
      return second === undefined ? readSearch(parameters) : readLegacyTrace(second, parameters)
    default:
      return undefined
  }
}

function asked(dialect: Dialect, question: TraceQuestion): TraceRequest {
  return { kind: 'question', question, dialect }
}

const MILLISECOND = 1_000_000n

/** Without `endTs` and `lookback` the dependencies are of all time. `lookback` counts back from `endTs`, or from now. */
function readDependencies(parameters: TraceApiParameters, nowNs: bigint): TraceQuestion {
  const [end, lookback] = [parameters.time('endTs', MILLISECOND), parameters.time('lookback', MILLISECOND)]
  const service = parameters.text('service')
  return {
    kind: 'dependencies',
    ...(end !== undefined && { toNs: end }),
    ...(lookback !== undefined && { fromNs: (end ?? nowNs) - lookback }),
    ...(service !== undefined && { service }),
  }
}

/** The answer to /metrics/minstep, in milliseconds. */
const MIN_STEP = 1
const MOST_POINTS = 11_000n
const HOUR_MS = 3_600_000
const MONITORS = ['latencies', 'calls', 'errors'] as const

/** A request of the Monitor tab of Jaeger's UI. */
function readMonitor(
  what: string | undefined,
  parameters: TraceApiParameters,
  nowNs: bigint,
): TraceRequest | undefined {
  if (what === 'minstep')
    return {
      kind: 'fixed',
      text: `{"data":${MIN_STEP},"total":0,"limit":0,"offset":0,"errors":null}`,
      type: JSON_TYPE,
    }
  const monitor = MONITORS.find((one) => one === what)
  if (monitor === undefined) return undefined
  const millis = (name: string, otherwise: number): bigint =>
    BigInt(parameters.count([name], otherwise, MOST_MILLIS)) * MILLISECOND
  const services = parameters.all('service').filter((service) => service !== '')
  if (services.length === 0 || services.length > MOST_SERVICES)
    throw new BadParameter(`parameter 'service' is required, at most ${MOST_SERVICES} times`)
  const toNs = parameters.time('endTs', MILLISECOND) ?? nowNs
  const fromNs = toNs - millis('lookback', HOUR_MS)
  const stepNs = millis('step', 5_000)
  if ((toNs - fromNs) / stepNs > MOST_POINTS)
    throw new BadParameter(
      `there may be ${MOST_POINTS} values at most; write a longer step, or ask for less time`,
    )
  const kinds = parameters.all('spanKind').map((text) => {
    const kind = KINDS.find((one) => one === text)
    if (kind === undefined) throw malformed('spanKind', text, `one of ${KINDS.join(', ')}`)
    return kind
  })
  return asked('jaeger', {
    kind: 'jaegerMetrics',
    what: monitor,
    ...{ services, fromNs, toNs, stepNs },
    kinds: kinds.length === 0 ? ['server'] : kinds,
    byOperation: /^(?:1|t|true)$/i.test(parameters.matching(ANY_BOOLEAN, 'groupByOperation') ?? ''),
    windowNs: millis('ratePer', 10 * 60_000),
    quantile: monitor === 'latencies' ? quantileOf(parameters) : 0,
  })
}

const MOST_MILLIS = 999_999_999
const MOST_SERVICES = 100

function quantileOf(parameters: TraceApiParameters): number {
  const text = parameters.text('quantile') ?? ''
  const quantile = Number(text)
  if (!/^\d*\.?\d+$/.test(text) || quantile > 1) throw malformed('quantile', text, 'a number from 0 to 1')
  return quantile
}

function readSearch(parameters: TraceApiParameters): TraceRequest {
  const traceIds = parameters.all('traceID').filter((text) => text !== '')
  if (traceIds.length === 0) return asked('jaeger', readLegacySearch(parameters))
  if (traceIds.length > MOST_COMPARED)
    throw new BadParameter(
      `parameter traceID is given ${traceIds.length} times; give it ${MOST_COMPARED} times at most`,
    )
  passTraceParameters(parameters)
  return asked('jaeger', { kind: 'sentTraces', traceIds: traceIds.map(knownForm) })
}

const MOST_COMPARED = 100

function readLegacyTrace(text: string, parameters: TraceApiParameters): TraceRequest {
  passTraceParameters(parameters)
  return readTrace('jaeger', text)
}

function passTraceParameters(parameters: TraceApiParameters): void {
  parameters.pass(ANY_NUMBER, 'start', 'end')
  parameters.pass(ANY_BOOLEAN, 'raw')
}

function readTrace(dialect: 'jaeger' | 'jaegerV3', text: string): TraceRequest {
  return asked(dialect, { kind: 'sentTrace', traceId: knownForm(text), shape: dialect })
}

function knownForm(text: string): string {
  const traceId = traceIdOf(text)
  if (traceId === undefined) throw new BadParameter('malformed trace id: it is 1 to 32 hex digits')
  return traceId
}

function readOperations(
  dialect: 'jaeger' | 'jaegerV3',
  shape: 'legacy' | 'v3',
  parameters: TraceApiParameters,
): TraceRequest {
  const service = parameters.text('service')
  const spanKind = parameters.oneOf(KINDS, 'spanKind', ...(shape === 'v3' ? ['span_kind'] : []))
  if (service === undefined) throw new BadParameter("parameter 'service' is required")
  return asked(dialect, { kind: 'operations', service, shape, ...(spanKind !== undefined && { spanKind }) })
}

function readV3(what = '', parameters: TraceApiParameters): TraceRequest | undefined {
  switch (what) {
    case 'services':
      return asked('jaegerV3', { kind: 'services', version: 3 })
    case 'operations':
      return readOperations('jaegerV3', 'v3', parameters)
    case 'traces':
      return asked('jaegerV3', readV3Search('jaegerV3', parameters))
    case 'trace-summaries':
      return asked('jaegerV3', readV3Search('jaegerSummaries', parameters))
    default:
      return undefined
  }
}

function readV3Trace(
  what: string | undefined,
  traceId: string,
  parameters: TraceApiParameters,
): TraceRequest | undefined {
  if (what !== 'traces') return undefined
  parameters.rfc3339('startTime', 'start_time')
  parameters.rfc3339('endTime', 'end_time')
  parameters.pass(ANY_BOOLEAN, 'rawTraces', 'raw_traces')
  return readTrace('jaegerV3', traceId)
}

export const TRACES = 100
export const MAX_TRACES = 1_500
const MICROSECOND = 1_000n

/** A search through Jaeger's older API. `lookback` and `view` matter only to Jaeger's UI, and are ignored. */
function readLegacySearch(parameters: TraceApiParameters): TraceQuestion {
  const service = parameters.text('service')
  const search = jaegerSearch('jaeger', {
    service,
    operation: parameters.text('operation'),
    from: parameters.time('start', MICROSECOND),
    to: parameters.time('end', MICROSECOND),
    tags: [...tagsOf('tags', parameters.text('tags')), ...parameters.all('tag').map(tagOf)],
    ...parameters.durations(),
    limit: parameters.count(['limit'], TRACES, MAX_TRACES),
  })
  parameters.pass(ANY_BOOLEAN, 'raw', 'prettyPrint')
  parameters.pass(ANY_TEXT, 'lookback', 'view')
  if (service === undefined) throw new BadParameter("parameter 'service' is required")
  return search
}

/** A search through Jaeger's API v3, for whole traces or their summaries. */
function readV3Search(shape: 'jaegerV3' | 'jaegerSummaries', parameters: TraceApiParameters): TraceQuestion {
  const names = (snake: string): [string, string] => [`query.${camel(snake)}`, `query.${snake}`]
  const [from, to] = [
    parameters.rfc3339(...names('start_time_min')),
    parameters.rfc3339(...names('start_time_max')),
  ]
  const depth = [...names('search_depth'), 'query.numTraces', 'query.num_traces']
  const search = jaegerSearch(shape, {
    service: parameters.text(...names('service_name')),
    operation: parameters.text(...names('operation_name')),
    ...{ from, to },
    tags: tagsOf('query.attributes', parameters.text('query.attributes')),
    least: parameters.duration(...names('duration_min')),
    most: parameters.duration(...names('duration_max')),
    limit: parameters.count(depth, TRACES, MAX_TRACES),
  })
  parameters.pass(ANY_BOOLEAN, ...names('raw_traces'))
  if (from === undefined || to === undefined)
    throw new BadParameter('query.startTimeMin and query.startTimeMax are required, in RFC 3339')
  if (from >= to) throw new BadParameter('query.startTimeMin must be before query.startTimeMax')
  return search
}

/** `start_time_min` becomes startTimeMin, the name in protobuf's JSON. */
function camel(snake: string): string {
  return snake.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** A search of Jaeger: a span has to meet all conditions. */
interface JaegerSearch {
  readonly service: string | undefined
  readonly operation: string | undefined
  readonly tags: readonly (readonly [key: string, text: string])[]
  /** Duration limits in nanoseconds. */
  readonly least: number | undefined
  readonly most: number | undefined
  readonly from: bigint | undefined
  readonly to: bigint | undefined
  readonly limit: number
}

export function jaegerSearch(
  shape: Exclude<Extract<TraceQuestion, { kind: 'searchTraces' }>['shape'], 'tempo'>,
  { service, operation, tags, least, most, from, to, limit }: JaegerSearch,
): Extract<TraceQuestion, { kind: 'searchTraces' }> {
  const condition = [...tags.map(([key, text]) => tagIs(key, text)), lasts(least, most)].reduce(
    allOf,
    isOf(service, operation),
  )
  const range = { ...(from !== undefined && { fromNs: from }), ...(to !== undefined && { toNs: to }) }
  return {
    kind: 'searchTraces',
    shape,
    search: { pipeline: spansWith(condition), ...range, limit, spansPerTrace: 0 },
  }
}

/** The condition on service and span name; an absent one matches any span. */
function isOf(service: string | undefined, operation: string | undefined): Field {
  return allOf(
    service === undefined ? ANY_SPAN : compare(SERVICE, '=', service),
    operation === undefined ? ANY_SPAN : compare(INTRINSIC.name, '=', operation),
  )
}

/** The condition on the duration in nanoseconds. As in Jaeger, 0 is no limit. */
function lasts(least = 0, most = 0): Field {
  const limit = (operator: '>=' | '<=', nanos: number): Field =>
    nanos === 0 ? ANY_SPAN : compare(INTRINSIC.duration, operator, nanos)
  return allOf(limit('>=', least), limit('<=', most))
}

/** The tags in a JSON object of strings, as Jaeger's clients send them. */
function tagsOf(name: string, json: string | undefined): [key: string, text: string][] {
  if (json === undefined) return []
  return Object.entries(parsed(name, json)).map(([key, value]) => {
    if (typeof value === 'object') throw notTags(name)
    return [key, String(value)]
  })
}

/** A tag written as key:value. */
function tagOf(text: string): [key: string, text: string] {
  const [key = '', value] = text.split(/:(.*)/s)
  if (value === undefined || key === '')
    throw new BadParameter(`malformed parameter tag: ${JSON.stringify(text.slice(0, 100))}; write key:value`)
  return [key, value]
}

function parsed(name: string, json: string): object {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Fall through: the error below names the parameter.
  }
  throw notTags(name)
}

function notTags(name: string): BadParameter {
  return new BadParameter(
    `malformed parameter ${name}: it is a JSON object of texts, such as {"http.status_code":"500"}`,
  )
}

/** Fields of a span that Jaeger shows as tags, by tag name. */
const INTRINSIC_TAGS: Readonly<Record<string, Attribute>> = {
  'span.kind': INTRINSIC.kind,
  'otel.status_code': INTRINSIC.status,
  'otel.status_description': INTRINSIC.statusMessage,
  'otel.scope.name': INTRINSIC.scopeName,
  'otel.scope.version': INTRINSIC.scopeVersion,
}

/** The condition that a tag has a value. As in Jaeger, a tag is a string attribute of the span, its resource, or an event. */
function tagIs(key: string, value: string): Field {
  if (key === 'error' && value === 'true') return compare(INTRINSIC.status, 'reads', 'error')
  const intrinsic = ownValue(INTRINSIC_TAGS, key)
  const text = key === 'otel.status_code' ? value.toLowerCase() : value
  const named = (scope: 'span' | 'resource' | 'event'): Field =>
    compare({ kind: 'attribute', scope, name: key }, 'reads', value)
  const others = [named('resource'), named('event')]
  if (intrinsic !== undefined) others.push(compare(intrinsic, 'reads', text))
  return anyOf(named('span'), ...others)
}
