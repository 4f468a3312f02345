import type { JsonObject } from '../../otlp/json/protobuf-to-json.ts'
import type { Condition, Intrinsic, Operator, Subject, Value } from './condition.ts'
import { MatchingEffort } from './matching-effort.ts'
import { attributesOf, listOf, objectOf, plainValue, textOf, type ShownSpan } from './shown-span.ts'

/** What is known of the trace that a span stands in. */
export interface TraceAround {
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
  shown: ShownSpan,
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

function valuesOf(subject: Subject, shown: ShownSpan, trace: TraceAround): Value[] {
  const { span, resource } = shown
  switch (subject.scope) {
    case 'span':
      return attributeValues(span, subject.key)
    case 'resource':
      return attributeValues(resource, subject.key)
    case 'any':
      return [...attributeValues(span, subject.key), ...attributeValues(resource, subject.key)]
    case 'link':
      return listOf(span['links']).flatMap((link) => attributeValues(link, subject.key))
    case 'intrinsic':
      return intrinsicValues(subject.key, span, trace)
  }
}

/** Of several with this key the first counts. The elements of an array count one by one. */
function attributeValues(of: JsonObject, key: string): Value[] {
  const [, value] = attributesOf(of).find(([name]) => name === key) ?? []
  if (value === undefined) return []
  const elements = listOf(objectOf(value['arrayValue'])['values'])
  return [value, ...elements].flatMap((element) => plainValue(element) ?? [])
}

function intrinsicValues(key: Intrinsic, span: JsonObject, trace: TraceAround): Value[] {
  switch (key) {
    case 'name':
      return [textOf(span['name'])]
    case 'status':
      return [STATUSES[Number(objectOf(span['status'])['code'] ?? 0)] ?? 'unset']
    case 'statusMessage':
      return [textOf(objectOf(span['status'])['message'])]
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
      return [textOf(span['traceId'])]
    case 'spanId':
      return [textOf(span['spanId'])]
    case 'linkTraceId':
      return listOf(span['links']).map(({ traceId }) => textOf(traceId))
    case 'linkSpanId':
      return listOf(span['links']).map(({ spanId }) => textOf(spanId))
  }
}

/** When a span in OTLP/JSON started and ended. */
export function startAndEnd(span: JsonObject): { startNs: bigint; endNs: bigint } {
  const timeOf = (name: 'startTimeUnixNano' | 'endTimeUnixNano'): bigint => BigInt(textOf(span[name]) || '0')
  return { startNs: timeOf('startTimeUnixNano'), endNs: timeOf('endTimeUnixNano') }
}
