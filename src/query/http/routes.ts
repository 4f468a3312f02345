import { z } from 'zod'
import {
  Ancestors,
  Cascade,
  CascadeList,
  CascadesOfCpid,
  Comparison,
  CpidFactsAnswer,
  DashboardSettings,
  Facets,
  Found,
  Graph,
  LogList,
  MatchingSpans,
  MergelogList,
  RelatedCpids,
  Roots,
  SpanList,
} from '../answer-schemas.ts'
import {
  CascadePodStats,
  ObjectHistory,
  ObjectVersions,
  TouchedObjects,
  Why,
} from '../object-answer-schemas.ts'
import type { PageRequest, Question } from '../question.ts'
import type { Failure } from './replies.ts'
import {
  aboutRoute,
  openApiDocument,
  type Parameter,
  PARAMETERS,
  route,
  type Route,
  type ServerInfo,
} from './route.ts'

/** The parameters of a paginated list. */
const PAGE_PARAMETERS = ['limit', 'after'] as const

/** The default limit of lists without a bound of their own. */
const DEFAULT_LIMIT = 1_000
/** The default number of Pods. Each has up to 64 series of 240 points. */
const POD_LIMIT = 100

interface Given {
  readonly limit: number | undefined
  readonly after: string | undefined
}

function pageOf({ limit, after }: Given, otherwise?: number): PageRequest {
  return { limit: limit ?? otherwise, after }
}

const GRAPH_NODES = 200

const CPID_ROUTES = [
  route('/cpids/{cpid}', {
    summary: 'Returns what is known of a CPID.',
    answer: CpidFactsAnswer,
    ask: ({ cpid }) => ({ kind: 'cpid', cpid }),
  }),
  route('/cpids/{cpid}/related', {
    summary: 'Returns the CPID and every CPID that descends from it, by the time of their mergelogs.',
    answer: RelatedCpids,
    ask: ({ cpid }) => ({ kind: 'related', cpid }),
  }),
  route('/cpids/{cpid}/ancestors', {
    summary: 'Returns the ancestors of a CPID, nearest first.',
    answer: Ancestors,
    ask: ({ cpid }) => ({ kind: 'ancestors', cpid }),
  }),
  route('/cpids/{cpid}/roots', {
    summary:
      'Returns the roots of a CPID: its ancestors without sources. The root of a root is itself. `cascades` says which of them drive it.',
    answer: Roots,
    ask: ({ cpid }) => ({ kind: 'roots', cpid }),
  }),
  route('/cpids/{cpid}/mergelogs', {
    summary: 'Returns the mergelogs of the related CPIDs. All are returned unless `limit` is given.',
    query: PAGE_PARAMETERS,
    answer: MergelogList,
    ask: ({ cpid, ...part }) => ({ kind: 'mergelogs', cpid, part: pageOf(part) }),
  }),
  route('/cpids/{cpid}/spans', {
    summary:
      'Returns the spans of the related CPIDs as they were received. All are returned unless `limit` is given.',
    query: PAGE_PARAMETERS,
    answer: SpanList,
    ask: ({ cpid, ...part }) => ({ kind: 'spans', cpid, part: pageOf(part) }),
  }),
  route('/cpids/{cpid}/logs', {
    summary:
      'Returns the log records of the related CPIDs as they were received. All are returned unless `limit` is given.',
    query: PAGE_PARAMETERS,
    answer: LogList,
    ask: ({ cpid, ...part }) => ({ kind: 'logs', cpid, part: pageOf(part) }),
  }),
  route('/cpids/{cpid}/cascades', {
    summary: 'Returns the cascades that a CPID is in, newest first, and says which of them drive it.',
    query: PAGE_PARAMETERS,
    answer: CascadesOfCpid,
    ask: ({ cpid, ...part }) => ({ kind: 'cascadesOf', cpid, part: pageOf(part, DEFAULT_LIMIT) }),
  }),
  route('/cpids/{cpid}/graph', {
    summary:
      'Returns the merge graph around a CPID: its ancestors and descendants, nearest first, at most `limit` (200).',
    query: ['limit'],
    answer: Graph,
    ask: ({ cpid, limit = GRAPH_NODES }) => ({ kind: 'graph', cpid, limit }),
  }),
]

const CASCADE_ROUTES = [
  route('/cascades', {
    summary: 'Returns the cascades, newest first.',
    query: [
      'state',
      'cause',
      'object',
      'service',
      'cluster',
      'actor',
      'namespace',
      'from',
      'to',
      ...PAGE_PARAMETERS,
    ],
    answer: CascadeList,
    ask: ({ state, cause, object, service, cluster, actor, namespace, from, to, ...part }) => ({
      kind: 'cascades',
      filter: { state, cause, object, service, cluster, actor, namespace, fromNs: from, toNs: to },
      part: pageOf(part, DEFAULT_LIMIT),
    }),
  }),
  route('/cascades/{root}', {
    summary: 'Returns a cascade: its spans as trees, its times, its critical path and its mergelogs.',
    answer: Cascade,
    ask: ({ root }) => ({ kind: 'cascade', root }),
  }),
  route('/cascades/{root}/objects', {
    summary:
      'Returns the objects that a cascade wrote, each with its owner and what was done to it, at most `limit` (1000).',
    query: ['limit'],
    answer: TouchedObjects,
    ask: ({ root, limit = DEFAULT_LIMIT }) => ({ kind: 'touchedObjects', root, limit }),
  }),
  route('/cascades/{root}/pod-stats', {
    summary:
      'Returns CPU, memory, restarts and throttling of the Pods that a cascade wrote, each from 5 minutes before its first write to 15 minutes after the last, for at most `limit` (100) Pods.',
    query: ['limit'],
    answer: CascadePodStats,
    ask: ({ root, limit = POD_LIMIT }) => ({ kind: 'podStats', root, limit }),
  }),
  route('/cascades/{root}/compare/{other}', {
    summary: 'Compares the times of two cascades.',
    answer: Comparison,
    ask: ({ root, other }) => ({ kind: 'compare', a: root, b: other }),
  }),
  route('/cascades/{root}/matches', {
    summary:
      'Returns the ids of the spans of a cascade that contain a text in their name, status message, attributes or events, as they were sent out: at most `limit` (1000). The search ends after 10 seconds.',
    query: ['contains', 'limit'],
    answer: MatchingSpans,
    ask: ({ root, contains, limit = DEFAULT_LIMIT }) => ({ kind: 'matchingSpans', root, contains, limit }),
  }),
  route('/cascades/{root}/spans/{spanId}', {
    summary: 'Returns one span as it was sent out.',
    query: ['trace'],
    answer: SpanList,
    ask: ({ root, spanId, trace }) => ({ kind: 'span', root, spanId, traceId: trace }),
  }),
]

const MAX_FOUND = 20

const LIST_ROUTES = [
  route('/mergelogs', {
    summary: 'Returns all mergelogs, oldest first.',
    query: PAGE_PARAMETERS,
    answer: MergelogList,
    ask: (part) => ({ kind: 'mergelogs', part: pageOf(part, DEFAULT_LIMIT) }),
  }),
  route('/spans', {
    summary: 'Returns all spans as they were received, in the order of arrival.',
    query: PAGE_PARAMETERS,
    answer: SpanList,
    ask: (part) => ({ kind: 'spans', part: pageOf(part, DEFAULT_LIMIT) }),
  }),
  route('/logs', {
    summary: 'Returns all log records as they were received, in the order of arrival.',
    query: PAGE_PARAMETERS,
    answer: LogList,
    ask: (part) => ({ kind: 'logs', part: pageOf(part, DEFAULT_LIMIT) }),
  }),
  route('/objects', {
    summary: 'Returns what happened to an object, the last received first.',
    query: ['ref', ...PAGE_PARAMETERS],
    answer: ObjectHistory,
    ask: ({ ref, ...part }) => ({ kind: 'objects', ref, part: pageOf(part, DEFAULT_LIMIT) }),
  }),
  route('/objects/versions', {
    summary:
      'Returns the versions of an object that were written, the highest first, each with its writer, cause and cascades.',
    query: ['ref', ...PAGE_PARAMETERS],
    answer: ObjectVersions,
    ask: ({ ref, ...part }) => ({ kind: 'objectVersions', ref, part: pageOf(part, DEFAULT_LIMIT) }),
  }),
  route('/objects/why', {
    summary: 'Returns the writes that led to a version of an object, back to the changes that began them.',
    query: ['ref'],
    answer: Why,
    ask: ({ ref }) => ({ kind: 'why', ref }),
  }),
  route('/find', {
    summary:
      "Finds what matches a CPID or its beginning, a trace id, or a part of an object's name: at most `limit` (20) of each.",
    query: ['q', 'actor', 'namespace', 'limit'],
    answer: Found,
    ask: ({ q: text, actor, namespace, limit = MAX_FOUND }) => ({
      kind: 'find',
      text,
      limit,
      filter: { actor, namespace },
    }),
  }),
  route('/facets', {
    summary:
      'Returns the services, clusters, actors, namespaces and kinds of objects that were seen lately, at most 200 of each.',
    answer: Facets,
    ask: () => ({ kind: 'facets' }),
  }),
]

/** Every path under /api/v1. The server routes requests by this table, and the OpenAPI document is generated from it. */
export const ROUTES: readonly Route[] = [
  ...CPID_ROUTES,
  ...LIST_ROUTES,
  ...CASCADE_ROUTES,
  aboutRoute('/dashboard', {
    summary: 'Returns the parts of the configuration that the dashboard needs.',
    answer: DashboardSettings,
    tell: ({ version, traceUrl, archive = false }): DashboardSettings => ({
      ...{ traceUrl: traceUrl ?? null, version, archive },
    }),
  }),
  aboutRoute('/openapi.json', {
    summary: 'Returns this document.',
    answer: z.looseObject({}).meta({ id: 'OpenApi' }),
    tell: ({ version }) => openApiDocument(ROUTES, version),
  }),
]

const PREFIX = '/api/v1'
const MAX_SHOWN = 100

/** The question of a request, or why it is refused. */
type ParsedRequest =
  | { readonly kind: 'question'; readonly question: Question }
  | { readonly kind: 'about'; readonly tell: (about: ServerInfo) => unknown }
  | { readonly kind: 'failure'; readonly failure: Failure; readonly message?: string }

const KNOWN = ROUTES.map((route) => ({
  route,
  pattern: new RegExp(
    `^${PREFIX}${route.path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`,
  ),
}))

/** Reads a path and its query string. */
export function readRequest(target: string): ParsedRequest {
  const url = URL.parse(target, 'http://causeway')
  if (url === null) return failed('unknownPath')
  for (const { route, pattern } of KNOWN) {
    const found = pattern.exec(url.pathname)
    if (found !== null) return readRoute(route, found.groups ?? {}, url.searchParams)
  }
  return failed('unknownPath')
}

function readRoute(
  { query, ask, tell }: Route,
  inPath: Readonly<Record<string, string>>,
  search: URLSearchParams,
): ParsedRequest {
  const wrong = wrongNames(query, search)
  if (wrong !== undefined) return failed('badParameter', wrong)
  const texts = [
    ...Object.entries(inPath),
    ...query.map((name) => [name, search.get(name) ?? undefined] as const),
  ] as [keyof typeof PARAMETERS, string | undefined][]
  const values: Record<string, unknown> = {}
  for (const [name, text] of texts) {
    const parameter: Parameter<unknown> = PARAMETERS[name]
    const read = text === undefined ? undefined : parameter.read(text)
    if (typeof read === 'string') return failed(read)
    if (read === undefined && parameter.missing !== undefined) return failed(parameter.missing)
    values[name] = read?.value
  }
  if (ask !== undefined) return { kind: 'question', question: ask(values) }
  return tell === undefined ? failed('unknownPath') : { kind: 'about', tell }
}

/** Which parameter name is wrong. Unknown names are refused, since ignoring a filter would answer with more than was asked for. */
function wrongNames(names: readonly string[], search: URLSearchParams): string | undefined {
  const given = [...search.keys()]
  const unknown = given.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const known = names.length === 0 ? 'none' : names.join(', ')
    return `unknown parameter ${JSON.stringify(unknown.slice(0, MAX_SHOWN))}; what is understood here: ${known}`
  }
  const twice = given.find((name, at) => given.indexOf(name) !== at)
  return twice === undefined ? undefined : `parameter ${twice} is given twice; give it once`
}

function failed(failure: Failure, message?: string): ParsedRequest {
  return { kind: 'failure', failure, ...(message !== undefined && { message }) }
}
