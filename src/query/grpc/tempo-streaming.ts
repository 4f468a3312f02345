import type { Json, JsonObject } from '../../model/otlp/protobuf-to-json.ts'
import type { GrpcShape } from '../grpc-answers.ts'
import type { MessageName } from '../grpc-messages.ts'
import { readTempoRequest } from '../http/tempo-requests.ts'
import { TraceApiParameters } from '../http/trace-requests.ts'
import { askedAsHttp, type GrpcAsked, type GrpcMethod, grpcMethod } from './grpc-method.ts'

/** Tempo's streaming API, which Grafana uses when streaming is on. Each method answers as the HTTP path given here. */
export const TEMPO_STREAMING: readonly GrpcMethod[] = [
  streaming('Search', 'SearchRequest', { message: 'SearchResponse', list: 'traces' }, (request) => ({
    path: ['search'],
    texts: {
      ...timesOf(request),
      q: request['query'],
      tags: logfmtOf(request['tags']),
      minDuration: millis(request['minDurationMs']),
      maxDuration: millis(request['maxDurationMs']),
      limit: request['limit'],
      spss: request['spansPerSpanSet'],
    },
  })),
  streaming('SearchTags', 'SearchTagsRequest', { message: 'SearchTagsResponse' }, (request) => ({
    path: ['search', 'tags'],
    texts: namesOf(request),
  })),
  streaming('SearchTagsV2', 'SearchTagsRequest', { message: 'SearchTagsV2Response' }, (request) => ({
    path: ['v2', 'search', 'tags'],
    texts: namesOf(request),
  })),
  streaming(
    'SearchTagValues',
    'SearchTagValuesRequest',
    { message: 'SearchTagValuesResponse', list: 'tagValues' },
    valuesAsked('search'),
  ),
  streaming(
    'SearchTagValuesV2',
    'SearchTagValuesRequest',
    { message: 'SearchTagValuesV2Response', list: 'tagValues' },
    valuesAsked('v2', 'search'),
  ),
  streaming(
    'MetricsQueryRange',
    'QueryRangeRequest',
    { message: 'QueryRangeResponse', list: 'series' },
    (request) => ({
      path: ['metrics', 'query_range'],
      texts: {
        ...timesOf(request),
        q: request['query'],
        step: isSet(request['step']) ? `${textOf(request['step'])}ns` : undefined,
        exemplars: request['exemplars'],
        maxSeries: request['maxSeries'],
      },
    }),
  ),
  streaming(
    'MetricsQueryInstant',
    'QueryInstantRequest',
    { message: 'QueryInstantResponse', list: 'series' },
    (request) => ({
      path: ['metrics', 'query'],
      texts: { ...timesOf(request), q: request['query'] },
    }),
  ),
]

interface AsHttp {
  readonly path: readonly string[]
  readonly texts: Readonly<Record<string, Json | undefined>>
}

function streaming(
  name: string,
  message: MessageName,
  shape: GrpcShape,
  asHttp: (request: JsonObject) => AsHttp,
): GrpcMethod {
  const as = { ...shape, tellsProgress: true }
  return grpcMethod(`/tempopb.StreamingQuerier/${name}`, message, (request, nowMs): GrpcAsked => {
    const { path, texts } = asHttp(request)
    const search = new URLSearchParams()
    for (const [key, value] of Object.entries(texts)) if (isSet(value)) search.set(key, textOf(value))
    return askedAsHttp(readTempoRequest(path, new TraceApiParameters(search), false, nowMs), as)
  })
}

/** Whether a field is set: protobuf omits fields that are zero or empty. */
const isSet = (value: Json | undefined): boolean =>
  value !== undefined && value !== '' && value !== 0 && value !== '0'

const textOf = (value: Json | undefined): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''

const millis = (value: Json | undefined): string | undefined =>
  isSet(value) ? `${textOf(value)}ms` : undefined

const timesOf = ({ start, end }: JsonObject): Record<string, Json | undefined> => ({ start, end })

const namesOf = (request: JsonObject): Record<string, Json | undefined> => ({
  ...timesOf(request),
  q: request['query'],
  scope: request['scope'],
  limit: request['maxTagsPerScope'],
})

function valuesAsked(...path: readonly string[]): (request: JsonObject) => AsHttp {
  return (request) => ({
    path: [...path, 'tag', encodeURIComponent(textOf(request['tagName'])), 'values'],
    texts: { ...timesOf(request), q: request['query'], limit: request['maxTagValues'] },
  })
}

function logfmtOf(tags: Json | undefined): string | undefined {
  if (!Array.isArray(tags)) return undefined
  const pairs = (tags as JsonObject[]).map(({ key, value }) => {
    const quoted = textOf(value).replaceAll(/[\\"]/g, String.raw`\$&`)
    return `${textOf(key)}="${quoted}"`
  })
  return pairs.join(' ')
}
