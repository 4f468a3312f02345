import { readJaegerRequest } from './read-jaeger-request.ts'
import { readTempoRequest } from './read-tempo-request.ts'
import type { TraceRequest } from './trace-request.ts'

const PROTOBUF = /application\/(?:x-)?protobuf/

/**
 * A request as clients of Jaeger and of Tempo make it; undefined for any other path. `/jaeger` and `/tempo` before the
 * path say which is meant where both have it; else whoever wants protobuf means Tempo.
 */
export function readTraceRequest(target: string, accept: string | undefined): TraceRequest | undefined {
  const url = URL.parse(target, 'http://causeway')
  const [, whose, path = ''] = /^(?:\/(jaeger|tempo))?\/api\/(.+)$/.exec(url?.pathname ?? '') ?? []
  if (url === null || path === '' || path.startsWith('v1/')) return undefined
  const parts = path.split('/').map(decoded)
  const wantsProtobuf = PROTOBUF.test(accept ?? '')
  const isTempos = whose === 'tempo' || (whose === undefined && (wantsProtobuf || parts[0] !== 'traces'))
  const asTempo =
    whose !== 'jaeger' && isTempos ? readTempoRequest(parts, url.searchParams, wantsProtobuf) : undefined
  return asTempo ?? (whose === 'tempo' ? undefined : readJaegerRequest(parts, url.searchParams))
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
