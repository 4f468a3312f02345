import type { SpanHint } from '../model/queries.ts'
import { compileField, MatchingEffort } from './traceql/evaluate-field.ts'
import { flipped } from './traceql/static-values.ts'
import {
  type Attribute,
  type Field,
  KINDS,
  type Operator,
  type Pipeline,
  type Spansets,
  type Stage,
  type Static,
  STATUSES,
} from './traceql/syntax.ts'

/** Names of this length or more, in bytes, are not indexed in full. */
const LONGEST_NAME = 4_096

/** A condition, made of useful filters, that at least one span of every matching trace meets; undefined if there is none. */
export function fieldNeeded({ stages }: Pipeline, isUseful: (field: Field) => boolean): Field | undefined {
  for (const stage of stages) {
    const field = neededBy(stage, isUseful)
    if (field !== undefined) return field
  }
  return undefined
}

function neededBy(stage: Stage, isUseful: (field: Field) => boolean): Field | undefined {
  switch (stage.kind) {
    case 'filter':
      return isUseful(stage.field) ? stage.field : undefined
    case 'pipeline':
      return fieldNeeded(stage, isUseful)
    case 'logic':
    case 'relation':
      return neededByTwo(stage, isUseful)
    case 'by':
    case 'scalarFilter':
    case 'coalesce':
    case 'select':
    case 'aggregate':
      return undefined
  }
}

/** A matching trace has spans of both sides, or of one of them. If of both, the condition of one side is enough. */
function neededByTwo(
  sets: Extract<Spansets, { kind: 'logic' | 'relation' }>,
  isUseful: (field: Field) => boolean,
): Field | undefined {
  const [left, right] = [neededBy(sets.left, isUseful), neededBy(sets.right, isUseful)]
  if (sets.kind === 'relation' && sets.of === 'none') return right
  if (sets.kind === 'relation' || sets.operator === '&&') return right ?? left
  if (left === undefined || right === undefined) return undefined
  return { kind: 'binary', operator: '||', left, right }
}

export function hintOfField(field: Field): SpanHint | undefined {
  if (field.kind === 'unary')
    return field.operator === 'exists' && field.of.kind === 'attribute' ? hasKey(field.of) : undefined
  if (field.kind === 'attribute') return hasKey(field)
  if (field.kind !== 'binary') return undefined
  const { operator, left, right } = field
  if (operator === '&&' || operator === '||') {
    const of = [hintOfField(left), hintOfField(right)]
    const known = of.filter((hint) => hint !== undefined)
    if (operator === '&&') return known.length > 1 ? { kind: 'and', of: known } : known[0]
    return known.length === of.length ? { kind: 'or', of: known } : undefined
  }
  if (left.kind === 'attribute' && right.kind === 'static')
    return hintOfComparison(left, operator, right.value)
  if (left.kind === 'static' && right.kind === 'attribute')
    return hintOfComparison(right, flipped(operator), left.value)
  return undefined
}

function hintOfComparison(attribute: Attribute, operator: Operator, value: Static): SpanHint | undefined {
  if (COMPARES_TEXTS.has(operator) && value.type === 'string') {
    if (attribute.scope === 'intrinsic' && attribute.name === 'name')
      return { kind: 'names', accepts: acceptsText(attribute, operator, value) }
    if (attribute.scope === 'resource' && attribute.name === 'service.name')
      return { kind: 'services', accepts: acceptsText(attribute, operator, value) }
  }
  if (attribute.scope === 'intrinsic') return hintOfIntrinsic(attribute, operator, value)
  if (operator === '=' && value.type === 'string' && value.value !== '') return holds(attribute, value.value)
  if (operator === 'reads' && value.type === 'string' && Number.isNaN(Number(value.value)))
    return value.value === 'true' || value.value === 'false' ? undefined : holds(attribute, value.value)
  return operator === 'reads' || operator === 'contains' ? undefined : hasKey(attribute)
}

const COMPARES_TEXTS: ReadonlySet<Operator> = new Set(['!=', '>', '>=', '<', '<=', '=~', '!~'])

/** Whether a string may meet a comparison. Empty strings, and those too long for the index or for matching, always may. */
function acceptsText(attribute: Attribute, operator: Operator, value: Static): (text: string) => boolean {
  const effort = new MatchingEffort()
  const right: Field = { kind: 'static', value }
  const meets = compileField({ kind: 'binary', operator, left: attribute, right }, effort)
  return (text) => {
    if (text === '' || Buffer.byteLength(text) >= LONGEST_NAME) return true
    effort.next()
    const { passedOver } = effort
    const met = meets({ valueOf: () => ({ type: 'string', value: text }) })
    return (met.type === 'boolean' && met.value) || effort.passedOver > passedOver
  }
}

function hintOfIntrinsic({ name }: Attribute, operator: Operator, value: Static): SpanHint | undefined {
  if (name === 'duration' && (value.type === 'duration' || value.type === 'int'))
    return operator === '=' || operator === '>' || operator === '>=' || operator === '<' || operator === '<='
      ? { kind: 'duration', operator, value: value.value }
      : undefined
  if (operator !== '=') return undefined
  if (name === 'kind' && value.type === 'kind') return { kind: 'kind', value: KINDS.indexOf(value.value) }
  if (name === 'status' && value.type === 'status' && value.value !== 'unset')
    return { kind: 'status', value: STATUSES.indexOf(value.value) }
  if (value.type !== 'string' || value.value === '') return undefined
  if (name === 'name')
    return Buffer.byteLength(value.value) < LONGEST_NAME ? { kind: 'name', value: value.value } : undefined
  if (name === 'statusMessage' || name === 'event:name') return { kind: 'holds', text: value.value }
  return name.startsWith('instrumentation:') ? { kind: 'scope', text: value.value } : undefined
}

function hasKey(attribute: Attribute): SpanHint | undefined {
  const { scope, name } = attribute
  // A resource without `service.name` is indexed under the empty name, so the key alone is no hint.
  const isService = name === 'service.name' && (scope === 'resource' || scope === 'any')
  return scope === 'intrinsic' || name === '' || isService ? undefined : holds(attribute, name)
}

/**
 * A hint that the stored bytes contain the key or value of an attribute. There is none for attributes that Causeway adds when it sends a
 * span: the stored bytes lack them.
 */
function holds({ scope, name }: Attribute, text: string): SpanHint | undefined {
  const isAdded = name.startsWith('cpid.')
  switch (scope) {
    case 'resource':
      return name === 'service.name' && text !== name
        ? Buffer.byteLength(text) < LONGEST_NAME
          ? { kind: 'service', value: text }
          : undefined
        : { kind: 'resource', text }
    case 'instrumentation':
      return { kind: 'scope', text }
    case 'any':
      return isAdded
        ? undefined
        : {
            kind: 'or',
            of: [
              { kind: 'holds', text },
              { kind: 'resource', text },
            ],
          }
    case 'span':
    case 'event':
    case 'link':
    case 'intrinsic':
      return isAdded ? undefined : { kind: 'holds', text }
  }
}
