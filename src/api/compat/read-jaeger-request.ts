import { KINDS } from '../../query/traces/matches-condition.ts'
import type { TraceQuestion } from '../../query/traces/trace-question.ts'
import { ANY_BOOLEAN, ANY_NUMBER, ANY_TEXT, BadParameter, traceIdOf, type Parameters } from './parameters.ts'
import { readLegacySearch, readV3Search } from './read-jaeger-search.ts'
import { JSON_TYPE, type Dialect, type TraceRequest } from './trace-request.ts'

const NO_DEPENDENCIES = '{"data":[],"total":0,"limit":0,"offset":0,"errors":null}'

/** Which of Jaeger's ways of answering a path has. */
export function jaegerDialect(parts: readonly string[]): Dialect {
  return parts[0] === 'v3' ? 'jaegerV3' : 'jaeger'
}

/**
 * A request of Jaeger's page or of Grafana's Jaeger data source; undefined for any other path. Throws BadParameter.
 * A trace is answered whole and as it was sent, whatever `raw` and the times that narrow down where to look say.
 */
export function readJaegerRequest(
  parts: readonly string[],
  parameters: Parameters,
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
      parameters.pass(ANY_NUMBER, 'endTs', 'lookback')
      parameters.pass(ANY_TEXT, 'service')
      return { kind: 'fixed', text: NO_DEPENDENCIES, type: JSON_TYPE }
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

function readSearch(parameters: Parameters): TraceRequest {
  const traceId = parameters.text('traceID')
  return traceId === undefined
    ? asked('jaeger', readLegacySearch(parameters))
    : readLegacyTrace(traceId, parameters)
}

function readLegacyTrace(text: string, parameters: Parameters): TraceRequest {
  parameters.pass(ANY_NUMBER, 'start', 'end')
  parameters.pass(ANY_BOOLEAN, 'raw')
  return readTrace('jaeger', text)
}

function readTrace(dialect: 'jaeger' | 'jaegerV3', text: string): TraceRequest {
  const traceId = traceIdOf(text)
  if (traceId === undefined) throw new BadParameter('malformed trace id: it is 1 to 32 hex digits')
  return asked(dialect, { kind: 'sentTrace', traceId, shape: dialect })
}

function readOperations(
  dialect: 'jaeger' | 'jaegerV3',
  shape: 'legacy' | 'v3',
  parameters: Parameters,
): TraceRequest {
  const service = parameters.text('service')
  const spanKind = parameters.oneOf(KINDS, 'spanKind', ...(shape === 'v3' ? ['span_kind'] : []))
  if (service === undefined) throw new BadParameter("parameter 'service' is required")
  return asked(dialect, { kind: 'operations', service, shape, ...(spanKind !== undefined && { spanKind }) })
}

function readV3(what = '', parameters: Parameters): TraceRequest | undefined {
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
  parameters: Parameters,
): TraceRequest | undefined {
  if (what !== 'traces') return undefined
  parameters.rfc3339('startTime', 'start_time')
  parameters.rfc3339('endTime', 'end_time')
  parameters.pass(ANY_BOOLEAN, 'rawTraces', 'raw_traces')
  return readTrace('jaegerV3', traceId)
}
