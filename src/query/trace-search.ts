import { RE2JS } from 're2js'
import { errorText } from '../model/faults.ts'
import type { JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { CausewayQueries, TraceFacts } from '../model/queries.ts'
import type { UnixNanos } from '../model/time-and-size.ts'
import {
  attributesOf,
  attributeValue,
  jsonObjectOf,
  jsonObjectsOf,
  jsonTextOf,
  type SentSpanJson,
  SpanRenderer,
} from './sent-span-json.ts'

/** How many traces are looked into for one search. */
const MAX_INSPECTED = 5_000
/** How many matching spans of a trace are kept while it is looked through. */
const MAX_KEPT = 1_000

export interface TraceSearch {
  readonly condition: Condition
  /** Traces whose activity reaches into the time between these. */
  readonly fromNs?: UnixNanos
  readonly toNs?: UnixNanos
  readonly limit: number
  /** How many matching spans of each trace are shown. */
  readonly spansPerTrace: number
}

export interface FoundTrace extends TraceAround {
  readonly trace: TraceFacts
  /** The first of the matching spans. */
  readonly spans: readonly SentSpanJson[]
  readonly matched: number
}

/** Outgoing traces with a span that meets a condition, newest first. An undefined one only lets others take a turn. */
export function* findTraces(
  queries: CausewayQueries,
  { condition, fromNs, toNs, limit, spansPerTrace }: TraceSearch,
  effort = new MatchingEffort(),
): Generator<FoundTrace | undefined> {
  const service = serviceIn(condition)
  let [found, inspected] = [0, 0]
  const range = {
    ...(fromNs !== undefined && { fromNs }),
    ...(toNs !== undefined && { toNs }),
    ...(service !== undefined && { service }),
  }
  for (const page of queries.traces(range)) {
    yield undefined
    for (const trace of page) {
      if (found >= limit || ++inspected > MAX_INSPECTED) return
      const hit = yield* lookInto(queries, trace, {
        condition,
        most: Math.min(spansPerTrace, MAX_KEPT),
        effort,
      })
      if (hit.matched === 0) continue
      found++
      yield hit
    }
  }
}

function* lookInto(
  queries: CausewayQueries,
  trace: TraceFacts,
  { condition, most, effort }: { condition: Condition; most: number; effort: MatchingEffort },
): Generator<undefined, FoundTrace> {
  const shower = new SpanRenderer(queries)
  const spans: SentSpanJson[] = []
  let matched = 0
  let around: TraceAround | undefined
  for (const page of queries.sentInto(trace.id)) {
    for (const shown of page.flatMap((item) => shower.show(item))) {
      around ??= aroundOf(trace, shown)
      if (effort.next()) yield
      if (!matchesCondition(condition, shown, around, effort)) continue
      matched++
      if (spans.length < most) spans.push(shown)
    }
    yield
  }
  return { trace, spans, matched, ...(around ?? { rootName: '', rootServiceName: '', durationNs: 0 }) }
}

/** The first span sent into a trace is its root. */
function aroundOf({ startNs, lastNs }: TraceFacts, { span, resource }: SentSpanJson): TraceAround {
  return {
    rootName: jsonTextOf(span['name']),
    rootServiceName: serviceOf(resource),
    durationNs: Number(lastNs - startNs),
  }
}

/** The `service.name` of a resource; empty without one. */
export function serviceOf(resource: SentSpanJson['resource']): string {
  const [, value] = attributesOf(resource).find(([key]) => key === 'service.name') ?? []
  return value === undefined ? '' : String(attributeValue(value) ?? '')
}

/** What a condition looks at: an attribute, or something every span has. */
export type Subject =
  | { readonly scope: 'span' | 'resource' | 'any' | 'link'; readonly key: string }
  | { readonly scope: 'intrinsic'; readonly key: Intrinsic }

export type Intrinsic =
  | 'name'
  | 'status'
  | 'statusMessage'
  | 'kind'
  | 'duration'
  | 'rootName'
  | 'rootServiceName'
  | 'traceDuration'
  | 'traceId'
  | 'spanId'
  | 'linkTraceId'
  | 'linkSpanId'

/** `contains` is about texts, in any case of letters. */
export type Operator = '=' | '!=' | '=~' | '!~' | '>' | '<' | '>=' | '<=' | 'contains'

/** Durations are numbers of nanoseconds. */
export type Value = string | number | boolean

/** Which spans are looked for. */
export type Condition =
  | { readonly kind: 'all' }
  | { readonly kind: 'and' | 'or'; readonly left: Condition; readonly right: Condition }
  | { readonly kind: 'not'; readonly of: Condition }
  /** Without an operator: it is there. */
  | { readonly kind: 'exists'; readonly subject: Subject }
  | {
      readonly kind: 'compare'
      readonly subject: Subject
      readonly operator: Operator
      readonly value: Value
    }

export const ANY_SPAN: Condition = { kind: 'all' }

export function allOf(left: Condition, right: Condition): Condition {
  if (left.kind === 'all') return right
  return right.kind === 'all' ? left : { kind: 'and', left, right }
}

/** A service that every span meeting the condition belongs to, where it says so. */
function serviceIn(condition: Condition): string | undefined {
  if (condition.kind === 'and') return serviceIn(condition.left) ?? serviceIn(condition.right)
  if (condition.kind !== 'compare' || condition.operator !== '=') return undefined
  const { subject, value } = condition
  const isService = subject.scope === 'resource' && subject.key === 'service.name'
  return isService && typeof value === 'string' ? value : undefined
}

const OF_TRACE: readonly Intrinsic[] = ['rootName', 'rootServiceName', 'traceDuration']

/** Whether a condition asks for what only the whole trace tells. */
export function needsWholeTrace(condition: Condition): boolean {
  switch (condition.kind) {
    case 'all':
      return false
    case 'and':
    case 'or':
      return needsWholeTrace(condition.left) || needsWholeTrace(condition.right)
    case 'not':
      return needsWholeTrace(condition.of)
    case 'exists':
    case 'compare':
      return condition.subject.scope === 'intrinsic' && OF_TRACE.includes(condition.subject.key)
  }
}

/** What is known of the trace that a span stands in. */
interface TraceAround {
  readonly rootName: string
  readonly rootServiceName: string
  readonly durationNs: number
}

export const STATUSES = ['unset', 'ok', 'error']
export const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']

/**
 * True when the span is one that is looked for. What is not there meets no comparison, nor does a text that is too long
 * for an expression.
 */
export function matchesCondition(
  condition: Condition,
  shown: SentSpanJson,
  trace: TraceAround,
  effort = new MatchingEffort(),
): boolean {
  switch (condition.kind) {
    case 'all':
      return true
    case 'and':
      return (
        matchesCondition(condition.left, shown, trace, effort) &&
        matchesCondition(condition.right, shown, trace, effort)
      )
    case 'or':
      return (
        matchesCondition(condition.left, shown, trace, effort) ||
        matchesCondition(condition.right, shown, trace, effort)
      )
    case 'not':
      return !matchesCondition(condition.of, shown, trace, effort)
    case 'exists':
      return valuesOf(condition.subject, shown, trace).length > 0
    case 'compare': {
      const { subject, operator, value } = condition
      return valuesOf(subject, shown, trace).some((found) => compares(found, operator, value, effort))
    }
  }
}

function compares(found: Value, operator: Operator, value: Value, effort: MatchingEffort): boolean {
  switch (operator) {
    case '=':
      return found === value
    case '!=':
      return found !== value
    case 'contains':
      return String(found).toLowerCase().includes(String(value).toLowerCase())
    case '=~':
      return effort.matches(String(value), String(found)) === true
    case '!~':
      return effort.matches(String(value), String(found)) === false
    case '>':
    case '<':
    case '>=':
    case '<=':
      return typeof found === typeof value && isOrdered(found, operator, value)
  }
}

function isOrdered(found: Value, operator: '>' | '<' | '>=' | '<=', value: Value): boolean {
  if (operator === '>') return found > value
  if (operator === '<') return found < value
  return operator === '>=' ? found >= value : found <= value
}

function valuesOf(subject: Subject, shown: SentSpanJson, trace: TraceAround): Value[] {
  const { span, resource } = shown
  switch (subject.scope) {
    case 'span':
      return attributeValues(span, subject.key)
    case 'resource':
      return attributeValues(resource, subject.key)
    case 'any':
      return [...attributeValues(span, subject.key), ...attributeValues(resource, subject.key)]
    case 'link':
      return jsonObjectsOf(span['links']).flatMap((link) => attributeValues(link, subject.key))
    case 'intrinsic':
      return intrinsicValues(subject.key, span, trace)
  }
}

/** Of several with this key the first counts. The elements of an array count one by one. */
function attributeValues(of: JsonObject, key: string): Value[] {
  const [, value] = attributesOf(of).find(([name]) => name === key) ?? []
  if (value === undefined) return []
  const elements = jsonObjectsOf(jsonObjectOf(value['arrayValue'])['values'])
  return [value, ...elements].flatMap((element) => attributeValue(element) ?? [])
}

function intrinsicValues(key: Intrinsic, span: JsonObject, trace: TraceAround): Value[] {
  switch (key) {
    case 'name':
      return [jsonTextOf(span['name'])]
    case 'status':
      return [STATUSES[Number(jsonObjectOf(span['status'])['code'] ?? 0)] ?? 'unset']
    case 'statusMessage':
      return [jsonTextOf(jsonObjectOf(span['status'])['message'])]
    case 'kind':
      return [KINDS[Number(span['kind'] ?? 0)] ?? 'unspecified']
    case 'duration':
      return [Number(startAndEnd(span).endNs - startAndEnd(span).startNs)]
    case 'rootName':
      return [trace.rootName]
    case 'rootServiceName':
      return [trace.rootServiceName]
    case 'traceDuration':
      return [trace.durationNs]
    case 'traceId':
      return [jsonTextOf(span['traceId'])]
    case 'spanId':
      return [jsonTextOf(span['spanId'])]
    case 'linkTraceId':
      return jsonObjectsOf(span['links']).map(({ traceId }) => jsonTextOf(traceId))
    case 'linkSpanId':
      return jsonObjectsOf(span['links']).map(({ spanId }) => jsonTextOf(spanId))
  }
}

/** When a span in OTLP/JSON started and ended. */
export function startAndEnd(span: JsonObject): { startNs: bigint; endNs: bigint } {
  const timeOf = (name: 'startTimeUnixNano' | 'endTimeUnixNano'): bigint =>
    BigInt(jsonTextOf(span[name]) || '0')
  return { startNs: timeOf('startTimeUnixNano'), endNs: timeOf('endTimeUnixNano') }
}

/** The longest pattern, in characters. */
export const MAX_PATTERN_LENGTH = 256
/** The longest text that is matched, in characters. */
export const MAX_MATCHED_LENGTH = 4_096
/**
 * How large what is made of a pattern may be, in instructions: a step of matching takes time in proportion. It is enough
 * for a thousand repetitions of something short.
 */
export const MAX_PROGRAM_SIZE = 2_500
/**
 * Expressions kept: each is asked for anew for every span, and one takes up to 8 MiB while it is used. A query may have
 * as many.
 */
export const MAX_EXPRESSIONS = 8

/** Matches whole texts, each in time that grows with its length and no faster. */
export interface RegularExpression {
  /** In instructions, at most MAX_PROGRAM_SIZE. */
  readonly size: number
  matches(text: string): boolean
}

/** Why a text is no expression that can be taken. */
interface NoExpression {
  readonly wrong: string
}

const kept = new Map<string, RegularExpression | NoExpression>()

/** An expression as Go, and with it Tempo, reads it: RE2, where a dot is any character. */
export function regularExpression(pattern: string): RegularExpression | NoExpression {
  const known = kept.get(pattern)
  if (known !== undefined) return known
  const expression = expressionOf(pattern)
  for (const oldest of kept.keys()) {
    if (kept.size < MAX_EXPRESSIONS) break
    kept.delete(oldest)
  }
  kept.set(pattern, expression)
  return expression
}

function expressionOf(pattern: string): RegularExpression | NoExpression {
  if (pattern.length > MAX_PATTERN_LENGTH)
    return { wrong: `it has ${pattern.length} characters; write at most ${MAX_PATTERN_LENGTH}` }
  if (sizeOf(pattern) > MAX_PROGRAM_SIZE) return TOO_LARGE
  try {
    const compiled = RE2JS.compile(pattern, RE2JS.DOTALL)
    const size = compiled.programSize()
    return size > MAX_PROGRAM_SIZE ? TOO_LARGE : { size, matches: (text) => compiled.matches(text) }
  } catch (error) {
    return { wrong: errorText(error) }
  }
}

const TOO_LARGE = {
  wrong: `it repeats too much; write counts that come to ${MAX_PROGRAM_SIZE} pieces at most`,
}

/** A piece of a pattern (an escape, a class, the beginning of a group, a character), or a count of repetitions. */
const PIECE =
  /\(\?(?:P?<\w*>|[\w-]*[:)])|\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\{(\d+)(?:(,)(\d*))?\}|[\s\S]/gy

/** About how large an expression will be, told before anything of that size is made. */
function sizeOf(pattern: string): number {
  const outer: { size: number; capture: number }[] = []
  let [size, last] = [0, 0]
  for (const [piece, least, comma, most] of pattern.matchAll(PIECE)) {
    if (least !== undefined) {
      const count = Number(most === undefined || most === '' ? least : most)
      const repeated = last * count + (comma === undefined ? 0 : Math.max(1, count - Number(least)))
      size += repeated - last
      last = repeated
    } else if (piece.startsWith('(')) {
      if (piece.endsWith(')')) continue
      outer.push({ size, capture: piece.endsWith(':') ? 0 : 2 })
      size = 0
    } else if (piece === ')') {
      const around = outer.pop()
      last = size + (around?.capture ?? 0)
      size = (around?.size ?? 0) + last
    } else {
      last = '?*+'.includes(piece) ? last + 1 : 1
      size++
    }
  }
  return outer.reduce((sum, around) => sum + around.size, size)
}

/** What one span may cost: the longest text with the largest expression, or more of what is smaller. */
const MAX_STEPS = MAX_PROGRAM_SIZE * MAX_MATCHED_LENGTH

/** Matches texts of spans against regular expressions, and bounds what that costs for each span. */
export class MatchingEffort {
  #steps = 0
  #passedOver = 0

  /** Texts that were not matched, being too long or too many in one span. They meet no comparison. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** Begins with another span. True when the one before cost so much that others should have a turn. */
  next(): boolean {
    const isTired = this.#steps > 0
    this.#steps = 0
    return isTired
  }

  /** Undefined when the text is passed over. */
  matches(pattern: string, text: string): boolean | undefined {
    const expression = regularExpression(pattern)
    if ('wrong' in expression) return undefined
    this.#steps += expression.size * text.length
    if (text.length <= MAX_MATCHED_LENGTH && this.#steps <= MAX_STEPS) return expression.matches(text)
    this.#passedOver++
    return undefined
  }
}
