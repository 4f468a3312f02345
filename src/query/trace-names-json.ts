import { CPID_COPY } from '../model/attributes.ts'
import { ownValue } from '../model/untrusted-names.ts'
import { type CausewayQueries, MOST_FACETS, type SentTraceRange } from '../model/queries.ts'
import { endOfJaeger } from './jaeger-json.ts'
import { BadQuestion } from './question.ts'
import { ANY_SPAN, compare, OLD_TAGS, spansWith } from './traceql/span-filters.ts'
import { partialJson } from './tempo-search-json.ts'
import { type FoundTrace, SearchEffort, TraceScan, type TraceSearch } from './trace-search.ts'
import { readScope } from './traceql/read-span.ts'
import { elementsOf, stringOf, textOf } from './traceql/static-values.ts'
import { type Attribute, KINDS, type Scope, type Static, STATUSES, TraceQlError } from './traceql/syntax.ts'
import { TextKeys } from './traceql/text-keys.ts'
import { staticOfValues, type StoredScope, type StoredSpan } from './traceql/trace-data.ts'
import { ABSENT_VALUE } from './traceql/conditions.ts'
import { listedSpans } from './traceql/listed-spans.ts'
import { readAttribute } from './traceql/parse-traceql.ts'
import { attributeOf } from './traceql/read-tokens.ts'

const MOST = 1_000
/** The time limit of a list in milliseconds. Clients request lists while the user types. */
const MOST_MS = 10_000
/** The most characters of a name or value in a list, since it may be as long as a request. */
const LONGEST = 1_024

export interface NamesAsked {
  readonly version: 1 | 2
  /** The most names or values in the answer. */
  readonly limit: number
  /** Only spans that this search finds are considered. */
  readonly search: Omit<TraceSearch, 'limit' | 'spansPerTrace'>
}

interface TraceVisit {
  readonly effort: SearchEffort
  readonly also: readonly Attribute[] | 'all'
  /** Returns false when it needs no more traces. */
  readonly see: (found: FoundTrace) => boolean
}

/** Calls `see` for each matching trace. Yields so that others get their turn. Throws BadQuestion if the query fails on a span. */
export function* searchTraces(
  queries: CausewayQueries,
  search: NamesAsked['search'],
  { effort, also, see }: TraceVisit,
): Generator<string> {
  try {
    for (const source of new TraceScan(queries, search, effort, also).sources()) {
      effort.begin()
      for (const found of source) {
        if (found === undefined) {
          if (effort.end()) return
          yield ''
          effort.begin()
        } else if (!see(found)) return
      }
      effort.end()
    }
  } catch (error) {
    throw error instanceof TraceQlError ? new BadQuestion(error.message) : error
  }
}

/** The services, for Jaeger's older API and its v3. */
export function* jaegerServicesJson(queries: CausewayQueries, version: 1 | 3): Generator<string> {
  const { services } = queries.facets()
  const lacks =
    services.length < MOST_FACETS
      ? undefined
      : `there may be more than the ${MOST_FACETS} services shown: search for others by their names`
  yield version === 3
    ? `{"services":${JSON.stringify(services)}${partialJson(lacks)}}`
    : legacyList(services, lacks)
}

export interface OperationsAsked {
  readonly service: string
  readonly spanKind?: string
  /** `names`: the list of names without kinds of the older API. */
  readonly shape: 'names' | 'legacy' | 'v3'
}

/** The operations of a service: the distinct names of its spans. */
export function* jaegerOperationsJson(
  queries: CausewayQueries,
  { service, spanKind, shape }: OperationsAsked,
  nowMs: () => number,
): Generator<string> {
  const effort = new SearchEffort(nowMs, () => queries.bytesRead, MOST_MS)
  const found = new Map<string, { name: string; spanKind: string }>()
  const ofService = compare({ kind: 'attribute', scope: 'resource', name: 'service.name' }, '=', service)
  yield* searchTraces(
    queries,
    { pipeline: spansWith(ofService) },
    {
      effort,
      also: [],
      see: ({ sets }) => {
        for (const { stored } of sets.flatMap(({ spans }) => spans)) {
          const name = listed(stored.name)
          const kind = KINDS[stored.kind] ?? 'unspecified'
          if (found.size <= MOST && (spanKind === undefined || spanKind === '' || kind === spanKind))
            found.set(`${kind} ${name}`, { name, spanKind: kind })
        }
        return found.size <= MOST
      },
    },
  )
  if (found.size > MOST)
    effort.leaveOut(`there are more than ${MOST} operations: search for others by their names`)
  const operations = [...found.values()].slice(0, MOST).sort((a, b) => (a.name < b.name ? -1 : 1))
  if (shape === 'v3') yield `{"operations":${JSON.stringify(operations)}${partialJson(effort.lacks)}}`
  else if (shape === 'legacy') yield legacyList(operations, effort.lacks)
  else yield legacyList([...new Set(operations.map(({ name }) => name))], effort.lacks)
}

const COPY: Attribute = { kind: 'attribute', scope: 'span', name: CPID_COPY }

/**
 * Counts how often a span of one service is the parent of a span of another; a span with copies in several traces counts once. With
 * `service`, only calls from or to it.
 */
export function* jaegerDependenciesJson(
  queries: CausewayQueries,
  { fromNs, toNs, service }: SentTraceRange & { readonly service?: string },
  nowMs: () => number,
): Generator<string> {
  const effort = new SearchEffort(nowMs, () => queries.bytesRead, MOST_MS)
  const keys = new TextKeys()
  const calls = new Map<string, { parent: string; child: string; callCount: number }>()
  const range = { ...(fromNs !== undefined && { fromNs }), ...(toNs !== undefined && { toNs }) }
  yield* searchTraces(
    queries,
    { pipeline: spansWith(ANY_SPAN), ...range },
    {
      effort,
      also: [COPY],
      see: ({ trace: { spans }, selected }) => {
        const services = new Map(spans.map(({ spanId, scope }) => [spanId, scope.service]))
        for (const span of spans) {
          const { parentId, scope } = span
          const isCopy = selected(span)?.valueOf(COPY)
          if (isCopy?.type === 'boolean' && isCopy.value) continue
          const [parent, child] = [services.get(parentId), scope.service]
          if (parent === undefined || parent === child) continue
          if (service !== undefined && parent !== service && child !== service) continue
          const key = JSON.stringify([keys.of(parent), keys.of(child)])
          const known = calls.get(key) ?? { parent: listed(parent), child: listed(child), callCount: 0 }
          known.callCount++
          if (calls.size < MOST || calls.has(key)) calls.set(key, known)
          else effort.leaveOut(`more than ${MOST} pairs of services call one another: ask about one service`)
        }
        return true
      },
    },
  )
  const sorted = [...calls.values()].sort((a, b) => (a.parent + a.child < b.parent + b.child ? -1 : 1))
  // In Jaeger's answer the `total` of dependencies is 0.
  yield legacyList(sorted, effort.lacks, 0)
}

/** A name or value, truncated. It is copied, since a slice would keep the whole string in memory. */
const listed = (text: string): string =>
  text.length > LONGEST ? Buffer.from(text.slice(0, LONGEST)).toString() : text

function legacyList(data: readonly unknown[], lacks: string | undefined, total = data.length): string {
  return `{"data":[${data.map((one) => JSON.stringify(one)).join(',')}${endOfJaeger(lacks, total)}`
}

const INTRINSICS = [
  'duration',
  'name',
  'status',
  'statusMessage',
  'kind',
  'rootServiceName',
  'rootName',
  'traceDuration',
  'event:name',
  'event:timeSinceStart',
  'link:spanID',
  'link:traceID',
  'instrumentation:name',
  'instrumentation:version',
  'trace:id',
  'span:id',
  'span:parentID',
  'span:status',
  'span:statusMessage',
  'span:duration',
  'span:name',
  'span:kind',
  'trace:rootName',
  'trace:rootService',
  'trace:duration',
]
const SCOPES = ['resource', 'span', 'event', 'link', 'instrumentation'] as const satisfies Scope[]

function attributesIn(scope: Scope, span: StoredSpan): readonly { readonly key: string }[] {
  switch (scope) {
    case 'span':
      return span.attributes
    case 'resource':
      return span.scope.resource
    case 'instrumentation':
      return span.scope.attributes
    case 'event':
      return span.events.flatMap(({ attributes }) => attributes)
    case 'link':
      return span.links.flatMap(({ attributes }) => attributes)
  }
}

/** The names of attributes, as Tempo lists them; version 2 lists them by scope. */
export function* tempoTagsJson(
  queries: CausewayQueries,
  { version, limit, search: asked, scope }: NamesAsked & { readonly scope?: string },
  nowMs: () => number,
): Generator<string> {
  const search = listedBy(version, asked)
  const isAsked = (one: string): boolean => scope === undefined || scope === 'none' || scope === one
  const names = new Map<Scope, Set<string>>(SCOPES.filter(isAsked).map((one) => [one, new Set<string>()]))
  const effort = new SearchEffort(nowMs, () => queries.bytesRead, MOST_MS)
  if (isOfAnySpan(search)) yield* scopeNames(queries, names, { effort, limit })
  if (names.size > 0 && ![...names.keys()].every((one) => isOfScope(one) && isOfAnySpan(search)))
    yield* searchTraces(queries, search, {
      effort,
      also: 'all',
      see: ({ sets }) => {
        for (const { stored } of sets.flatMap(({ spans }) => spans))
          for (const [one, found] of names)
            for (const { key } of attributesIn(one, stored)) addUpTo(limit, found, key)
        return [...names.values()].some((found) => found.size <= limit)
      },
    })
  const shown: { name: string; tags: string[] }[] = []
  for (const [name, found] of names) {
    if (found.size > limit)
      effort.leaveOut(
        `${name} has more than ${limit} names: raise limit (${MOST} at most), or ask for less with q`,
      )
    if (found.size > 0) shown.push({ name, tags: [...found].slice(0, limit).sort() })
  }
  // Version 1 names intrinsics only if that scope is asked for.
  if (version === 2 ? isAsked('intrinsic') : scope === 'intrinsic')
    shown.push({ name: 'intrinsic', tags: INTRINSICS })
  const tagNames = [...new Set(shown.flatMap((one) => one.tags))].sort()
  yield JSON.stringify(version === 2 ? { scopes: shown } : { tagNames }).slice(0, -1) + endOfNames(effort)
}

/** As in Tempo, version 1 ignores the query and considers all spans. */
const listedBy = (version: 1 | 2, search: NamesAsked['search']): NamesAsked['search'] => ({
  ...search,
  pipeline: version === 1 ? spansWith(ANY_SPAN) : listedSpans(search.pipeline),
})

/** Whether attributes of a scope are read from stored resources and scopes, without reading spans. */
const isOfScope = (scope: string): boolean => scope === 'resource' || scope === 'instrumentation'

function isOfAnySpan({ pipeline: { stages } }: NamesAsked['search']): boolean {
  const [stage, ...others] = stages
  if (stage?.kind !== 'filter' || others.length > 0) return false
  const { field } = stage
  return field.kind === 'static' && field.value.type === 'boolean' && field.value.value
}

/** Calls `see` for each stored scope with its resource until it returns false. Yields so that others get their turn. */
function* lookThroughScopes(
  queries: CausewayQueries,
  effort: SearchEffort,
  see: (scope: StoredScope) => boolean,
): Generator<string> {
  effort.begin()
  for (const page of queries.allEnvelopes()) {
    for (const envelopes of page) if (!see(readScope(envelopes))) return
    if (effort.end()) return
    yield ''
    effort.begin()
  }
}

function scopeNames(
  queries: CausewayQueries,
  names: ReadonlyMap<Scope, Set<string>>,
  { effort, limit }: { effort: SearchEffort; limit: number },
): Generator<string> {
  const asked = [names.get('resource'), names.get('instrumentation')] as const
  return lookThroughScopes(queries, effort, ({ resource, attributes }) => {
    for (const { key } of resource) addUpTo(limit, asked[0], key)
    for (const { key } of attributes) addUpTo(limit, asked[1], key)
    return asked.some((found) => found !== undefined && found.size <= limit)
  })
}

/** Adds up to one name beyond the limit, which shows that the list is incomplete. */
function addUpTo(limit: number, names: Set<string> | undefined, name: string): void {
  if (names !== undefined && names.size <= limit && name !== '') names.add(listed(name))
}

/** The values of an attribute in a resource or scope. */
function* valuesIn(one: StoredScope, { scope, name }: Attribute): Generator<Static> {
  if (name === 'instrumentation:name') yield stringOf(one.name)
  else if (name === 'instrumentation:version') yield stringOf(one.version)
  else
    for (const { key, column, values } of scope === 'resource' ? one.resource : one.attributes)
      if (key === name) yield staticOfValues(column, values)
}

/** The end of a list: its effort, and what it lacks. */
function endOfNames(effort: SearchEffort): string {
  const metrics = {
    inspectedBytes: String(effort.inspectedBytes),
    completedJobs: effort.lacks === undefined ? 1 : 0,
    totalJobs: 1,
  }
  return `,"metrics":${JSON.stringify(metrics)}${partialJson(effort.lacks)}}`
}

/** Intrinsics whose values are not listed, since nearly every span has another one. */
const UNLISTED = [
  'link:traceID',
  'link:spanID',
  'span:id',
  'span:parentID',
  'trace:id',
  'duration',
  'traceDuration',
]

/** The attribute with this name; undefined if the name is invalid. */
function attributeNamed(tag: string, version: 1 | 2): Attribute | undefined {
  try {
    if (version === 1) return attributeNamedOfOld(tag)
    return readAttribute(tag)
  } catch (error) {
    if (error instanceof TraceQlError) return undefined
    throw error
  }
}

function attributeNamedOfOld(tag: string): Attribute {
  const old = ownValue(OLD_TAGS, tag)
  if (old !== undefined) return old
  if (tag === 'service.name') return { kind: 'attribute', scope: 'resource', name: tag }
  const isScoped = /^(?:span|resource|event|link|instrumentation|)\./.test(tag)
  return isScoped ? attributeOf(tag) : { kind: 'attribute', scope: 'any', name: tag }
}

/** The values of an attribute, as Tempo lists them; version 2 lists them with types. */
export function* tempoTagValuesJson(
  queries: CausewayQueries,
  { version, limit, search: asked, tag }: NamesAsked & { readonly tag: string },
  nowMs: () => number,
): Generator<string> {
  const search = listedBy(version, asked)
  const values = new Map<string, { type: string; value: string }>()
  const add = (value: Static): void => {
    for (const one of elementsOf(value)) {
      const text = listed(textOf(one))
      const type = one.type === 'status' || one.type === 'kind' ? 'keyword' : TYPES[one.type]
      if (type !== undefined && text !== '' && values.size <= limit)
        values.set(`${type} ${text}`, { type, value: text })
    }
  }
  const attribute = attributeNamed(tag, version)
  const effort = new SearchEffort(nowMs, () => queries.bytesRead, MOST_MS)
  const isWord =
    attribute?.scope === 'intrinsic' && (attribute.name === 'status' || attribute.name === 'kind')
  if (isWord && isOfAnySpan(search))
    for (const word of WORDS[attribute.name]) values.set(word, { type: 'keyword', value: word })
  else if (attribute !== undefined && isOfScopeAttribute(attribute) && isOfAnySpan(search))
    yield* lookThroughScopes(queries, effort, (scope) => {
      for (const value of valuesIn(scope, attribute)) add(value)
      return values.size <= limit
    })
  else if (attribute !== undefined && !(attribute.scope === 'intrinsic' && UNLISTED.includes(attribute.name)))
    yield* searchTraces(queries, search, {
      effort,
      also: [attribute],
      see: ({ sets, selected }) => {
        for (const { stored } of sets.flatMap(({ spans }) => spans)) {
          const view = selected(stored)
          for (const read of view?.all() ?? [])
            if (read.attribute.name === attribute.name && read.value !== ABSENT_VALUE) add(read.value)
        }
        return values.size <= limit
      },
    })
  if (values.size > limit)
    effort.leaveOut(
      `there are more than ${limit} values: raise limit (${MOST} at most), or ask for less with q`,
    )
  const sorted = [...values.values()].slice(0, limit).sort((a, b) => (a.value < b.value ? -1 : 1))
  const tagValues = version === 2 ? sorted : sorted.map(({ value }) => value)
  yield JSON.stringify({ tagValues }).slice(0, -1) + endOfNames(effort)
}

const isOfScopeAttribute = ({ scope, name }: Attribute): boolean =>
  isOfScope(scope) || (scope === 'intrinsic' && isOfScope(name.split(':')[0] ?? ''))

const WORDS = { status: STATUSES, kind: KINDS }
const TYPES: Readonly<Partial<Record<Static['type'], string>>> = {
  string: 'string',
  boolean: 'bool',
  int: 'int',
  float: 'float',
  duration: 'duration',
}
