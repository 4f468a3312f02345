import type { SpanHint } from '../../model/queries.ts'
import { flipped } from './static-values.ts'
import {
  KINDS,
  type Attribute,
  type Field,
  type Operator,
  type Pipeline,
  type Spansets,
  type Stage,
  type Static,
  STATUSES,
} from './syntax.ts'

/** The longest name that is indexed, in bytes. */
const LONGEST_NAME = 4_096

/** A hint that is true for at least one span of every trace that a pipeline can find. Undefined if there is none. */
export function hintOf({ stages }: Pipeline): SpanHint | undefined {
  for (const stage of stages) {
    const hint = hintOfStage(stage)
    if (hint !== undefined) return hint
  }
  return undefined
}

function hintOfStage(stage: Stage): SpanHint | undefined {
  switch (stage.kind) {
    case 'filter':
      return hintOfField(stage.field)
    case 'pipeline':
      return hintOf(stage)
    case 'logic':
    case 'relation':
      return hintOfTwo(stage)
    case 'by':
    case 'scalarFilter':
    case 'coalesce':
    case 'select':
    case 'aggregate':
      return undefined
  }
}

/** A matching trace has spans of both sides, or of one of them. If of both, the hint of one side is enough. */
function hintOfTwo(sets: Extract<Spansets, { kind: 'logic' | 'relation' }>): SpanHint | undefined {
  const [left, right] = [hintOfStage(sets.left), hintOfStage(sets.right)]
  if (sets.kind === 'relation' && sets.of === 'none') return right
  if (sets.kind === 'relation' || sets.operator === '&&') return right ?? left
  return left === undefined || right === undefined ? undefined : { kind: 'or', of: [left, right] }
}

function hintOfField(field: Field): SpanHint | undefined {
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
  if (attribute.scope === 'intrinsic') return hintOfIntrinsic(attribute, operator, value)
  if (operator === '=' && value.type === 'string' && value.value !== '') return holds(attribute, value.value)
  if (operator === 'reads' && value.type === 'string' && Number.isNaN(Number(value.value)))
    return value.value === 'true' || value.value === 'false' ? undefined : holds(attribute, value.value)
  return operator === 'reads' || operator === 'contains' ? undefined : hasKey(attribute)
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
  // A sender without a service name has an empty one.
  const isService = name === 'service.name' && (scope === 'resource' || scope === 'any')
  return scope === 'intrinsic' || name === '' || isService ? undefined : holds(attribute, name)
}

/**
 * Whether the stored bytes contain the text of an attribute. Attributes that Causeway adds when it sends a span are not in the stored
 * bytes: no hint for those.
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
