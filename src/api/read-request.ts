import { parseCpid } from '../model/cpid.ts'
import type { CascadeFilter } from '../model/query-port.ts'
import type { Question } from '../query/question.ts'
import { parseRfc3339 } from '../model/rfc3339.ts'
import type { Failure } from './failure.ts'
import { isTooLong, readLimit, readPart, readText } from './read-parameters.ts'

const PREFIX = '/api/v1/'
const DEFAULT_LIMIT = 1_000
const GRAPH_NODES = 200
const FOUND = 20
const SPAN_ID = /^[0-9a-f]{16}$/
const TRACE_ID = /^[0-9a-f]{32}$/

type Read = (path: readonly string[], search: URLSearchParams) => Question | Failure | undefined

/** The question that a path and its query string ask. */
export function readRequest(target: string): Question | Failure {
  const url = URL.parse(target, 'http://causeway')
  if (url?.pathname.startsWith(PREFIX) !== true) return 'unknownPath'
  const [list = '', ...path] = url.pathname.slice(PREFIX.length).split('/')
  return READERS.get(list)?.(path, url.searchParams) ?? 'unknownPath'
}

/** What stands behind `/api/v1/` first, and how the rest is read; undefined where there is nothing. */
const READERS = new Map<string, Read>([
  ['cpids', readAboutCpid],
  ['cascades', readAboutCascades],
  ['mergelogs', (path, search) => (path.length === 0 ? readAll('mergelogs', search) : undefined)],
  ['spans', (path, search) => (path.length === 0 ? readAll('spans', search) : undefined)],
  ['logs', (path, search) => (path.length === 0 ? readAll('logs', search) : undefined)],
  ['objects', (path, search) => (path.length === 0 ? readObjects(search) : undefined)],
  ['find', (path, search) => (path.length === 0 ? readFind(search) : undefined)],
  ['facets', (path) => (path.length === 0 ? { kind: 'facets' } : undefined)],
])

function readAll(kind: 'mergelogs' | 'spans' | 'logs', search: URLSearchParams): Question | Failure {
  const part = readPart(search)
  return typeof part === 'string' ? part : { kind, part: { limit: DEFAULT_LIMIT, ...part } }
}

/** The path is looked at before the CPID: a mistyped path is no malformed CPID. */
function readAboutCpid(path: readonly string[], search: URLSearchParams): Question | Failure | undefined {
  const [text = '', kind, ...more] = path
  if (text === '' || more.length > 0) return undefined
  const cpid = parseCpid(text)
  switch (kind) {
    case undefined:
      return cpid === undefined ? 'malformedCpid' : { kind: 'cpid', cpid }
    case 'related':
    case 'ancestors':
    case 'roots':
      return cpid === undefined ? 'malformedCpid' : { kind, cpid }
    case 'mergelogs':
    case 'spans':
    case 'logs':
    case 'cascades': {
      if (cpid === undefined) return 'malformedCpid'
      const part = readPart(search)
      if (typeof part === 'string') return part
      return kind === 'cascades'
        ? { kind: 'cascadesOf', cpid, part: { limit: DEFAULT_LIMIT, ...part } }
        : { kind, cpid, part }
    }
    case 'graph': {
      if (cpid === undefined) return 'malformedCpid'
      const limit = readLimit(search, GRAPH_NODES)
      return typeof limit === 'string' ? limit : { kind, cpid, limit }
    }
    default:
      return undefined
  }
}

function readAboutCascades(path: readonly string[], search: URLSearchParams): Question | Failure | undefined {
  const [text, kind, other, ...more] = path
  if (text === undefined) return readCascades(search)
  if (text === '' || more.length > 0) return undefined
  const root = parseCpid(text)
  if (kind === undefined) return root === undefined ? 'malformedCpid' : { kind: 'cascade', root }
  if (other === undefined || other === '') return undefined
  if (kind === 'compare') {
    const b = parseCpid(other)
    return root === undefined || b === undefined ? 'malformedCpid' : { kind: 'compare', a: root, b }
  }
  if (kind !== 'spans') return undefined
  if (root === undefined) return 'malformedCpid'
  const spanId = other.toLowerCase()
  const traceId = search.get('trace')?.toLowerCase()
  if (!SPAN_ID.test(spanId)) return 'badSpanId'
  if (traceId !== undefined && !TRACE_ID.test(traceId)) return 'badTraceId'
  return { kind: 'span', root, spanId, ...(traceId !== undefined && { traceId }) }
}

function readCascades(search: URLSearchParams): Question | Failure {
  const part = readPart(search)
  if (typeof part === 'string') return part
  const state = search.get('state')
  if (state !== null && state !== 'open' && state !== 'settled') return 'badState'
  const [fromNs, toNs] = ['from', 'to'].map((name) => {
    const text = search.get(name)
    return text === null ? undefined : (parseRfc3339(text) ?? ('badTime' as const))
  })
  if (fromNs === 'badTime' || toNs === 'badTime') return 'badTime'
  const texts = ['object', 'service', 'cluster'].map((name) => readText(search, name))
  if (texts.some(isTooLong)) return 'badText'
  const [object, service, cluster] = texts
  const filter: CascadeFilter = {
    ...(state !== null && { state }),
    ...(object !== undefined && { object }),
    ...(service !== undefined && { service }),
    ...(cluster !== undefined && { cluster }),
    ...(fromNs !== undefined && { fromNs }),
    ...(toNs !== undefined && { toNs }),
  }
  return { kind: 'cascades', filter, part: { limit: DEFAULT_LIMIT, ...part } }
}

function readObjects(search: URLSearchParams): Question | Failure {
  const part = readPart(search)
  if (typeof part === 'string') return part
  const ref = readText(search, 'ref')
  if (ref === undefined) return 'noReference'
  return isTooLong(ref) ? 'badText' : { kind: 'objects', ref, part: { limit: DEFAULT_LIMIT, ...part } }
}

function readFind(search: URLSearchParams): Question | Failure {
  const limit = readLimit(search, FOUND)
  if (typeof limit === 'string') return limit
  const text = readText(search, 'q')
  if (text === undefined) return 'nothingToFind'
  return isTooLong(text) ? 'badText' : { kind: 'find', text, limit }
}
