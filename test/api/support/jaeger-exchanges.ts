import { isDeepStrictEqual } from 'node:util'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'
import { cpid, hexSpan, hexTrace, nanosAfter } from '../../support/otlp-requests.ts'
import type { TestWriter } from '../../support/test-writer.ts'
import { webCascades } from './web-cascade.ts'

/** The cascades of web-cascade.ts, and two merged ones with everything that a span can hold. */
export async function cascadesForBackends(path?: string): Promise<TestWriter> {
  const writer = await webCascades(path)
  writer.mergelogs('odd', [
    { new: cpid(21), time: 20_000 },
    { new: cpid(22), time: 20_001 },
    { new: cpid(23), sources: [cpid(21), cpid(22)], time: 20_002 },
  ])
  const span = {
    traceId: hexTrace(80),
    spanId: hexSpan(800),
    name: 'everything',
    kind: 3,
    traceState: 'a=b',
    startTimeUnixNano: nanosAfter(20_010),
    endTimeUnixNano: nanosAfter(20_020.1234),
    attributes: [
      { key: 'cpid.id', value: { stringValue: cpid(23) } },
      { key: 'flag', value: { boolValue: true } },
      { key: 'count', value: { intValue: '3' } },
      { key: 'share', value: { doubleValue: 0.25 } },
      { key: 'bytes', value: { bytesValue: 'AQID' } },
      { key: 'list', value: { arrayValue: { values: [{ intValue: '1' }, { stringValue: '<b>&' }] } } },
      { key: 'map', value: { kvlistValue: { values: [{ key: 'k', value: { stringValue: 'v' } }] } } },
      { key: 'empty', value: { stringValue: '' } },
    ],
    events: [
      {
        name: 'failed',
        timeUnixNano: nanosAfter(20_015),
        attributes: [{ key: 'exception.message', value: { stringValue: 'no' } }],
      },
    ],
    links: [{ traceId: hexTrace(1), spanId: hexSpan(11), attributes: [] }],
    status: { code: 2, message: 'it failed' },
  }
  const resource = {
    attributes: [
      { key: 'service.name', value: { stringValue: 'odd' } },
      { key: 'replicas', value: { intValue: '2' } },
    ],
  }
  const scopeSpans = [{ scope: { name: 'library', version: '1.2' }, spans: [span] }]
  const request = JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] })
  writer.ingest('traces', Buffer.from(protobufOfJson('traces', Buffer.from(request))))
  writer.link()
  return writer
}

const TRACE = cpid(1).replaceAll('-', '')
const MERGED = cpid(21).replaceAll('-', '')
const ABSENT = 'f'.repeat(32)
const TIMES = 'start=1767225600000000&end=1767229200000000'
const V3_TIMES = 'query.start_time_min=2026-01-01T00:00:00Z&query.start_time_max=2026-01-02T00:00:00Z'

/** What Jaeger's page and Grafana's Jaeger data source ask, about the cascades of `cascadesForBackends`. */
export const JAEGER_REQUESTS = [
  '/api/services',
  '/api/v3/services',
  '/api/services/deployment-controller/operations',
  '/api/operations?service=deployment-controller',
  '/api/operations?service=nobody',
  '/api/v3/operations?service=replicaset-controller',
  '/api/v3/operations?service=replicaset-controller&span_kind=server',
  `/api/traces/${TRACE}`,
  `/api/traces?traceID=${TRACE}`,
  `/api/v3/traces/${TRACE}`,
  `/api/traces?traceID=${TRACE}&traceID=${MERGED}&traceID=${TRACE}`,
  `/api/traces?traceID=${MERGED}&traceID=${ABSENT}`,
  `/api/traces?traceID=${ABSENT}`,
  '/api/traces?traceID=xyz',
  '/api/traces/99',
  '/api/v3/traces/99',
  '/api/traces/xyz',
  '/api/v3/traces/xyz',
  '/api/traces',
  `/api/traces?service=deployment-controller&${TIMES}&limit=20&lookback=custom&maxDuration&minDuration`,
  `/api/traces?service=deployment-controller&${TIMES}&limit=20`,
  `/api/traces?service=deployment-controller&operation=reconcile%20deployment&${TIMES}&limit=20`,
  `/api/traces?service=deployment-controller&operation=nothing&${TIMES}&limit=20`,
  `/api/traces?service=deployment-controller&${TIMES}&limit=20&minDuration=100ms`,
  `/api/traces?service=deployment-controller&${TIMES}&limit=20&minDuration=50ms&maxDuration=1s`,
  `/api/traces?service=deployment-controller&${TIMES}&limit=20&tags=%7B%22note%22%3A%22%C3%BCn%C3%AFcode%22%7D`,
  `/api/traces?service=deployment-controller&${TIMES}&limit=20&tags=%7B%22note%22%3A%22other%22%7D`,
  `/api/traces?service=nobody&${TIMES}&limit=20`,
  `/api/traces?service=nobody&${TIMES}&limit=20&minDuration=2s&maxDuration=1s`,
  `/api/traces?service=nobody&${TIMES}&limit=20&minDuration=2s&maxDuration=0`,
  `/api/v3/traces?query.service_name=deployment-controller&${V3_TIMES}&query.num_traces=20`,
  '/api/v3/traces?query.service_name=deployment-controller',
  `/api/traces/${MERGED}`,
  `/api/v3/traces/${MERGED}`,
  `/api/traces?service=odd&${TIMES}&limit=20&tags=%7B%22count%22%3A%223%22%7D`,
  `/api/traces?service=odd&${TIMES}&limit=20&tag=flag:true&tag=count:4`,
]

interface Exchange {
  readonly request: string
  readonly status: number
  readonly body: unknown
}

/** Asks a server, and has the answers in a form in which only what means something differs. */
export async function exchangesWith(url: string, requests: readonly string[]): Promise<Exchange[]> {
  const exchanges: Exchange[] = []
  for (const request of requests) {
    const response = await fetch(url + request, { headers: { connection: 'close' } })
    exchanges.push({ request, status: response.status, body: stable(await response.json()) })
  }
  return exchanges
}

type Shape = Record<string, unknown>

/** Exchanges as they are stored: most answers list the same few traces, each of which stands here once. */
export interface StoredExchanges {
  readonly traces: Readonly<Record<string, unknown>>
  /** In lists of traces, the ids of those above. */
  readonly exchanges: readonly Exchange[]
}

export function stored(exchanges: readonly Exchange[]): StoredExchanges {
  const traces: Shape = {}
  const named = exchanges.map((exchange) =>
    withTraces(exchange, (trace) => {
      const { traceID } = trace as Shape
      if (typeof traceID !== 'string') return trace
      return isDeepStrictEqual((traces[traceID] ??= trace), trace) ? traceID : trace
    }),
  )
  return { traces, exchanges: named }
}

export function restored({ traces, exchanges }: StoredExchanges): Exchange[] {
  return exchanges.map((exchange) =>
    withTraces(exchange, (trace) => (typeof trace === 'string' ? (traces[trace] ?? trace) : trace)),
  )
}

function withTraces(exchange: Exchange, change: (trace: unknown) => unknown): Exchange {
  const { data } = exchange.body as Shape
  return Array.isArray(data)
    ? { ...exchange, body: { ...(exchange.body as Shape), data: data.map(change) } }
    : exchange
}

/**
 * The order of spans, attributes and services, the names of processes and the words of errors mean nothing. Jaeger
 * makes spans without length a nanosecond long and says so in a warning; Causeway shows what was sent.
 */
function stable(value: unknown): unknown {
  if (Array.isArray(value)) return sorted(value.map(stable).filter((item) => !isWarning(item)))
  if (typeof value === 'string') return value.replaceAll(/\\u00(26|3c|3e)/g, unescaped)
  if (typeof value !== 'object' || value === null) return value
  const shape = value as Shape
  const known = 'processes' in shape ? withProcesses(shape) : shape
  return Object.fromEntries(
    Object.entries(known)
      .filter(([, member]) => JSON.stringify(member) !== '{}')
      .map(([key, member]) => {
        if (key === 'warnings') return [key, null]
        if (key === 'msg' || key === 'message') return [key, typeof member]
        if (key === 'endTimeUnixNano') return [key, String(member).replace(/1$/, '0')]
        return [key, key === 'resourceSpans' ? stable(spansOf(member as Shape[])) : stable(member)]
      }),
  )
}

/** Jaeger escaped these in lists until the Collector's pdata, with which it writes them, no longer did. */
const unescaped = (_: string, code: string): string => String.fromCharCode(parseInt(code, 16))

const isWarning = (item: unknown): boolean =>
  typeof item === 'object' && item !== null && 'key' in item && item.key === '@jaeger@warnings'

const sorted = (items: unknown[]): unknown[] =>
  items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

function withProcesses(trace: Shape): Shape {
  const processes = trace['processes'] as Shape
  const spans = (trace['spans'] as Shape[]).map(({ processID, ...span }) => ({
    ...span,
    process: processes[String(processID)],
  }))
  return { ...trace, processes: Object.values(processes), spans }
}

/** Spans each with its resource and scope, since envelopes may be split as one likes. */
function spansOf(groups: readonly Shape[]): Shape[] {
  return groups.flatMap(({ resource, scopeSpans }) =>
    (scopeSpans as Shape[]).flatMap(({ scope, spans }) =>
      (spans as Shape[]).map((span) => ({ ...span, resource, scope })),
    ),
  )
}
