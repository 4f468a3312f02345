import { MIB } from '../../model/time-and-size.ts'
import { FIXED64, LENGTH, unlessMalformed, VARINT, WireCursor } from '../../model/otlp/protobuf-wire.ts'
import type { ScopeEnvelopes } from '../../model/outbox.ts'
import type { StoredAttribute, StoredEvent, StoredLink, StoredScope, StoredSpan } from './trace-data.ts'

type Value = string | bigint | number | boolean
/** The keys of attributes to read; undefined for all. */
type Wanted = ReadonlySet<string> | undefined

/** Stands for an attribute that is not requested. */
const UNREAD: StoredAttribute = { key: '', column: 'other', values: [] }
const NO_SCOPE: StoredScope = {
  bytes: 0,
  resourceId: 0,
  service: '',
  resource: [],
  name: '',
  version: '',
  attributes: [],
}

/** Reads sent spans. Each scope is read once. */
export class SpanReader {
  readonly #envelopes: (scope: number) => ScopeEnvelopes | undefined
  readonly #wanted: Wanted
  readonly #scopes = new Map<number, StoredScope>()
  #bytes = 0

  constructor(envelopes: (scope: number) => ScopeEnvelopes | undefined, wanted: Wanted) {
    this.#envelopes = envelopes
    this.#wanted = wanted
  }

  /** Undefined if the bytes are not a span. */
  read(bytes: Buffer, scope: number, start = 0, end = bytes.length): StoredSpan | undefined {
    return unlessMalformed(
      () => new ReadSpan({ bytes, start, end }, this.scopeOf(scope), this.#wanted),
      () => undefined,
    )
  }

  scopeOf(number: number): StoredScope {
    const known = this.#scopes.get(number)
    if (known !== undefined) return known
    const envelopes = this.#envelopes(number)
    const scope = envelopes === undefined ? NO_SCOPE : readScope(envelopes)
    if (this.#scopes.size >= MOST_SCOPES || this.#bytes + scope.bytes > MOST_SCOPE_BYTES) {
      this.#scopes.clear()
      this.#bytes = 0
    }
    this.#scopes.set(number, scope)
    this.#bytes += scope.bytes
    return scope
  }
}

/** How many scopes are cached, and the bytes of them and their resources, which may be as long as a request. */
const MOST_SCOPES = 10_000
const MOST_SCOPE_BYTES = 16 * MIB

interface Place {
  readonly start: number
  readonly end: number
}

interface Part extends Place {
  readonly bytes: Buffer
}

/** A span whose unrequested parts stay undecoded. A part that is not valid protobuf counts as missing. */
class ReadSpan implements StoredSpan {
  readonly kind: number = 0
  readonly startNs: bigint = 0n
  readonly endNs: bigint = 0n
  readonly scope: StoredScope
  readonly #bytes: Buffer
  readonly #start: number
  readonly #end: number
  readonly #wanted: Wanted
  #id = { from: 0, to: 0 }
  #parent = { from: 0, to: 0 }
  #name = { from: 0, to: 0 }
  #state = { from: 0, to: 0 }
  #read: Partial<StoredSpan> = NOTHING_READ

  constructor({ bytes, start, end }: Part, scope: StoredScope, wanted: Wanted) {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.scope = scope
    this.#wanted = wanted
    const cursor = new WireCursor(bytes, start, end)
    while (cursor.next()) {
      switch (cursor.field) {
        case 2:
          this.#id = { from: cursor.start, to: cursor.end }
          break
        case 4:
          this.#parent = { from: cursor.start, to: cursor.end }
          break
        case 5:
          this.#name = { from: cursor.start, to: cursor.end }
          break
        case 6:
          this.kind = cursor.int32('kind')
          break
        case 7:
          this.startNs = cursor.nanos('startTimeUnixNano')
          break
        case 8:
          this.endNs = cursor.nanos('endTimeUnixNano')
          break
        case 15:
          this.#state = { from: cursor.start, to: cursor.end }
      }
    }
  }

  get spanId(): string {
    return this.#bytes.toString('hex', this.#id.from, this.#id.to)
  }

  get parentId(): string {
    const { from, to } = this.#parent
    for (let at = from; at < to; at++) if (this.#bytes[at] !== 0) return this.#bytes.toString('hex', from, to)
    return ''
  }

  get name(): string {
    return this.#bytes.toString('utf8', this.#name.from, this.#name.to)
  }

  get status(): number {
    return this.#ofState(3, (cursor) => cursor.int32('code'), 0)
  }

  get statusMessage(): string {
    return this.#ofState(2, ({ start, end }) => this.#bytes.toString('utf8', start, end), '')
  }

  /** The last field of this number in the status. */
  #ofState<T>(field: number, read: (cursor: WireCursor) => T, otherwise: T): T {
    const cursor = new WireCursor(this.#bytes, this.#state.from, this.#state.to)
    const last = (): T => {
      let found = otherwise
      while (cursor.next()) if (cursor.field === field) found = read(cursor)
      return found
    }
    return unlessMalformed(last, () => otherwise)
  }

  get attributes(): readonly StoredAttribute[] {
    return this.#once('attributes', () =>
      attributesIn(this.#bytes, { start: this.#start, end: this.#end, field: 9 }, this.#wanted),
    )
  }

  get events(): readonly StoredEvent[] {
    return this.#once('events', () => {
      const events: StoredEvent[] = []
      for (const { start, end } of this.#messages(11)) events.push(this.#event(start, end))
      return events
    })
  }

  get links(): readonly StoredLink[] {
    return this.#once('links', () => {
      const links: StoredLink[] = []
      for (const { start, end } of this.#messages(13)) links.push(this.#link(start, end))
      return links
    })
  }

  #messages(field: number): Generator<Place> {
    return messages(this.#bytes, field, this.#start, this.#end)
  }

  #once<Key extends 'attributes' | 'events' | 'links'>(
    key: Key,
    read: () => StoredSpan[Key],
  ): StoredSpan[Key] {
    const known = this.#read[key]
    if (known !== undefined) return known
    const made = unlessMalformed<StoredSpan[Key]>(read, () => [])
    this.#read = { ...this.#read, [key]: made }
    return made
  }

  #event(from: number, to: number): StoredEvent {
    const bytes = this.#bytes
    const cursor = new WireCursor(bytes, from, to)
    let [name, timeNs] = ['', 0n]
    while (cursor.next()) {
      if (cursor.field === 1) timeNs = cursor.nanos('timeUnixNano')
      else if (cursor.field === 2) name = bytes.toString('utf8', cursor.start, cursor.end)
    }
    const attributes = attributesIn(bytes, { start: from, end: to, field: 3 }, this.#wanted)
    return { name, sinceStartNs: timeNs - this.startNs, attributes }
  }

  #link(from: number, to: number): StoredLink {
    const bytes = this.#bytes
    const cursor = new WireCursor(bytes, from, to)
    let [traceId, spanId] = ['', '']
    while (cursor.next()) {
      if (cursor.field === 1) traceId = bytes.toString('hex', cursor.start, cursor.end)
      else if (cursor.field === 2) spanId = bytes.toString('hex', cursor.start, cursor.end)
    }
    return {
      traceId,
      spanId,
      attributes: attributesIn(bytes, { start: from, end: to, field: 4 }, this.#wanted),
    }
  }
}

const NOTHING_READ = {}

export function readScope({ resourceId, resource, scope }: ScopeEnvelopes): StoredScope {
  const found = {
    resource: [] as StoredAttribute[],
    name: '',
    version: '',
    attributes: [] as StoredAttribute[],
  }
  const read = (): void => {
    for (const { start, end } of messages(resource, 1))
      found.resource = found.resource.concat(attributesIn(resource, { start, end, field: 1 }, undefined))
    for (const { start, end } of messages(scope, 1)) {
      const cursor = new WireCursor(scope, start, end)
      while (cursor.next()) {
        if (cursor.field === 1) found.name = scope.toString('utf8', cursor.start, cursor.end)
        else if (cursor.field === 2) found.version = scope.toString('utf8', cursor.start, cursor.end)
      }
      found.attributes = found.attributes.concat(attributesIn(scope, { start, end, field: 3 }, undefined))
    }
  }
  unlessMalformed(read, () => undefined)
  const service = found.resource.find(({ key, column }) => key === 'service.name' && column === 'string')
  const bytes = resource.length + scope.length
  return { ...found, bytes, resourceId, service: String(service?.values[0] ?? '') }
}

function* messages(bytes: Buffer, field: number, from = 0, to = bytes.length): Generator<Place> {
  const cursor = new WireCursor(bytes, from, to)
  while (cursor.next()) if (cursor.field === field) yield { start: cursor.start, end: cursor.end }
}

/** The attributes in a message. If several have the same key, the first one counts. */
function attributesIn(
  bytes: Buffer,
  { start, end, field }: { start: number; end: number; field: number },
  wanted: Wanted,
): StoredAttribute[] {
  const attributes: StoredAttribute[] = []
  const keys = new Set<string>()
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next()) {
    if (cursor.field !== field || cursor.wire !== LENGTH) continue
    const attribute = readAttribute(bytes, cursor.start, cursor.end, wanted)
    if (attribute === UNREAD) {
      if (attributes.length === 0) attributes.push(attribute)
    } else if (!keys.has(attribute.key)) {
      keys.add(attribute.key)
      attributes.push(attribute)
    }
  }
  return attributes
}

export function readAttribute(bytes: Buffer, start: number, end: number, wanted: Wanted): StoredAttribute {
  const cursor = new WireCursor(bytes, start, end)
  let key = ''
  let [from, to] = [0, 0]
  while (cursor.next()) {
    if (cursor.wire !== LENGTH) continue
    if (cursor.field === 1) key = bytes.toString('utf8', cursor.start, cursor.end)
    else if (cursor.field === 2) [from, to] = [cursor.start, cursor.end]
  }
  if (wanted !== undefined && !wanted.has(key)) return UNREAD
  const found = valueOf(bytes, from, to)
  if (found === undefined) return { key, column: 'other', values: [] }
  return 'column' in found
    ? { key, column: found.column, values: [found.value] }
    : { key, ...listOf(found.value), isList: true }
}

type Found = { readonly column: Exclude<StoredAttribute['column'], 'other'>; readonly value: Value }
type FoundList = { readonly value: readonly (Found | undefined)[] }

/** The wire type of each field of AnyValue, by field number. A field with another wire type is skipped, as an unknown field is. */
const WIRES: readonly (number | undefined)[] = [
  undefined,
  LENGTH,
  VARINT,
  VARINT,
  FIXED64,
  LENGTH,
  LENGTH,
  LENGTH,
]

/** An AnyValue. Its last member counts, as in protobuf; undefined if it is empty or of a type that TraceQL lacks. */
function valueOf(
  bytes: Buffer,
  start: number,
  end: number,
  isElement = false,
): Found | FoundList | undefined {
  const cursor = new WireCursor(bytes, start, end)
  let found: Found | FoundList | undefined
  while (cursor.next()) {
    if (cursor.wire !== WIRES[cursor.field]) continue
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
        // Lists within lists are not supported.
        found = isElement ? undefined : { value: elementsOf(bytes, cursor.start, cursor.end) }
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
    if (cursor.field !== 1 || cursor.wire !== LENGTH) continue
    const element = valueOf(bytes, cursor.start, cursor.end, true)
    elements.push(element !== undefined && 'column' in element ? element : undefined)
  }
  return elements
}

/** A list, if all elements have the same type; TraceQL has no mixed lists. */
function listOf(elements: readonly (Found | undefined)[]): Omit<StoredAttribute, 'key'> {
  const column = elements[0]?.column ?? 'other'
  const isOfOne = column !== 'other' && elements.every((element) => element?.column === column)
  return isOfOne
    ? { column, values: elements.flatMap((element) => (element === undefined ? [] : [element.value])) }
    : { column: 'other', values: [] }
}

/** The value of a varint with all its 64 bits. */
function int64(bytes: Buffer, { start, end, value }: WireCursor): bigint {
  if (value <= Number.MAX_SAFE_INTEGER) return BigInt(value)
  let whole = 0n
  for (let at = start, shift = 0n; at < end; at++, shift += 7n)
    whole |= BigInt((bytes[at] ?? 0) & 0x7f) << shift
  return BigInt.asIntN(64, whole)
}
