import {
  AttributeFetch,
  ColumnFetch,
  type Condition,
  type Conditions,
  isSame,
  type Read,
} from './conditions.ts'
import type { AttributeSource, MatchingEffort } from './evaluate-field.ts'
import { durationOf, intOf, kindOf, NIL, statusOf, stringOf } from './static-values.ts'
import { type Attribute, type IntrinsicName, type Scope, type Static } from './syntax.ts'
import {
  type Place,
  placesOf,
  staticOf,
  type StoredAttribute,
  type StoredEvent,
  type StoredLink,
  type StoredScope,
  type StoredSpan,
  type StoredTrace,
} from './trace-data.ts'

/** Attributes with a dedicated column in Tempo, and the column's type. They are read differently from other attributes. */
export const DEDICATED: Readonly<Record<'span' | 'resource', ReadonlyMap<string, 'string' | 'int'>>> = {
  resource: new Map(
    [
      'cluster',
      'namespace',
      'pod',
      'container',
      'k8s.cluster.name',
      'k8s.namespace.name',
      'k8s.pod.name',
      'k8s.container.name',
    ].map((name) => [name, 'string']),
  ),
  span: new Map([
    ['http.method', 'string'],
    ['http.url', 'string'],
    ['http.status_code', 'int'],
    ['http.request.method', 'string'],
    ['http.route', 'string'],
    ['server.address', 'string'],
    ['url.path', 'string'],
    ['url.route', 'string'],
  ]),
}

const OF_TRACE: readonly string[] = ['rootName', 'rootServiceName', 'traceDuration', 'trace:id']
const OF_PLACE: readonly string[] = ['nestedSetLeft', 'nestedSetRight', 'nestedSetParent', 'span:childCount']

/** The conditions on one scope. */
interface ScopeFetch {
  readonly columns: readonly { readonly attribute: Attribute; readonly fetch: ColumnFetch }[]
  readonly attributes: AttributeFetch
  /** How many different attributes the conditions use. */
  readonly names: number
}

const NO_ATTRIBUTES: readonly StoredAttribute[] = []

/** Reads what a query needs from the spans of a trace. Skips the spans that Tempo would not read. */
export class FetchPlan {
  /** Whether the query needs the positions of spans in the tree. */
  readonly #needsPlaces: boolean
  readonly #all: boolean
  readonly #startIsRead: boolean
  readonly #requiresMatch: boolean
  readonly #span: ScopeFetch
  readonly #resource: ScopeFetch
  readonly #instrumentation: ScopeFetch
  readonly #event: ScopeFetch | undefined
  readonly #link: ScopeFetch | undefined
  readonly #trace: ScopeFetch
  readonly #effort: MatchingEffort
  readonly #relates: boolean
  readonly #scopes = new WeakMap<StoredScope, ScopeRead>()

  constructor(conditions: Conditions, effort: MatchingEffort, isForAnswer = false) {
    const { list, relates } = conditions
    const asksAnyScope = list.some(({ attribute }) => attribute.scope === 'any')
    this.#all = conditions.all && !asksAnyScope
    this.#needsPlaces = relates || list.some(({ attribute }) => OF_PLACE.includes(attribute.name))
    this.#startIsRead = list.some(({ attribute }) => attribute.name === 'start')
    const of = (...scopes: (Scope | 'trace')[]): Condition[] =>
      list.filter(({ attribute }) => scopes.some((scope) => belongsTo(attribute, scope)))
    this.#requiresMatch = (list.length > 0 || relates) && of('trace').length === 0 && !isForAnswer
    const settings = { all: this.#all, effort }
    this.#span = scopeFetch('span', of('span'), settings)
    this.#resource = scopeFetch('resource', of('resource'), settings)
    this.#instrumentation = scopeFetch('instrumentation', of('instrumentation'), settings)
    this.#trace = scopeFetch('trace', of('trace'), settings)
    this.#event = of('event').length === 0 ? undefined : scopeFetch('event', of('event'), settings)
    this.#link = of('link').length === 0 ? undefined : scopeFetch('link', of('link'), settings)
    this.#relates = relates
    this.#effort = effort
  }

  /** The spans that a query reads. Yields undefined when other work may run. */
  *spansOf(trace: StoredTrace): Generator<undefined, SpanView[]> {
    this.#effort.next()
    const ofTrace: Read[] = []
    const facts = factsOf(trace)
    if (!readColumns(this.#trace, (name) => facts.valueOf(name), ofTrace) && this.#all) return []
    const places = this.#needsPlaces ? placesOf(trace.spans) : undefined
    const views: SpanView[] = []
    for (const span of trace.spans) {
      if (this.#effort.next()) yield undefined
      const view = this.#view(span, places?.get(span))
      if (view === undefined) continue
      view.trace = ofTrace
      views.push(view)
    }
    return views
  }

  /** Reads what the query needs from one span, without its trace. Undefined if the span is skipped. */
  viewOf(span: StoredSpan): SpanView | undefined {
    return this.#view(span, undefined)
  }

  #view(span: StoredSpan, place: Place | undefined): SpanView | undefined {
    const scope = this.#readOf(span.scope)
    if (scope === undefined) return undefined
    const view = new SpanView(span, place, this.#relates)
    view.resource = scope.resource
    view.instrumentation = scope.instrumentation
    const events = this.#event && readEach(this.#event, span.events, eventValue, this.#all)
    const links = this.#link && readEach(this.#link, span.links, linkValue, this.#all)
    if (events === null || links === null) return undefined
    if (events !== undefined) view.event = events
    if (links !== undefined) view.link = links
    const hasAll = this.#read(
      this.#span,
      'span',
      () => span.attributes,
      view.span,
      (name) => spanValue(span, place, name),
    )
    if (!hasAll) return undefined
    if (this.#all && view.countOfSpan(this.#startIsRead) < this.#span.names) return undefined
    return this.#requiresMatch && view.count(this.#startIsRead) === 0 ? undefined : view
  }

  /** Reads the resource and the scope, once for all their spans. Undefined if those spans are skipped. */
  #readOf(scope: StoredScope): ScopeRead | undefined {
    const known = this.#scopes.get(scope)
    if (known !== undefined) return known === PASSED_OVER ? undefined : known
    const read = { resource: [] as Read[], instrumentation: [] as Read[] }
    const hasAllOfScope = this.#read(
      this.#instrumentation,
      'instrumentation',
      () => scope.attributes,
      read.instrumentation,
      (name) => stringOf(name === 'instrumentation:name' ? scope.name : scope.version),
    )
    const hasAllOfResource = this.#read(
      this.#resource,
      'resource',
      () => scope.resource,
      read.resource,
      () => stringOf(scope.service),
    )
    const lacks = (all: readonly Read[], { names }: ScopeFetch): boolean => this.#all && all.length < names
    const isPassedOver =
      !hasAllOfScope ||
      !hasAllOfResource ||
      lacks(read.instrumentation, this.#instrumentation) ||
      lacks(read.resource, this.#resource)
    this.#scopes.set(scope, isPassedOver ? PASSED_OVER : read)
    return isPassedOver ? undefined : read
  }

  /** Returns false if all conditions are required and one is not met. */
  #read(
    { columns, attributes }: ScopeFetch,
    scope: 'span' | 'resource' | 'instrumentation',
    storedOf: () => readonly StoredAttribute[],
    into: Read[],
    columnValue: (name: string) => Static | undefined,
  ): boolean {
    const dedicated = scope === 'instrumentation' ? undefined : DEDICATED[scope]
    for (const { attribute, fetch } of columns) {
      const type = attribute.scope === 'intrinsic' ? undefined : dedicated?.get(attribute.name)
      const value =
        type === undefined ? columnValue(attribute.name) : inColumn(storedOf(), attribute.name, type)
      if (!fetch.read(value, into) && this.#all) return false
    }
    if (attributes.isEmpty) return true
    const stored = storedOf()
    const others =
      dedicated === undefined || !stored.some((one) => isInColumn(one, dedicated, scope))
        ? stored
        : stored.filter((one) => !isInColumn(one, dedicated, scope))
    return attributes.read(others, this.#all, into)
  }
}

interface ScopeRead {
  readonly resource: readonly Read[]
  readonly instrumentation: readonly Read[]
}

const PASSED_OVER: ScopeRead = { resource: [], instrumentation: [] }

export const isInColumn = (
  { key, column, isList }: StoredAttribute,
  dedicated: ReadonlyMap<string, 'string' | 'int'>,
  scope: 'span' | 'resource' | 'instrumentation',
): boolean =>
  (isList !== true && dedicated.get(key) === column) ||
  (scope === 'resource' && key === SERVICE && column === 'string')

export function inColumn(
  stored: readonly StoredAttribute[],
  name: string,
  type: 'string' | 'int',
): Static | undefined {
  for (const { key, column, values, isList } of stored) {
    const [value] = values
    if (key === name && column === type && isList !== true && value !== undefined)
      return staticOf(type, value)
  }
  return undefined
}

export const SERVICE = 'service.name'

function belongsTo({ scope, name }: Attribute, asked: Scope | 'trace'): boolean {
  if (scope === 'any') return asked === 'span' || asked === 'resource'
  if (scope !== 'intrinsic') return scope === asked
  if (OF_TRACE.includes(name)) return asked === 'trace'
  const [prefix = ''] = name.split(':')
  if (prefix === 'event' || prefix === 'link' || prefix === 'instrumentation') return asked === prefix
  return asked === 'span' && name !== 'start'
}

/** Sorts conditions: those on a column are read together, all others as ordinary attributes. */
function scopeFetch(
  scope: Scope | 'trace',
  conditions: readonly Condition[],
  settings: { all: boolean; effort: MatchingEffort },
): ScopeFetch {
  const columns: { attribute: Attribute; conditions: Condition[] }[] = []
  const others: Condition[] = []
  for (const condition of conditions) {
    const attribute = columnOf(scope, condition)
    if (attribute === undefined) others.push(condition)
    else {
      const known = columns.find((one) => isSame(one.attribute, attribute))
      if (known === undefined) columns.push({ attribute, conditions: [condition] })
      else known.conditions.push(condition)
    }
  }
  return {
    columns: columns.map(({ attribute, conditions: own }) => ({
      attribute,
      fetch: new ColumnFetch(attribute, own, settings.effort),
    })),
    attributes: new AttributeFetch(scope === 'trace' ? 'span' : scope, others, settings),
    names: new Set(conditions.map(({ attribute }) => attribute.name)).size,
  }
}

function columnOf(scope: Scope | 'trace', { attribute, operand }: Condition): Attribute | undefined {
  if (attribute.scope === 'intrinsic') return attribute
  if (scope !== 'span' && scope !== 'resource') return undefined
  const isService = scope === 'resource' && attribute.name === SERVICE
  const type = isService ? 'string' : DEDICATED[scope].get(attribute.name)
  const fits = operand === undefined || operand.type === type || operand.type === `${type}s`
  return type !== undefined && fits ? { kind: 'attribute', scope, name: attribute.name } : undefined
}

/** Reads all columns into `into`. Returns false if one does not meet its conditions. */
function readColumns(
  { columns }: ScopeFetch,
  valueOf: (name: IntrinsicName) => Static | undefined,
  into: Read[],
): boolean {
  let hasAll = true
  for (const { attribute, fetch } of columns)
    if (!fetch.read(valueOf(attribute.name as IntrinsicName), into)) hasAll = false
  return hasAll
}

/** Reads the events or links of a span. Null if one of them has to meet all conditions, and none does. */
function readEach<T extends StoredEvent | StoredLink>(
  fetch: ScopeFetch,
  items: readonly T[],
  valueOf: (item: T | undefined, name: string) => Static,
  all: boolean,
): Read[] | null {
  const found: Read[] = []
  let met = 0
  for (const item of items.length === 0 ? [undefined] : items) {
    const read: Read[] = []
    let isMet = true
    for (const { attribute, fetch: column } of fetch.columns) {
      const value = valueOf(item, attribute.name)
      if (!(item === undefined ? column.readNothing(value, read) : column.read(value, read))) isMet = false
    }
    if (!fetch.attributes.read(item?.attributes ?? NO_ATTRIBUTES, all, read)) isMet = false
    if (all && (!isMet || read.length < fetch.names)) continue
    met++
    found.push(...read)
  }
  return all && met === 0 ? null : found
}

function eventValue(event: StoredEvent | undefined, name: string): Static {
  return name === 'event:name' ? stringOf(event?.name ?? '') : durationOf(event?.sinceStartNs ?? 0n)
}

function linkValue(link: StoredLink | undefined, name: string): Static {
  return stringOf(
    name === 'link:traceID'
      ? (link?.traceId ?? '').replace(/^0+/, '')
      : (link?.spanId ?? '').padStart(16, '0'),
  )
}

export function spanValue(span: StoredSpan, place: Place | undefined, name: string): Static | undefined {
  switch (name) {
    case 'name':
      return stringOf(span.name)
    case 'status':
      return statusOf(span.status)
    case 'statusMessage':
      return stringOf(span.statusMessage)
    case 'kind':
      return kindOf(span.kind)
    case 'duration':
      return durationOf(span.endNs - span.startNs)
    case 'span:id':
      return stringOf(span.spanId)
    case 'span:parentID':
      return stringOf(span.parentId.padStart(16, '0'))
    case 'nestedSetLeft':
      return intOf(BigInt(place?.left ?? 0))
    case 'nestedSetRight':
      return intOf(BigInt(place?.right ?? 0))
    case 'nestedSetParent':
      return intOf(BigInt(place?.parent ?? 0))
    case 'span:childCount':
      return intOf(BigInt(place?.children ?? 0))
    default:
      return undefined
  }
}

/** The facts about a trace as a whole. */
export interface TraceFactsFound {
  readonly rootName: string
  readonly rootServiceName: string
  readonly startNs: bigint
  readonly endNs: bigint
  valueOf(name: IntrinsicName): Static
}

export function factsOf({ traceId, spans }: StoredTrace): TraceFactsFound {
  // If there are several roots, the last one counts.
  const root = spans.findLast(({ parentId }) => parentId === '')
  let [startNs, endNs] = [spans[0]?.startNs ?? 0n, 0n]
  for (const span of spans) {
    if (span.startNs < startNs) startNs = span.startNs
    if (span.endNs > endNs) endNs = span.endNs
  }
  const [rootName, rootServiceName] = [root?.name ?? '', root?.scope.service ?? '']
  return {
    rootName,
    rootServiceName,
    startNs,
    endNs,
    valueOf(name) {
      if (name === 'rootName') return stringOf(rootName)
      if (name === 'rootServiceName') return stringOf(rootServiceName)
      return name === 'traceDuration' ? durationOf(endNs - startNs) : stringOf(traceId.replace(/^0+/, ''))
    },
  }
}

/** What was read of one span. */
export class SpanView implements AttributeSource {
  readonly stored: StoredSpan
  readonly span: Read[] = []
  resource: readonly Read[] = NOTHING
  instrumentation: readonly Read[] = NOTHING
  event: readonly Read[] = NOTHING
  link: readonly Read[] = NOTHING
  trace: readonly Read[] = NOTHING
  readonly #place: Place | undefined
  readonly #isPlaceRead: boolean

  constructor(stored: StoredSpan, place: Place | undefined, isPlaceRead: boolean) {
    this.stored = stored
    this.#place = place
    this.#isPlaceRead = isPlaceRead
  }

  get place(): Place | undefined {
    return this.#place
  }

  /** How many attributes were read, without those of the trace. Values that are nil do not count. */
  count(isStartRead: boolean): number {
    return this.countOfSpan(isStartRead) + countOf(this.resource) + countOf(this.instrumentation)
  }

  /** How many attributes were read of the span itself, its events and its links. */
  countOfSpan(isStartRead: boolean): number {
    let count = (isStartRead ? 1 : 0) + countOf(this.span) + countOf(this.event) + countOf(this.link)
    const isPlaced = this.#place !== undefined && this.#place.left > 0
    if (
      isPlaced &&
      (this.#isPlaceRead || this.span.some(({ attribute }) => OF_PLACE.includes(attribute.name)))
    )
      count++
    return count
  }

  valueOf(attribute: Attribute): Static {
    switch (attribute.scope) {
      case 'span':
      case 'resource':
      case 'event':
      case 'link':
      case 'instrumentation':
        return find(this[attribute.scope], attribute) ?? NIL
      case 'intrinsic': {
        const { span, trace, event, link, instrumentation } = this
        for (const read of [span, trace, event, link, instrumentation]) {
          const found = find(read, attribute)
          if (found !== undefined) return found
        }
        if (attribute.name.startsWith('nestedSet')) return intOf(0n)
        return this.#named(attribute.name)
      }
      case 'any':
        return this.#named(attribute.name)
    }
  }

  #named(name: string): Static {
    const { span, resource, event, link, instrumentation } = this
    for (const read of [span, resource, event, link, instrumentation]) {
      const found = read.find((one) => one.attribute.name === name)
      if (found !== undefined) return found.value
    }
    return NIL
  }

  /** Everything that was read; the attributes of the span itself are near the end. */
  all(): Read[] {
    const { trace, resource, span, event, link, instrumentation } = this
    return [trace, resource, span, event, link, instrumentation].flat()
  }
}

const NOTHING: readonly Read[] = []

function countOf(read: readonly Read[]): number {
  let count = 0
  for (const { value } of read) if (value.type !== 'nil') count++
  return count
}

function find(read: readonly Read[], attribute: Attribute): Static | undefined {
  for (const one of read) if (isSame(one.attribute, attribute)) return one.value
  return undefined
}
