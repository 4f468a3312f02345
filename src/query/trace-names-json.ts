import type { CausewayQueries } from '../model/queries.ts'
import {
  attributesOf,
  attributeValue,
  jsonTextOf,
  type SentSpanJson,
  SpanRenderer,
} from './sent-span-json.ts'
import {
  ANY_SPAN,
  type Condition,
  KINDS,
  matchesCondition,
  MatchingEffort,
  serviceOf,
  STATUSES,
} from './trace-search.ts'

/** How many of the newest sent spans names are taken from. */
const LATELY = 5_000
const MOST = 1_000
/** These are asked for so often that they are kept at hand. */
const SERVICES = ['resource.service.name', 'service.name', '.service.name', 'rootServiceName']
/** Of a name or a value: nobody reads more of it in a list, and one may be as long as a request. */
const LONGEST = 1_024
const NO_TRACE = { rootName: '', rootServiceName: '', durationNs: 0 }

export interface NamesAsked {
  readonly version: 1 | 2
  /** How many names or values at most. */
  readonly limit: number
  /** Only of spans that meet this; it asks for nothing of their trace. */
  readonly condition: Condition
}

/** Calls back for each span sent lately that meets a condition, with turns between pages. */
function* lately(
  queries: CausewayQueries,
  condition: Condition,
  look: (shown: SentSpanJson) => void,
): Generator<string> {
  const shower = new SpanRenderer(queries)
  const effort = new MatchingEffort()
  let seen = 0
  for (const page of queries.sentLately()) {
    for (const shown of page.flatMap((item) => shower.show(item))) {
      if (effort.next()) yield ''
      if (matchesCondition(condition, shown, NO_TRACE, effort)) look(shown)
    }
    seen += page.length
    yield ''
    if (seen >= LATELY) return
  }
}

/** The services of Jaeger's older API and newer one. */
export function* jaegerServicesJson(queries: CausewayQueries, version: 1 | 3): Generator<string> {
  const { services } = queries.facets()
  yield version === 3 ? JSON.stringify({ services }) : legacyList(services)
}

export interface OperationsAsked {
  readonly service: string
  readonly spanKind?: string
  /** `names`: the older list without kinds. */
  readonly shape: 'names' | 'legacy' | 'v3'
}

/** The names of the spans that a service sent lately. */
export function* jaegerOperationsJson(
  queries: CausewayQueries,
  { service, spanKind, shape }: OperationsAsked,
): Generator<string> {
  const found = new Map<string, { name: string; spanKind: string }>()
  yield* lately(queries, ANY_SPAN, ({ span, resource }) => {
    if (serviceOf(resource) !== service || found.size >= MOST) return
    const name = listed(jsonTextOf(span['name']))
    const kind = KINDS[Number(span['kind'] ?? 0)] ?? 'unspecified'
    if (spanKind !== undefined && spanKind !== '' && kind !== spanKind) return
    found.set(`${kind} ${name}`, { name, spanKind: kind })
  })
  const operations = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  if (shape === 'v3') yield JSON.stringify({ operations })
  else if (shape === 'legacy') yield legacyList(operations)
  else yield legacyList([...new Set(operations.map(({ name }) => name))])
}

/** A text as lists show it. A slice would keep all of it in memory. */
const listed = (text: string): string =>
  text.length > LONGEST ? Buffer.from(text.slice(0, LONGEST)).toString() : text

function legacyList(data: readonly unknown[]): string {
  return JSON.stringify({ data, total: data.length, limit: 0, offset: 0, errors: null })
}

const INTRINSICS = [
  'duration',
  'kind',
  'name',
  'rootName',
  'rootServiceName',
  'status',
  'statusMessage',
  'traceDuration',
]

/** The names of attributes that were sent lately, as Tempo lists them: version 2 by scope. */
export function* tempoTagsJson(
  queries: CausewayQueries,
  { version, limit, condition, scope }: NamesAsked & { readonly scope?: string },
): Generator<string> {
  const tags = { resource: new Set<string>(), span: new Set<string>() }
  yield* lately(queries, condition, ({ span, resource }) => {
    for (const [key] of attributesOf(span)) if (tags.span.size < limit) tags.span.add(listed(key))
    for (const [key] of attributesOf(resource)) if (tags.resource.size < limit) tags.resource.add(listed(key))
  })
  const scopes = [
    { name: 'resource', tags: [...tags.resource].sort() },
    { name: 'span', tags: [...tags.span].sort() },
    { name: 'intrinsic', tags: INTRINSICS },
  ].filter(({ name }) => scope === undefined || scope === name || scope === 'none')
  if (version === 2) yield JSON.stringify({ scopes })
  else yield JSON.stringify({ tagNames: [...new Set(scopes.flatMap((one) => one.tags))].sort() })
}

/** The values that an attribute had lately, as Tempo lists them: version 2 with their types. */
export function* tempoTagValuesJson(
  queries: CausewayQueries,
  { version, limit, condition, tag }: NamesAsked & { readonly tag: string },
): Generator<string> {
  const values = new Map<string, { type: string; value: string }>()
  const add = (type: string, value: string): void => {
    if (values.size >= limit || value === '') return
    const cut = listed(value)
    values.set(`${type} ${cut}`, { type, value: cut })
  }
  if (tag === 'status' || tag === 'kind') {
    for (const word of tag === 'status' ? STATUSES : KINDS) add('keyword', word)
  } else if (condition.kind === 'all' && SERVICES.includes(tag)) {
    for (const service of queries.facets().services) add('string', service)
  } else yield* lately(queries, condition, (shown) => addValues(tag, shown, add))
  const sorted = [...values.values()].sort((a, b) => (a.value < b.value ? -1 : 1))
  yield JSON.stringify({ tagValues: version === 2 ? sorted : sorted.map(({ value }) => value) })
}

function addValues(
  tag: string,
  { span, resource }: SentSpanJson,
  add: (type: string, value: string) => void,
): void {
  if (tag === 'name') {
    add('string', jsonTextOf(span['name']))
    return
  }
  if (tag === 'rootName') {
    if (jsonTextOf(span['parentSpanId']) === '') add('string', jsonTextOf(span['name']))
    return
  }
  if (tag === 'rootServiceName') {
    if (jsonTextOf(span['parentSpanId']) === '') add('string', serviceOf(resource))
    return
  }
  const [, scope = '', key = ''] = /^(span|resource|)\.?(.*)$/s.exec(tag) ?? []
  for (const of of [...(scope === 'resource' ? [] : [span]), ...(scope === 'span' ? [] : [resource])]) {
    const [, any] = attributesOf(of).find(([name]) => name === key) ?? []
    const value = any && attributeValue(any)
    if (value !== undefined) add(typeOf(value), String(value))
  }
}

function typeOf(value: string | number | boolean): string {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  return Number.isInteger(value) ? 'int' : 'float'
}
