import { ADDED_ATTRIBUTES } from '../model/otlp/outgoing-records.ts'
import { LENGTH, MalformedOtlp, WireCursor } from '../model/otlp/protobuf-wire.ts'
import type { SpanTest } from '../model/queries.ts'
import { type Condition, conditionsOf, withLists } from './traceql/conditions.ts'
import { compileField, MatchingEffort } from './traceql/evaluate-field.ts'
import { DEDICATED } from './traceql/fetch-plan.ts'
import { readAttribute } from './traceql/read-span.ts'
import { flipped, givesBoolean, stringOf } from './traceql/static-values.ts'
import type { Attribute, Field, Operator, Pipeline, Static } from './traceql/syntax.ts'
import { staticOf, type StoredAttribute, type StoredScope } from './traceql/trace-data.ts'

/** The most cached results of a test on strings, and the longest string that is cached. */
const MOST_TEXTS = 10_000
const LONGEST_TEXT = 256
const NAME = 5
const ATTRIBUTES = 9
/** The protobuf tags of KeyValue.key, KeyValue.value and AnyValue.string_value. */
const [KEY_TAG, VALUE_TAG, TEXT_TAG] = [0x0a, 0x12, 0x0a]

/**
 * Compiles conditions of a pipeline on a single span into tests of its stored bytes. A test has no false negatives, but may have false
 * positives: it reads only names and the attributes of spans and resources.
 */
export class SpanTests {
  readonly #scopeOf: (scope: number) => StoredScope
  readonly #conditions: readonly Condition[]

  constructor(pipeline: Pipeline, scopeOf: (scope: number) => StoredScope) {
    this.#scopeOf = scopeOf
    this.#conditions = conditionsOf(withLists(pipeline)).list
  }

  /** The test for a condition; undefined if no part of it can be tested. */
  of(field: Field): SpanTest | undefined {
    if (field.kind === 'unary')
      return field.operator === 'exists' && field.of.kind === 'attribute'
        ? this.#accepting(field.of, () => true)
        : undefined
    if (field.kind !== 'binary' || !givesBoolean(field.operator)) return undefined
    const { operator, left, right } = field
    if (operator === '&&' || operator === '||') return joined(operator, this.of(left), this.of(right))
    if (left.kind === 'attribute' && right.kind === 'static') return this.#compared(left, operator, right)
    if (left.kind === 'static' && right.kind === 'attribute')
      return this.#compared(right, flipped(operator), left)
    return undefined
  }

  #compared(attribute: Attribute, operator: Operator, right: Field): SpanTest | undefined {
    const effort = new MatchingEffort()
    const meets = compileField({ kind: 'binary', operator, left: attribute, right }, effort)
    return this.#accepting(attribute, (value) => {
      effort.next()
      const { passedOver } = effort
      const met = meets({ valueOf: () => value })
      return (met.type === 'boolean' && met.value) || effort.passedOver > passedOver
    })
  }

  #accepting(attribute: Attribute, accepts: (value: Static) => boolean): SpanTest | undefined {
    const { scope, name } = attribute
    if (scope === 'intrinsic') {
      const isOther = this.#conditions.some(
        (one) => one.attribute.name === name && one.attribute.scope !== scope,
      )
      return name === 'name' && !isOther ? ofName(accepts) : undefined
    }
    if (!OF_SPANS.includes(scope) || this.#mayBeReadOtherwise(name)) return undefined
    const ofSpan = scope === 'resource' ? undefined : ofAttribute(name, accepts)
    const ofResource = scope === 'span' ? undefined : this.#ofResource(name, accepts)
    return ofSpan === undefined ? ofResource : joined('||', ofSpan, ofResource ?? NEVER)
  }

  /** Whether the query may match spans without this attribute, or read another value under its name, as Tempo does. */
  #mayBeReadOtherwise(name: string): boolean {
    const isColumn = DEDICATED.span.has(name) || DEDICATED.resource.has(name)
    return this.#conditions.some(
      ({ attribute, operator }) =>
        attribute.name === name &&
        (operator === 'absent' || (operator === 'any' && isColumn) || !OF_SPANS.includes(attribute.scope)),
    )
  }

  #ofResource(name: string, accepts: (value: Static) => boolean): SpanTest {
    const known = new Map<number, boolean>()
    return (_bytes, _start, _end, scope) => {
      const before = known.get(scope)
      if (before !== undefined) return before
      const { resource, service } = this.#scopeOf(scope)
      const met =
        (name === 'service.name' && accepts(stringOf(service))) ||
        resource.some((one) => one.key === name && isAnyAccepted(one, accepts))
      known.set(scope, met)
      return met
    }
  }
}

const OF_SPANS: readonly Attribute['scope'][] = ['span', 'resource', 'any']
const NEVER: SpanTest = () => false

/** Joins two tests. For `&&`, a side that cannot be tested is left out. */
function joined(
  operator: '&&' | '||',
  left: SpanTest | undefined,
  right: SpanTest | undefined,
): SpanTest | undefined {
  if (left === undefined || right === undefined) return operator === '&&' ? (left ?? right) : undefined
  return operator === '&&'
    ? (bytes, start, end, scope) => left(bytes, start, end, scope) && right(bytes, start, end, scope)
    : (bytes, start, end, scope) => left(bytes, start, end, scope) || right(bytes, start, end, scope)
}

function isAnyAccepted({ column, values }: StoredAttribute, accepts: (value: Static) => boolean): boolean {
  return column !== 'other' && values.some((value) => accepts(staticOf(column, value)))
}

/** Caches the results for strings. */
function cached(accepts: (value: Static) => boolean): (text: string) => boolean {
  const known = new Map<string, boolean>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const accepted = accepts(stringOf(text))
    if (known.size >= MOST_TEXTS) known.clear()
    if (text.length <= LONGEST_TEXT) known.set(text, accepted)
    return accepted
  }
}

/** Visits the fields of a span with this number. `visit` returns undefined if a field is irrelevant, true if it is accepted. */
function visitor(
  field: number,
  visit: (bytes: Buffer, start: number, end: number) => boolean | undefined,
  ifMissing = false,
): SpanTest {
  let cursor = new WireCursor(Buffer.alloc(0))
  return (bytes, start, end) => {
    if (cursor.bytes !== bytes) cursor = new WireCursor(bytes)
    cursor.reset(start, end)
    let isMissing = true
    try {
      while (cursor.next()) {
        if (cursor.field !== field || cursor.wire !== LENGTH) continue
        const isAccepted = visit(bytes, cursor.start, cursor.end)
        if (isAccepted === true) return true
        if (isAccepted === false) isMissing = false
      }
      return isMissing && ifMissing
    } catch (error) {
      if (error instanceof MalformedOtlp) return true
      throw error
    }
  }
}

/** The test on the span name; undefined if a span without a name passes it. */
function ofName(accepts: (value: Static) => boolean): SpanTest | undefined {
  const acceptsText = cached(accepts)
  if (acceptsText('')) return undefined
  return visitor(NAME, (bytes, start, end) => acceptsText(bytes.toString('utf8', start, end)))
}

/** The test whether a span has an attribute with this key and an accepted value or list element. */
function ofAttribute(name: string, accepts: (value: Static) => boolean): SpanTest {
  const key = Buffer.from(name)
  const acceptsText = cached(accepts)
  const visit = (bytes: Buffer, start: number, end: number): boolean | undefined => {
    const at = valueAt(bytes, start, end)
    if (at !== undefined && !isKey(bytes, start + 2, at - 2, key)) return undefined
    if (at !== undefined && bytes[at] === TEXT_TAG && endsExactlyAt(bytes, at + 1, end))
      return acceptsText(bytes.toString('utf8', at + 2, end))
    const read = readAttribute(bytes, start, end, undefined)
    return read.key === name ? isAnyAccepted(read, accepts) : undefined
  }
  return visitor(ATTRIBUTES, visit, ADDED_ATTRIBUTES.has(name))
}

/** Where the value of an attribute begins; undefined unless it is a key and a value, each of at most 127 bytes. */
function valueAt(bytes: Buffer, start: number, end: number): number | undefined {
  const length = bytes[start + 1] ?? LONG_LENGTH
  const tag = start + 2 + length
  return bytes[start] === KEY_TAG &&
    length < LONG_LENGTH &&
    bytes[tag] === VALUE_TAG &&
    endsExactlyAt(bytes, tag + 1, end)
    ? tag + 2
    : undefined
}

/** Lengths from here on are varints of several bytes. */
const LONG_LENGTH = 0x80

/** Whether the byte at `at` is a length that reaches exactly to `end`. */
function endsExactlyAt(bytes: Buffer, at: number, end: number): boolean {
  const length = bytes[at] ?? LONG_LENGTH
  return length < LONG_LENGTH && at + 1 + length === end
}

function isKey(bytes: Buffer, start: number, end: number, key: Buffer): boolean {
  if (end - start !== key.length) return false
  for (let at = 0; at < key.length; at++) if (bytes[start + at] !== key[at]) return false
  return true
}
