import { BadParameter, Parameters } from './parameters.ts'
import { jaegerDialect, readJaegerRequest } from './read-jaeger-request.ts'
import { readTempoRequest } from './read-tempo-request.ts'
import { refused, type Dialect, type TraceRequest } from './trace-request.ts'

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
    whose !== 'jaeger' && isTempos
      ? understood('tempo', url.searchParams, (parameters) =>
          readTempoRequest(parts, parameters, wantsProtobuf),
        )
      : undefined
  if (asTempo !== undefined || whose === 'tempo') return asTempo
  return understood(jaegerDialect(parts), url.searchParams, (parameters) =>
    readJaegerRequest(parts, parameters),
  )
}

/** What is read, or a refusal that names the first parameter which is not understood. */
function understood(
  dialect: Dialect,
  search: URLSearchParams,
  read: (parameters: Parameters) => TraceRequest | undefined,
): TraceRequest | undefined {
  const parameters = new Parameters(search)
  try {
    const request = read(parameters)
    if (request !== undefined) parameters.refuseOthers()
    return request
  } catch (error) {
    if (error instanceof BadParameter) return refused(dialect, error.message)
    throw error
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
