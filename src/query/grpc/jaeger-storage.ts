import type { Json, JsonObject } from '../../model/otlp/protobuf-to-json.ts'
import { jaegerSearch, MAX_TRACES, TRACES } from '../http/jaeger-requests.ts'
import { BadParameter } from '../http/trace-requests.ts'
import type { TraceQuestion } from '../question.ts'
import { KINDS } from '../traceql/syntax.ts'
import { answered, asked, type GrpcMethod, grpcMethod } from './grpc-method.ts'

type SearchTraces = Extract<TraceQuestion, { kind: 'searchTraces' }>

const READER = '/jaeger.storage.v2.TraceReader'

/** The methods of Jaeger's remote storage that read (jaeger-idl, proto/storage/v2). */
export const JAEGER_STORAGE: readonly GrpcMethod[] = [
  grpcMethod(`${READER}/GetTraces`, 'GetTracesRequest', ({ query }) => ({
    questions: objects(query).map(({ traceId }) => ({
      kind: 'sentTrace',
      traceId: idOf(traceId),
      shape: 'jaegerStorage',
    })),
  })),
  grpcMethod(`${READER}/GetServices`, 'Anything', () =>
    asked({ kind: 'services', version: 3 }, { message: 'GetServicesResponse' }),
  ),
  grpcMethod(`${READER}/GetOperations`, 'GetOperationsRequest', ({ service, spanKind }) => {
    const kind = text(spanKind)
    if (kind !== undefined && !KINDS.some((one) => one === kind))
      throw new BadParameter(`span_kind must be one of ${KINDS.join(', ')}`)
    return asked(
      {
        kind: 'operations',
        shape: 'v3',
        service: text(service) ?? '',
        ...(kind !== undefined && { spanKind: kind }),
      },
      { message: 'GetOperationsResponse' },
    )
  }),
  grpcMethod(`${READER}/FindTraces`, 'FindTracesRequest', ({ query }) => ({
    questions: [searchOf('jaegerStorage', query)],
  })),
  grpcMethod(`${READER}/FindTraceIDs`, 'FindTracesRequest', ({ query }) =>
    asked(searchOf('jaegerIds', query), { message: 'FindTraceIDsResponse' }),
  ),
  grpcMethod(`${READER}/FindTraceSummaries`, 'FindTracesRequest', ({ query }) =>
    asked(searchOf('jaegerSummaries', query), { message: 'FindTraceSummariesResponse', list: 'summaries' }),
  ),
  grpcMethod('/jaeger.storage.v2.DependencyReader/GetDependencies', 'GetDependenciesRequest', (request) => {
    const [from, to] = [nanos(request['startTime']), nanos(request['endTime'])]
    return asked(
      {
        kind: 'dependencies',
        ...(from !== undefined && { fromNs: from }),
        ...(to !== undefined && { toNs: to }),
      },
      // Partial counts would be wrong.
      { message: 'GetDependenciesResponse', isWholeOrRefused: true },
    )
  }),
  grpcMethod('/jaeger.storage.v2.Capabilities/GetCapabilities', 'Anything', () =>
    answered('GetCapabilitiesResponse', { search: { withoutServiceName: true, sameSpanConjunction: true } }),
  ),
]

function searchOf(shape: Exclude<SearchTraces['shape'], 'tempo'>, query: Json | undefined): SearchTraces {
  const [asked = {}] = objects(query === undefined ? [] : [query])
  if (asked['filter'] !== undefined)
    throw new BadParameter('filter is not understood; ask by service, operation, attributes and durations')
  const [from, to] = [nanos(asked['startTimeMin']), nanos(asked['startTimeMax'])]
  if (from !== undefined && to !== undefined && from >= to)
    throw new BadParameter('start_time_min must be before start_time_max')
  const depth = Number(asked['searchDepth'] ?? 0)
  return jaegerSearch(shape, {
    service: text(asked['serviceName']),
    operation: text(asked['operationName']),
    tags: objects(asked['attributes']).map(({ key, value }) => [text(key) ?? '', tagText(value)]),
    least: lengthOf(asked['durationMin']),
    most: lengthOf(asked['durationMax']),
    ...{ from, to },
    limit: depth > 0 ? Math.min(depth, MAX_TRACES) : TRACES,
  })
}

const objects = (list: Json | undefined): JsonObject[] => (Array.isArray(list) ? (list as JsonObject[]) : [])

const text = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

function idOf(traceId: Json | undefined): string {
  const hex = text(traceId) ?? ''
  if (hex.length !== 32) throw new BadParameter('a trace id has 16 bytes')
  return hex
}

/** The text of a tag. Attributes are compared as strings, as in searches of Jaeger's UI. */
function tagText(value: Json | undefined): string {
  const [plain] = Object.values((value ?? {}) as JsonObject)
  if (typeof plain === 'object') throw new BadParameter('lists and maps are not searched for; ask by a text')
  return plain === undefined ? '' : String(plain)
}

/** The nanoseconds of a Timestamp or Duration; undefined unless positive. */
function nanos(time: Json | undefined): bigint | undefined {
  const { seconds, nanos: rest = 0 } = (time ?? {}) as JsonObject
  const all = BigInt(text(seconds) ?? 0) * 1_000_000_000n + BigInt(Number(rest))
  return all > 0n ? all : undefined
}

function lengthOf(duration: Json | undefined): number | undefined {
  const length = nanos(duration)
  return length === undefined ? undefined : Number(length)
}
