import { parseRfc3339 } from '../../query/rfc3339.ts'
import { ALL, both, type Condition, type Operator, type Subject } from '../../query/traces/condition.ts'
import type { TraceQuestion } from '../../query/traces/trace-question.ts'
import { durationNanos, positiveNumber, traceIdOf } from './parameters.ts'
import { JSON_TYPE, refused, type Dialect, type TraceRequest } from './trace-request.ts'

const TRACES = 100
const MOST_TRACES = 1_500
const NO_DEPENDENCIES = '{"data":[],"total":0,"limit":0,"offset":0,"errors":null}'

/** A request of Jaeger's page or of Grafana's Jaeger data source; undefined for any other path. */
export function readJaegerRequest(
  parts: readonly string[],
  search: URLSearchParams,
): TraceRequest | undefined {
  const [first = '', second, third, ...more] = parts
  if (more.length > 0) return undefined
  if (first === 'v3') return third === undefined ? readV3(second, search) : readV3Trace(second, third)
  switch (first) {
    case 'services':
      if (second === undefined) return asked('jaeger', { kind: 'services', version: 1 })
      return third === 'operations'
        ? asked('jaeger', { kind: 'operations', service: second, shape: 'names' })
        : undefined
    case 'operations':
      return second === undefined ? readOperations('jaeger', search, 'legacy', 'spanKind') : undefined
    case 'dependencies':
      return second === undefined ? { kind: 'fixed', text: NO_DEPENDENCIES, type: JSON_TYPE } : undefined
    case 'traces':
      if (third !== undefined) return undefined
      return second === undefined ? readLegacySearch(search) : readTrace('jaeger', second)
    default:
      return undefined
  }
}

function asked(dialect: Dialect, question: TraceQuestion): TraceRequest {
  return { kind: 'question', question, dialect }
}

function readTrace(dialect: 'jaeger' | 'jaegerV3', text: string): TraceRequest {
  const traceId = traceIdOf(text)
  if (traceId === undefined) return refused(dialect, 'malformed trace id: it is 1 to 32 hex digits')
  return asked(dialect, { kind: 'sentTrace', traceId, shape: dialect })
}

function readOperations(
  dialect: 'jaeger' | 'jaegerV3',
  search: URLSearchParams,
  shape: 'legacy' | 'v3',
  kindName: string,
): TraceRequest {
  const service = search.get('service') ?? ''
  if (service === '') return refused(dialect, "parameter 'service' is required")
  const spanKind = search.get(kindName)
  return asked(dialect, { kind: 'operations', service, shape, ...(spanKind !== null && { spanKind }) })
}

function readV3(what: string | undefined, search: URLSearchParams): TraceRequest | undefined {
  if (what === 'services') return asked('jaegerV3', { kind: 'services', version: 3 })
  if (what === 'operations') return readOperations('jaegerV3', search, 'v3', 'span_kind')
  return what === 'traces' ? readV3Search(search) : undefined
}

function readV3Trace(what: string | undefined, traceId: string): TraceRequest | undefined {
  return what === 'traces' ? readTrace('jaegerV3', traceId) : undefined
}

function readLegacySearch(search: URLSearchParams): TraceRequest {
  const traceId = search.get('traceID')
  if (traceId !== null) return readTrace('jaeger', traceId)
  const service = search.get('service') ?? ''
  if (service === '') return refused('jaeger', "parameter 'service' is required")
  const tags = readTags(search)
  if (tags === undefined) return refused('jaeger', 'malformed parameter tags: it is a JSON object of texts')
  const longest = durations(search.get('minDuration'), search.get('maxDuration'))
  if (longest === undefined) return refused('jaeger', 'malformed minDuration or maxDuration: write 100ms')
  return searchFor('jaeger', {
    condition: both(wanted(service, search.get('operation')), both(tags, longest)),
    from: microsOf(search.get('start')),
    to: microsOf(search.get('end')),
    limit: search.get('limit'),
  })
}

function readV3Search(search: URLSearchParams): TraceRequest {
  const parameter = (name: string): string | null => {
    const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
    return search.get(`query.${name}`) ?? search.get(`query.${camel}`)
  }
  const [from, to] = ['start_time_min', 'start_time_max'].map((name) => parseRfc3339(parameter(name) ?? ''))
  if (from === undefined || to === undefined) {
    return refused('jaegerV3', 'query.start_time_min and query.start_time_max are required, in RFC 3339')
  }
  const longest = durations(parameter('duration_min'), parameter('duration_max'))
  if (longest === undefined) return refused('jaegerV3', 'malformed query.duration_min or query.duration_max')
  return searchFor('jaegerV3', {
    condition: both(wanted(parameter('service_name') ?? '', parameter('operation_name')), longest),
    from,
    to,
    limit: parameter('search_depth') ?? parameter('num_traces'),
  })
}

function searchFor(
  shape: 'jaeger' | 'jaegerV3',
  asking: {
    condition: Condition
    from: bigint | undefined
    to: bigint | undefined
    limit: string | null
  },
): TraceRequest {
  const { condition, from, to } = asking
  return asked(shape, {
    kind: 'searchTraces',
    shape,
    search: {
      condition,
      ...(from !== undefined && { fromNs: from }),
      ...(to !== undefined && { toNs: to }),
      limit: positiveNumber(asking.limit, TRACES, MOST_TRACES),
      spansPerTrace: 0,
    },
  })
}

function wanted(service: string, operation: string | null): Condition {
  const ofService = compare({ scope: 'resource', key: 'service.name' }, '=', service)
  const named = compare({ scope: 'intrinsic', key: 'name' }, '=', operation ?? '')
  return both(service === '' ? ALL : ofService, operation === null || operation === '' ? ALL : named)
}

/** Spans that take at least and at most so long; undefined when one is no duration. */
function durations(least: string | null, most: string | null): Condition | undefined {
  let condition = ALL
  for (const [text, operator] of [
    [least, '>='],
    [most, '<='],
  ] as const) {
    if (text === null || text === '') continue
    const nanos = durationNanos(text)
    if (nanos === undefined) return undefined
    condition = both(condition, compare({ scope: 'intrinsic', key: 'duration' }, operator, nanos))
  }
  return condition
}

/** `tags` is a JSON object, `tag` is key:value and may come several times; undefined when they are not. */
function readTags(search: URLSearchParams): Condition | undefined {
  const pairs = search.getAll('tag').map((tag) => tag.split(/:(.*)/s) as [string, string?])
  const text = search.get('tags')
  if (text !== null && text !== '') {
    const tags = parsed(text)
    if (tags === undefined) return undefined
    pairs.push(...Object.entries(tags).map(([key, value]): [string, string] => [key, String(value)]))
  }
  return pairs.reduce<Condition>((condition, [key, value = '']) => both(condition, tagIs(key, value)), ALL)
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Tags are texts to Jaeger; error=true is a status here. */
function tagIs(key: string, value: string): Condition {
  if (key === 'error' && value === 'true') return compare({ scope: 'intrinsic', key: 'status' }, '=', 'error')
  const subject: Subject = { scope: 'any', key }
  const asText = compare(subject, '=', value)
  const other = value === 'true' || value === 'false' ? value === 'true' : Number(value)
  if (value === '' || Number.isNaN(other)) return asText
  return { kind: 'or', left: asText, right: { kind: 'compare', subject, operator: '=', value: other } }
}

function compare(subject: Subject, operator: Operator, value: string | number): Condition {
  return { kind: 'compare', subject, operator, value }
}

function microsOf(text: string | null): bigint | undefined {
  return text !== null && /^\d{1,16}$/.test(text) ? BigInt(text) * 1000n : undefined
}
