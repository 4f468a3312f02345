import { parseTraceQl, TraceQlError } from '../../query/traces/parse-traceql.ts'
import type { TraceQuestion, TraceShape } from '../../query/traces/trace-question.ts'
import { positiveNumber, traceIdOf } from './parameters.ts'
import { refused, type TraceRequest } from './trace-request.ts'

const TRACES = 20
const SPANS_PER_TRACE = 3
const MOST_TRACES = 1_000
const MOST_SPANS = 1_000
const NANOS_PER_SECOND = 1_000_000_000n

/** A request of Grafana's Tempo data source; undefined for any other path. */
export function readTempoRequest(
  parts: readonly string[],
  search: URLSearchParams,
  wantsProtobuf: boolean,
): TraceRequest | undefined {
  const [first, ...rest] = parts
  const version = first === 'v2' ? 2 : 1
  const [what, ...more] = version === 2 ? rest : parts
  if (what === 'echo' && more.length === 0) return { kind: 'fixed', text: 'echo', type: 'text/plain' }
  if (what === 'traces' && more.length === 1) return readTrace(more[0] ?? '', version, wantsProtobuf)
  if (what !== 'search') return undefined
  const [tag, name, values, ...others] = more
  if (tag === undefined) return version === 1 ? readSearch(search) : undefined
  if (tag === 'tags' && name === undefined) {
    const scope = search.get('scope')
    return asked({ kind: 'tags', version, ...(scope !== null && scope !== '' && { scope }) })
  }
  if (tag !== 'tag' || name === undefined || values !== 'values' || others.length > 0) return undefined
  return asked({ kind: 'tagValues', version, tag: decodedAgain(name) })
}

function asked(question: TraceQuestion): TraceRequest {
  return { kind: 'question', question, dialect: 'tempo' }
}

function readTrace(text: string, version: 1 | 2, wantsProtobuf: boolean): TraceRequest {
  const traceId = traceIdOf(text)
  if (traceId === undefined) return refused('tempo', 'a trace id is 1 to 32 hex digits')
  const json: TraceShape = version === 2 ? 'tempoJsonV2' : 'tempoJson'
  const protobuf: TraceShape = version === 2 ? 'tempoProtobufV2' : 'tempoProtobuf'
  return asked({ kind: 'sentTrace', traceId, shape: wantsProtobuf ? protobuf : json })
}

function readSearch(search: URLSearchParams): TraceRequest {
  try {
    const [start, end] = [search.get('start'), search.get('end')].map(secondsOf)
    const condition = parseTraceQl(search.get('q') ?? '')
    return asked({
      kind: 'searchTraces',
      shape: 'tempo',
      search: {
        condition,
        ...(start !== undefined && { fromNs: start }),
        ...(end !== undefined && { toNs: end }),
        limit: positiveNumber(search.get('limit'), TRACES, MOST_TRACES),
        spansPerTrace: positiveNumber(search.get('spss'), SPANS_PER_TRACE, MOST_SPANS),
      },
    })
  } catch (error) {
    if (error instanceof TraceQlError) return refused('tempo', `invalid TraceQL query: ${error.message}`)
    throw error
  }
}

/** Seconds since 1970 as nanoseconds; 0 and what is no number mean no limit. */
function secondsOf(text: string | null): bigint | undefined {
  const isNumber = text !== null && /^\d{1,10}$/.test(text) && text !== '0'
  return isNumber ? BigInt(text) * NANOS_PER_SECOND : undefined
}

/** Grafana encodes names of attributes twice. */
function decodedAgain(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
