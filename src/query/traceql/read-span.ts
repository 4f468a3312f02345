import { MalformedOtlp, WireCursor } from '../../model/otlp/protobuf-wire.ts'
import type { ScopeEnvelopes } from '../../model/outbox.ts'
import type { StoredAttribute, StoredEvent, StoredLink, StoredScope, StoredSpan } from './trace-data.ts'

type Value = string | bigint | number | boolean
/** The attributes that are read; all where it is undefined. */
export type Wanted = ReadonlySet<string> | undefined

/** What stands for the attributes that nobody asks for. */
const UNREAD: StoredAttribute = { key: '', column: 'other', values: [] }
const NO_SCOPE: StoredScope = {
  resourceId: 0,
  service: '',
  resource: [],
  name: '',
  version: '',
  attributes: [],
}

/** Reads what spans were sent with, each scope once. */
export class SpanReader {
  readonly #envelopes: (scope: number) => ScopeEnvelopes | undefined
  readonly #wanted: Wanted
  readonly #scopes = new Map<number, StoredScope>()

  constructor(envelopes: (scope: number) => ScopeEnvelopes | undefined, wanted: Wanted) {
    this.#envelopes = envelopes
    this.#wanted = wanted
  }

  /** Undefined where the bytes are no span. */
  read(bytes: Buffer, scope: number): StoredSpan | undefined {
    try {
      return this.#span(bytes, this.#scopeOf(scope))
    } catch (error) {
      if (error instanceof MalformedOtlp) return undefined
      throw error
    }
  }

  #scopeOf(number: number): StoredScope {
    const known = this.#scopes.get(number)
    if (known !== undefined) return known
    const envelopes = this.#envelopes(number)
    const scope = envelopes === undefined ? NO_SCOPE : readScope(envelopes)
    if (this.#scopes.size >= MOST_SCOPES) this.#scopes.clear()
    this.#scopes.set(number, scope)
    return scope
  }

  #span(bytes: Buffer, scope: StoredScope): StoredSpan {
    const span = { spanId: '', parentId: '', name: '', kind: 0, startNs: 0n, endNs: 0n }
    const attributes: StoredAttribute[] = []
    const events: { from: number; to: number }[] = []
    const links: StoredLink[] = []
    let [status, statusMessage] = [0, '']
    const cursor = new WireCursor(bytes)
    while (cursor.next()) {
      switch (cursor.field) {
        case 2:
          span.spanId = bytes.toString('hex', cursor.start, cursor.end)
          break
        case 4:
          span.parentId = idOf(bytes, cursor)
          break
        case 5:
          span.name = bytes.toString('utf8', cursor.start, cursor.end)
          break
        case 6:
          span.kind = cursor.int32('kind')
          break
        case 7:
          span.startNs = cursor.nanos('startTimeUnixNano')
          break
        case 8:
          span.endNs = cursor.nanos('endTimeUnixNano')
          break
        case 9:
          this.#add(attributes, bytes, cursor)
          break
        case 11:
          events.push({ from: cursor.start, to: cursor.end })
          break
        case 13:
          links.push(this.#link(bytes, cursor.start, cursor.end))
          break
        case 15: {
          const inner = new WireCursor(bytes, cursor.start, cursor.end)
          while (inner.next()) {
            if (inner.field === 2) statusMessage = bytes.toString('utf8', inner.start, inner.end)
            else if (inner.field === 3) status = inner.int32('code')
          }
        }
      }
    }
    const { startNs } = span
    return {
      ...span,
      status,
      statusMessage,
      attributes,
      events: events.map(({ from, to }) => this.#event(bytes, from, to, startNs)),
      links,
      scope,
    }
  }

  /** Of several with one key the first counts. */
  #add(attributes: StoredAttribute[], bytes: Buffer, { start, end }: WireCursor): void {
    const attribute = readAttribute(bytes, start, end, this.#wanted)
    if (attribute === UNREAD || !attributes.some(({ key }) => key === attribute.key))
      attributes.push(attribute)
  }

  #event(bytes: Buffer, from: number, to: number, startNs: bigint): StoredEvent {
    const cursor = new WireCursor(bytes, from, to)
    let [name, timeNs] = ['', 0n]
    const attributes: StoredAttribute[] = []
    while (cursor.next()) {
      if (cursor.field === 1) timeNs = cursor.nanos('timeUnixNano')
      else if (cursor.field === 2) name = bytes.toString('utf8', cursor.start, cursor.end)
      else if (cursor.field === 3) this.#add(attributes, bytes, cursor)
    }
    return { name, sinceStartNs: timeNs - startNs, attributes }
  }

  #link(bytes: Buffer, from: number, to: number): StoredLink {
    const cursor = new WireCursor(bytes, from, to)
    let [traceId, spanId] = ['', '']
    const attributes: StoredAttribute[] = []
    while (cursor.next()) {
      if (cursor.field === 1) traceId = bytes.toString('hex', cursor.start, cursor.end)
      else if (cursor.field === 2) spanId = bytes.toString('hex', cursor.start, cursor.end)
      else if (cursor.field === 4) this.#add(attributes, bytes, cursor)
    }
    return { traceId, spanId, attributes }
  }
}

const MOST_SCOPES = 10_000

/** In hex digits; empty where it is all zeros, which stands for none. */
function idOf(bytes: Buffer, { start, end }: WireCursor): string {
  const id = bytes.toString('hex', start, end)
  return /^0*$/.test(id) ? '' : id
}

function readScope({ resourceId, resource, scope }: ScopeEnvelopes): StoredScope {
  const found = {
    resource: [] as StoredAttribute[],
    name: '',
    version: '',
    attributes: [] as StoredAttribute[],
  }
  try {
    for (const { start, end } of messages(resource, 1))
      found.resource.push(...attributesIn(resource, start, end, 1))
    for (const { start, end } of messages(scope, 1)) {
      const cursor = new WireCursor(scope, start, end)
      while (cursor.next()) {
        if (cursor.field === 1) found.name = scope.toString('utf8', cursor.start, cursor.end)
        else if (cursor.field === 2) found.version = scope.toString('utf8', cursor.start, cursor.end)
      }
      found.attributes.push(...attributesIn(scope, start, end, 3))
    }
  } catch (error) {
    if (!(error instanceof MalformedOtlp)) throw error
  }
  const service = found.resource.find(({ key, column }) => key === 'service.name' && column === 'string')
  return { ...found, resourceId, service: String(service?.values[0] ?? '') }
}

function* messages(bytes: Buffer, field: number): Generator<{ start: number; end: number }> {
  const cursor = new WireCursor(bytes)
  while (cursor.next()) if (cursor.field === field) yield { start: cursor.start, end: cursor.end }
}

function attributesIn(bytes: Buffer, start: number, end: number, field: number): StoredAttribute[] {
  const attributes: StoredAttribute[] = []
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next())
    if (cursor.field === field) {
      const attribute = readAttribute(bytes, cursor.start, cursor.end, undefined)
      if (!attributes.some(({ key }) => key === attribute.key)) attributes.push(attribute)
    }
  return attributes
}

function readAttribute(bytes: Buffer, start: number, end: number, wanted: Wanted): StoredAttribute {
  const cursor = new WireCursor(bytes, start, end)
  let key = ''
  let [from, to] = [0, 0]
  while (cursor.next()) {
    if (cursor.field === 1) key = bytes.toString('utf8', cursor.start, cursor.end)
    else if (cursor.field === 2) [from, to] = [cursor.start, cursor.end]
  }
  if (wanted !== undefined && !wanted.has(key)) return UNREAD
  const found = valueOf(bytes, from, to)
  if (found === undefined) return { key, column: 'other', values: [] }
  return 'column' in found
    ? { key, column: found.column, values: [found.value] }
    : { key, ...listOf(found.value) }
}

type Found = { readonly column: Exclude<StoredAttribute['column'], 'other'>; readonly value: Value }
type FoundList = { readonly value: readonly (Found | undefined)[] }

/** An AnyValue, of which the last member counts. Undefined for one that TraceQL does not know, and for none. */
function valueOf(bytes: Buffer, start: number, end: number): Found | FoundList | undefined {
  const cursor = new WireCursor(bytes, start, end)
  let found: Found | FoundList | undefined
  while (cursor.next()) {
    switch (cursor.field) {
      case 1:
        found = { column: 'string', value: bytes.toString('utf8', cursor.start, cursor.end) }
        break
      case 2:
        found = { column: 'boolean', value: cursor.value !== 0 }
        break
      case 3:
        found = { column: 'int', value: int64(bytes, cursor) }
        break
      case 4:
        found = { column: 'float', value: bytes.readDoubleLE(cursor.start) }
        break
      case 5:
        found = { value: elementsOf(bytes, cursor.start, cursor.end) }
        break
      case 6:
      case 7:
        found = undefined
    }
  }
  return found
}

function elementsOf(bytes: Buffer, start: number, end: number): (Found | undefined)[] {
  const elements: (Found | undefined)[] = []
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next()) {
    if (cursor.field !== 1) continue
    const element = valueOf(bytes, cursor.start, cursor.end)
    elements.push(element !== undefined && 'column' in element ? element : undefined)
  }
  return elements
}

/** Lists are of one type; TraceQL knows no others. */
function listOf(elements: readonly (Found | undefined)[]): Omit<StoredAttribute, 'key'> {
  const column = elements[0]?.column ?? 'other'
  const isOfOne = column !== 'other' && elements.every((element) => element?.column === column)
  return isOfOne
    ? { column, values: elements.flatMap((element) => (element === undefined ? [] : [element.value])) }
    : { column: 'other', values: [] }
}

/** All 64 bits of a varint. */
function int64(bytes: Buffer, { start, end, value }: WireCursor): bigint {
  if (value <= Number.MAX_SAFE_INTEGER) return BigInt(value)
  let whole = 0n
  for (let at = start, shift = 0n; at < end; at++, shift += 7n)
    whole |= BigInt((bytes[at] ?? 0) & 0x7f) << shift
  return BigInt.asIntN(64, whole)
}
