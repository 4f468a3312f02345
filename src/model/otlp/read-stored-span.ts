import {
  AUDIT_ID,
  CPID_CHANGED,
  CPID_ID,
  CPID_OBSERVED,
  CPID_OWNER,
  CPID_SUPERSEDED_BY,
  CPID_TIME,
  CPID_WROTE,
  NAMESPACE_NAME,
  POD_NAME,
  POD_UID,
} from '../attributes.ts'
import type { JoinTargets } from '../linking-ports.ts'
import { type Cpid, parseCpid } from '../merge-graph.ts'
import type { UnixNanos } from '../time-and-size.ts'
import {
  LENGTH,
  MalformedOtlp,
  mayBeCpidAttribute,
  readAttribute,
  readSpanId,
  type TextValue,
  unlessMalformed,
  WireCursor,
} from './protobuf-wire.ts'

const ATTRIBUTES = 9

const LINKS = 13
const LINK_TRACE_ID = 1
const LINK_SPAN_ID = 2

interface SpanLinkIds {
  traceId: Buffer
  spanId: bigint
}

/** The first links of an OTLP Span, in order. A malformed link, or one with ids of the wrong length, has an empty trace id. */
export function readLinks(span: Buffer, most: number): SpanLinkIds[] {
  const links: SpanLinkIds[] = []
  const cursor = new WireCursor(span)
  while (links.length < most && cursor.next()) {
    if (cursor.field === LINKS && cursor.wire === 2) links.push(readLink(span, cursor.start, cursor.end))
  }
  return links
}

function readLink(span: Buffer, start: number, end: number): SpanLinkIds {
  const read = (): SpanLinkIds => {
    const link = { ...INVALID_LINK }
    const cursor = new WireCursor(span, start, end)
    while (cursor.next()) {
      const length = cursor.wire === 2 ? cursor.end - cursor.start : 0
      if (cursor.field === LINK_TRACE_ID)
        link.traceId = length === 16 ? span.subarray(cursor.start, cursor.end) : INVALID_LINK.traceId
      else if (cursor.field === LINK_SPAN_ID) link.spanId = length === 8 ? readSpanId(span, cursor.start) : 0n
    }
    return link
  }
  return unlessMalformed(read, () => INVALID_LINK)
}

const INVALID_LINK: SpanLinkIds = { traceId: Buffer.alloc(0), spanId: 0n }

/** Visits the attributes of a stored span. A damaged span is read up to the damage. */
function visitAttributes(
  span: Buffer,
  visit: (key: string, value: TextValue) => void,
  mayMatter: (bytes: Buffer, start: number, end: number) => boolean = () => true,
): void {
  const cursor = new WireCursor(span)
  asFarAsReadable(() => {
    while (cursor.next()) {
      if (cursor.field !== ATTRIBUTES || cursor.wire !== 2) continue
      if (!mayMatter(span, cursor.start, cursor.end)) continue
      const { key, value } = readAttribute(span, cursor.start, cursor.end)
      visit(key, value)
    }
  })
}

const asFarAsReadable = (read: () => void): void => unlessMalformed(read, () => undefined)

/** The attributes in which API servers name the HTTP method or the verb. */
const METHODS: ReadonlySet<string> = new Set(['http.request.method', 'http.method', 'verb', 'method'])
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'LIST', 'WATCH'])

/** What a stored span of an API server or a kubelet names to join. */
export function readJoinTargets(span: Buffer): JoinTargets {
  const said = new Map<string, string>()
  visitAttributes(span, (key, value) => {
    // If an attribute is repeated, the first one counts.
    if (typeof value === 'string' && value !== '' && !said.has(key)) said.set(key, value)
  })
  const method = [...METHODS].map((name) => said.get(name)).find((one) => one !== undefined) ?? ''
  const [uid, name, namespace] = [POD_UID, POD_NAME, NAMESPACE_NAME].map((key) => said.get(key) ?? '')
  return {
    auditId: said.get(AUDIT_ID),
    reads: READING.has(method.toUpperCase()),
    pod: uid && name && namespace ? { uid, object: `v1/pods/${namespace}/${name}` } : undefined,
  }
}

/** The object references in a span, as it was sent. */
interface NamedObjects {
  readonly observed: readonly string[]
  readonly wrote: readonly string[]
  /** The owner of the object that it wrote. */
  readonly owner?: string
  /** The fields that its write changed, in words. */
  readonly changed?: readonly string[]
  /** The change that superseded the span's own change. */
  readonly supersededBy?: Cpid
}

/** Reads what a stored span says about objects. A damaged span is read up to the damage. */
export function namedObjects(span: Buffer): NamedObjects {
  const named: { -readonly [Key in keyof NamedObjects]?: NamedObjects[Key] } = {}
  const read = (key: string, value: TextValue): void => {
    if (key === CPID_OBSERVED) named.observed ??= textsOf(value)
    else if (key === CPID_WROTE) named.wrote ??= textsOf(value)
    else if (key === CPID_CHANGED) named.changed ??= textsOf(value)
    else if (key === CPID_OWNER && typeof value === 'string') named.owner ??= value
    else if (key === CPID_SUPERSEDED_BY && typeof value === 'string') {
      const by = parseCpid(value)
      if (by !== undefined) named.supersededBy ??= by
    }
  }
  visitAttributes(span, read, mayBeCpidAttribute)
  return { ...named, observed: named.observed ?? [], wrote: named.wrote ?? [] }
}

function textsOf(value: TextValue): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value
}

/** The fields of a span that Causeway added, as lists show them. */
interface OwnSpan {
  readonly spanId: bigint
  readonly name: string
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  readonly kind: number
  readonly cpid: Cpid | undefined
  /** The real time of the change in RFC 3339, if the span has another time. */
  readonly time: string | undefined
}

/** Reads what `encodeSpan` wrote. A damaged span is read up to the damage. */
export function readOwnSpan(span: Buffer): OwnSpan {
  const own = { spanId: 0n, name: '', startNs: 0n, endNs: 0n, kind: 0, cpid: undefined, time: undefined }
  asFarAsReadable(() => readFields(own, span))
  return own
}

function readFields(own: { -readonly [Key in keyof OwnSpan]: OwnSpan[Key] }, span: Buffer): void {
  const cursor = new WireCursor(span)
  while (cursor.next()) {
    if (cursor.field === 2 && cursor.end - cursor.start === 8) own.spanId = readSpanId(span, cursor.start)
    else if (cursor.field === 5) own.name = cursor.text()
    else if (cursor.field === 6) own.kind = cursor.int32('kind')
    else if (cursor.field === 7) own.startNs = cursor.nanos('startTimeUnixNano')
    else if (cursor.field === 8) own.endNs = cursor.nanos('endTimeUnixNano')
    else if (cursor.field === 9 && (own.cpid === undefined || own.time === undefined)) {
      const { key, value } = readAttribute(span, cursor.start, cursor.end)
      if (key === CPID_ID && typeof value === 'string') own.cpid = parseCpid(value)
      if (key === CPID_TIME && typeof value === 'string') own.time = value
    }
  }
}

const NAME = 5
const EVENTS = 11
const STATUS = 15
const OWN_KEYS = Buffer.from('cpid.')

/**
 * Visits the strings in stored spans that a search can ask for as a whole: names of spans and events, status messages, keys, and values
 * including list elements. Values of `cpid.` attributes are left out, since Causeway may change them when it sends a span.
 */
export class SpanTexts {
  readonly #bytes: Buffer
  readonly #visit: (start: number, end: number) => void
  readonly #span: WireCursor
  readonly #part: WireCursor
  readonly #attribute: WireCursor
  readonly #value: WireCursor
  readonly #list: WireCursor
  readonly #element: WireCursor

  constructor(bytes: Buffer, visit: (start: number, end: number) => void) {
    this.#bytes = bytes
    this.#visit = visit
    const cursor = (): WireCursor => new WireCursor(bytes)
    this.#span = cursor()
    this.#part = cursor()
    this.#attribute = cursor()
    this.#value = cursor()
    this.#list = cursor()
    this.#element = cursor()
  }

  /** Visits the strings of the span at [start, end). A damaged span is read up to the damage. */
  ofSpan(start: number, end: number): void {
    const cursor = this.#span
    cursor.reset(start, end)
    asFarAsReadable(() => {
      while (cursor.next()) if (cursor.wire === LENGTH) this.#ofField(cursor)
    })
  }

  /** A malformed field is skipped; other fields are still read. */
  #ofField(field: WireCursor): void {
    try {
      if (field.field === NAME) this.#visit(field.start, field.end)
      else if (field.field === ATTRIBUTES) this.#ofAttribute(field.start, field.end)
      else if (field.field === EVENTS) this.#ofPart(field, 2, 3)
      else if (field.field === LINKS) this.#ofPart(field, undefined, 4)
      else if (field.field === STATUS) this.#ofPart(field, 2, undefined)
    } catch (error) {
      if (!(error instanceof MalformedOtlp)) throw error
    }
  }

  /** Visits an event, a link or a status. */
  #ofPart({ start, end }: WireCursor, text: number | undefined, attributes: number | undefined): void {
    const cursor = this.#part
    cursor.reset(start, end)
    while (cursor.next()) {
      if (cursor.wire !== LENGTH) continue
      if (cursor.field === text) this.#visit(cursor.start, cursor.end)
      else if (cursor.field === attributes) this.#ofAttribute(cursor.start, cursor.end)
    }
  }

  #ofAttribute(start: number, end: number): void {
    const cursor = this.#attribute
    cursor.reset(start, end)
    let isOwn = false
    let [from, to] = [0, 0]
    while (cursor.next()) {
      if (cursor.wire !== LENGTH) continue
      if (cursor.field === 1) {
        isOwn = this.#isOwnKey(cursor.start)
        this.#visit(cursor.start, cursor.end)
      } else if (cursor.field === 2) [from, to] = [cursor.start, cursor.end]
    }
    if (!isOwn) this.#ofValue(this.#value, from, to)
  }

  #isOwnKey(start: number): boolean {
    for (let at = 0; at < OWN_KEYS.length; at++) if (this.#bytes[start + at] !== OWN_KEYS[at]) return false
    return true
  }

  #ofValue(cursor: WireCursor, start: number, end: number): void {
    cursor.reset(start, end)
    while (cursor.next()) {
      if (cursor.wire !== LENGTH) continue
      if (cursor.field === 1) this.#visit(cursor.start, cursor.end)
      else if (cursor.field === 5 && cursor === this.#value) this.#ofList(cursor.start, cursor.end)
    }
  }

  #ofList(start: number, end: number): void {
    const cursor = this.#list
    cursor.reset(start, end)
    while (cursor.next())
      if (cursor.field === 1 && cursor.wire === LENGTH) this.#ofValue(this.#element, cursor.start, cursor.end)
  }
}
