import type { Json, JsonObject } from '../model/otlp/protobuf-to-json.ts'
import { BadQuestion } from './question.ts'
import { attributesOf, jsonObjectOf, jsonObjectsOf, jsonTextOf, startAndEnd } from './sent-span-json.ts'
import { KINDS, STATUSES } from './traceql/syntax.ts'
import { TextKeys } from './traceql/text-keys.ts'

type Attributes = ReadonlyMap<string, JsonObject>

export interface DiffSpan {
  /** The number for its service, name and kind. Spans with equal keys are paired across the traces. */
  readonly key: number
  readonly id: string
  readonly parentId: string
  readonly startNs: bigint
  /** Undefined for a span without a start, or with an end before its start. */
  readonly durationNs: bigint | undefined
  readonly service: string
  readonly name: string
  readonly kind: string
  readonly status: string
  readonly attributes: Attributes
}

/** A span and its position in the tree of its trace. */
interface Placed {
  readonly span: DiffSpan
  /** From the root to the span: the index of each ancestor among its siblings, which are sorted by start. */
  readonly path: readonly number[]
  /** The key of the parent. */
  readonly above: number | undefined
  /** Its key and its parent's, as one string. */
  readonly keys: string
}

export interface DiffTrace {
  readonly traceId: string
  /** The number of all spans. `placed` lacks those whose id an earlier span has. */
  readonly count: number
  /** Parents before their children. */
  readonly placed: readonly Placed[]
  readonly warnings: readonly Warning[]
}

interface Warning {
  readonly code: string
  readonly message: string
}

/** Numbers each combination of service, name and kind, since names may be long and spans are compared often. */
export class SpanKeys {
  readonly #known = new Map<string, number>()
  readonly #texts = new TextKeys()
  /** Service names by resource: reading one from its attributes again for each span is slow. */
  readonly #services = new WeakMap<JsonObject, string>()

  of(service: string, name: string, kind: string): number {
    const text = JSON.stringify([this.#texts.of(service), this.#texts.of(name), kind])
    const known = this.#known.get(text) ?? this.#known.size
    this.#known.set(text, known)
    return known
  }

  serviceOf(resource: JsonObject): string {
    const service = this.#services.get(resource) ?? serviceIn(new Map(attributesOf(resource)))
    this.#services.set(resource, service)
    return service
  }
}

/** Makes a DiffSpan from a span and its resource in OTLP/JSON. Use the same `keys` for both traces. */
export function diffSpan(span: JsonObject, resource: JsonObject, keys: SpanKeys): DiffSpan {
  const { startNs, endNs } = startAndEnd(span)
  const attributes = new Map(attributesOf(span))
  const service = serviceIn(attributes) || keys.serviceOf(resource)
  const name = jsonTextOf(span['name'])
  const kind = KINDS[Number(span['kind'] ?? 0)] ?? ''
  return {
    key: keys.of(service, name, kind),
    id: jsonTextOf(span['spanId']),
    parentId: jsonTextOf(span['parentSpanId']),
    startNs,
    durationNs: startNs > 0n && endNs >= startNs ? endNs - startNs : undefined,
    service,
    name,
    kind,
    status: STATUSES[Number(jsonObjectOf(span['status'])['code'] ?? 0)] ?? '',
    attributes,
  }
}

const serviceIn = (attributes: Attributes): string =>
  jsonTextOf(attributes.get('service.name')?.['stringValue'])

/** Builds the tree of a trace. `left.steps`: how many path elements are still allowed; throws BadQuestion if there are more. */
export function placedTrace(
  side: string,
  traceId: string,
  spans: readonly DiffSpan[],
  left: { steps: number },
): DiffTrace {
  const sorted = spans.toSorted((a, b) =>
    a.startNs === b.startNs ? (a.id < b.id ? -1 : Number(a.id > b.id)) : a.startNs < b.startNs ? -1 : 1,
  )
  const ids = new Set(spans.map(({ id }) => id))
  const isTop = ({ parentId }: DiffSpan): boolean => !ids.has(parentId)
  const children = Map.groupBy(
    sorted.filter((span) => !isTop(span)),
    ({ parentId }) => parentId,
  )
  const placed: Placed[] = []
  const seen = new Set<string>()
  let roots = 0
  const place = (root: DiffSpan): void => {
    const open: { span: DiffSpan; above: Placed | undefined }[] = [{ span: root, above: undefined }]
    const counts = new Map<Placed, number>()
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { span, above } = next
      if (seen.has(span.id)) continue
      seen.add(span.id)
      const at = above === undefined ? roots++ : (counts.get(above) ?? 0)
      if (above !== undefined) counts.set(above, at + 1)
      const path = [...(above?.path ?? []), at]
      left.steps -= path.length
      if (left.steps < 0)
        throw new BadQuestion(
          'the spans of these traces are nested too deep to compare: look at each trace by itself',
        )
      const parent = above?.span.key
      const one = { span, path, above: parent, keys: `${span.key} ${parent ?? ''}` }
      placed.push(one)
      for (const child of (children.get(span.id) ?? []).toReversed()) open.push({ span: child, above: one })
    }
  }
  for (const span of sorted.filter(isTop)) place(span)
  // Spans on a cycle have no root.
  for (const span of sorted) place(span)
  return { traceId, count: spans.length, placed, warnings: warningsOf(side, spans, placed.length) }
}

const ID_IN_NAME = /\b(?:[0-9]{6,}|[0-9a-f][0-9a-f-]{7,})\b/i
const MOST_EXAMPLES = 3

function warningsOf(side: string, spans: readonly DiffSpan[], placed: number): Warning[] {
  const named = ({ name, service, kind }: DiffSpan): string =>
    `${JSON.stringify(name)} service ${JSON.stringify(service)} kind ${JSON.stringify(kind)}`
  const withId = spans.find(({ name }) => ID_IN_NAME.test(name))
  const timeless = spans.filter(({ durationNs }) => durationNs === undefined)
  const warnings: Warning[] = []
  if (withId !== undefined)
    warnings.push({
      code: 'high_cardinality_span_name',
      message: `a name seems to have an id in it: ${named(withId)}; spans are paired by their names, so put such ids into attributes`,
    })
  if (timeless.length > 0) {
    const examples = timeless.map(named).sort().slice(0, MOST_EXAMPLES).join('; ')
    warnings.push({
      code: 'invalid_duration',
      message: `${side} trace has ${timeless.length} spans without a duration, which is null where the other has one: ${examples}`,
    })
  }
  if (placed < spans.length)
    warnings.push({
      code: 'duplicate_span_id',
      message: `${side} trace has ${spans.length - placed} spans with the id of another; they are passed over`,
    })
  return warnings
}

/** Pairs each span of the second trace with a span of the first that has the same key, preferably one whose parents have equal keys too. */
function pairsOf(base: DiffTrace, compare: DiffTrace): Map<Placed, Placed> {
  const waiting = Map.groupBy(base.placed, ({ span }) => span.key)
  const below = Map.groupBy(base.placed, ({ keys }) => keys)
  const used = new Set<Placed>()
  const firstOf = (candidates: Placed[] | undefined): Placed | undefined => {
    while (candidates?.[0] !== undefined && used.has(candidates[0])) candidates.shift()
    return candidates?.[0]
  }
  const pairs = new Map<Placed, Placed>()
  for (const one of compare.placed) {
    const key = one.span.key
    const same = one.above === undefined ? undefined : firstOf(below.get(one.keys))
    const other = same ?? firstOf(waiting.get(key))
    if (other === undefined) continue
    used.add(other)
    pairs.set(one, other)
  }
  return pairs
}

interface Reference {
  /** From the root to the span: the index of each ancestor among its siblings. */
  readonly path: readonly number[]
  readonly service: string
  readonly name: string
  readonly kind: string
}

interface Snapshot extends Reference {
  readonly duration_nanos: number
  readonly status: string
}

interface Change {
  readonly op: 'add' | 'remove' | 'modify'
  readonly target:
    | { readonly type: 'field'; readonly name: 'duration_nanos' | 'status' }
    | { readonly type: 'attribute'; readonly scope: 'span'; readonly key: string }
  readonly before: unknown
  readonly after: unknown
}

export interface Patch {
  readonly version: string
  readonly base: { readonly traceId: string; readonly spanCount: number }
  readonly compare: { readonly traceId: string; readonly spanCount: number }
  readonly stats: Readonly<Record<(typeof COUNTED)[number], number>> &
    Readonly<Record<string, number | boolean>>
  readonly modified: readonly { readonly span: Reference; readonly changes: readonly Change[] }[]
  readonly added: readonly { readonly target: object; readonly span: Snapshot }[]
  readonly removed: readonly { readonly target: object; readonly span: Snapshot }[]
  readonly warnings: readonly Warning[]
}

/** The counts that a summary takes from the patch. */
export const COUNTED = [
  'matchedSpans',
  'modifiedSpans',
  'addedSpans',
  'removedSpans',
  'fieldChanges',
  'attributeChanges',
] as const

export function patchOf(base: DiffTrace, compare: DiffTrace): Patch {
  const pairs = pairsOf(base, compare)
  const paired = new Set(pairs.values())
  const modified = [...pairs].flatMap(([after, before]) => {
    const changes = changesOf(before.span, after.span)
    return changes.length === 0 ? [] : [{ span: referenceTo(after), changes }]
  })
  const added = compare.placed
    .filter((one) => !pairs.has(one))
    .map((one) => ({
      target: {
        type: 'span',
        // As in Tempo, an empty path is omitted.
        ...(one.path.length > 1 && { parentPath: one.path.slice(0, -1) }),
        index: one.path.at(-1) ?? 0,
      },
      span: shown(one),
    }))
  const removed = base.placed
    .filter((one) => !paired.has(one))
    .map((one) => ({ target: { type: 'span', path: one.path }, span: shown(one) }))
  const counted = (type: Change['target']['type']): number =>
    modified.reduce(
      (sum, { changes }) => sum + changes.filter(({ target }) => target.type === type).length,
      0,
    )
  return {
    version: 'trace-patch-v0',
    base: { traceId: base.traceId, spanCount: base.count },
    compare: { traceId: compare.traceId, spanCount: compare.count },
    stats: {
      spanCountA: base.count,
      spanCountB: compare.count,
      matchedSpans: pairs.size,
      modifiedSpans: modified.length,
      addedSpans: added.length,
      removedSpans: removed.length,
      fieldChanges: counted('field'),
      attributeChanges: counted('attribute'),
      eventChanges: 0,
      truncated: false,
    },
    modified,
    added,
    removed,
    warnings: [...base.warnings, ...compare.warnings].filter(
      ({ code }, at, all) =>
        code !== 'high_cardinality_span_name' || all.findIndex((other) => other.code === code) === at,
    ),
  }
}

const referenceTo = ({ span: { service, name, kind }, path }: Placed): Reference => ({
  path,
  service,
  name,
  kind,
})

const shown = (one: Placed): Snapshot => ({
  ...referenceTo(one),
  duration_nanos: Number(one.span.durationNs ?? 0n),
  status: one.span.status,
})

/** Durations count as equal if they differ by at most a fifth and a millisecond. */
const DURATION = { part: 0.2, least: 1_000_000 }
const SIZE = { part: 0.05, least: 0 }
/** Attributes of OpenTelemetry's conventions that are measurements, and hardly ever equal. */
const MEASURES =
  /^(?:https?\.(?:request|response)(?:\.body)?\.size|http\.(?:request|response)_content_length(?:_uncompressed)?|messaging\.message\.(?:body|envelope)\.size|(?:rpc\.)?message\.(?:un)?compressed_size|file\.size|gen_ai\.usage\.(?:input_tokens|output_tokens|prompt_tokens|completion_tokens|cache_creation\.input_tokens|cache_read\.input_tokens|reasoning\.output_tokens)|gen_ai\.response\.time_to_first_chunk|app\.jank\.period)$/

function isNear(left: number, right: number, { part, least }: typeof DURATION): boolean {
  if (!Number.isFinite(left) || !Number.isFinite(right)) return Object.is(left, right)
  return Math.abs(left - right) <= least + part * Math.max(Math.abs(left), Math.abs(right))
}

function changesOf(base: DiffSpan, compare: DiffSpan): Change[] {
  const changes: Change[] = []
  const [before, after] = [base.durationNs, compare.durationNs].map((ns) =>
    ns === undefined ? null : Number(ns),
  )
  const isSame =
    typeof before === 'number' && typeof after === 'number'
      ? isNear(before, after, DURATION)
      : before === after
  if (!isSame)
    changes.push({ op: 'modify', target: { type: 'field', name: 'duration_nanos' }, before, after })
  if (base.status !== compare.status)
    changes.push({
      op: 'modify',
      target: { type: 'field', name: 'status' },
      before: base.status,
      after: compare.status,
    })
  for (const key of [...new Set([...base.attributes.keys(), ...compare.attributes.keys()])].sort()) {
    const [from, to] = [base.attributes.get(key), compare.attributes.get(key)]
    if (from !== undefined && to !== undefined && isSameAttribute(key, from, to)) continue
    changes.push({
      op: from === undefined ? 'add' : to === undefined ? 'remove' : 'modify',
      target: { type: 'attribute', scope: 'span', key },
      before: from === undefined ? null : plainValue(from),
      after: to === undefined ? null : plainValue(to),
    })
  }
  return changes
}

function isSameAttribute(key: string, left: JsonObject, right: JsonObject): boolean {
  const [one, other] = [numberIn(left), numberIn(right)]
  if (one !== undefined && other !== undefined && MEASURES.test(key)) return isNear(one, other, SIZE)
  return isSameValue(left, right)
}

const numberIn = ({ intValue, doubleValue }: JsonObject): number | undefined =>
  intValue === undefined && doubleValue === undefined ? undefined : Number(intValue ?? doubleValue)

/** Whether two AnyValues are equal. An integer equals the float of the same value. */
function isSameValue(left: JsonObject, right: JsonObject): boolean {
  if (left['intValue'] !== undefined && right['intValue'] !== undefined)
    return left['intValue'] === right['intValue']
  const [one, other] = [numberIn(left), numberIn(right)]
  if (one !== undefined && other !== undefined)
    return one === other || (Number.isNaN(one) && Number.isNaN(other))
  const [lists, otherLists] = [left['arrayValue'], right['arrayValue']]
  if (lists !== undefined && otherLists !== undefined) {
    const [items, others] = [itemsOf(lists), itemsOf(otherLists)]
    return items.length === others.length && items.every((item, at) => isSameValue(item, others[at] ?? {}))
  }
  const [pairs, otherPairs] = [left['kvlistValue'], right['kvlistValue']]
  if (pairs !== undefined && otherPairs !== undefined) {
    const [map, others] = [pairsIn(pairs), pairsIn(otherPairs)]
    return (
      map.size === others.size &&
      [...map].every(([key, value]) => isSameValue(value, others.get(key) ?? NO_VALUE))
    )
  }
  return JSON.stringify(left) === JSON.stringify(right)
}

/** Stands for a missing key; no AnyValue is equal to it. */
const NO_VALUE: JsonObject = { missing: true }
const itemsOf = (list: Json): JsonObject[] => jsonObjectsOf(jsonObjectOf(list)['values'])
const pairsIn = (list: Json): Attributes =>
  new Map(attributesOf({ attributes: jsonObjectOf(list)['values'] ?? [] }))

/** An AnyValue as plain JSON. Numbers that JSON cannot represent become strings. */
function plainValue(value: JsonObject): unknown {
  const { stringValue, boolValue, bytesValue, arrayValue, kvlistValue, intValue } = value
  const number = numberIn(value)
  if (number === Infinity) return '+Inf'
  if (number !== undefined)
    return Number.isFinite(number) && (intValue === undefined || Number.isSafeInteger(number))
      ? number
      : number === -Infinity
        ? '-Inf'
        : jsonTextOf(intValue) || 'NaN'
  if (arrayValue !== undefined) return itemsOf(arrayValue).map(plainValue)
  if (kvlistValue !== undefined)
    return Object.fromEntries([...pairsIn(kvlistValue)].map(([key, one]) => [key, plainValue(one)]))
  return stringValue ?? boolValue ?? bytesValue ?? null
}
