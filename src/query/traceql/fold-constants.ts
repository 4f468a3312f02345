import { checkOperation, checkUnary, looksAtSpan } from './check-types.ts'
import { compileField } from './evaluate-field.ts'
import { NIL } from './static-values.ts'
import { type Field, type Operator, TraceQlError } from './syntax.ts'

/** An operation, or what comes of it where that is known without a span. */
export function foldedBinary(operator: Operator, left: Field, right: Field): Field {
  const made = {
    kind: 'binary' as const,
    operator,
    left: isTraceId(right) ? withoutZeros(left) : left,
    right: isTraceId(left) ? withoutZeros(right) : right,
  }
  return folded(made, () => checkOperation(made))
}

export function foldedUnary(operator: Extract<Field, { kind: 'unary' }>['operator'], of: Field): Field {
  const made = { kind: 'unary' as const, operator, of }
  return folded(made, () => checkUnary(made))
}

/** What cannot be worked out stays, and is refused or fails where it is asked. */
function folded(field: Field, check: () => void): Field {
  if (looksAtSpan(field)) return field
  try {
    check()
    return { kind: 'static', value: compileField(field)({ valueOf: () => NIL }) }
  } catch (error) {
    if (error instanceof TraceQlError) return field
    throw error
  }
}

const isTraceId = (field: Field): boolean =>
  field.kind === 'attribute' && field.scope === 'intrinsic' && field.name === 'trace:id'

/** Trace ids are compared without the zeros before them. */
function withoutZeros(field: Field): Field {
  if (field.kind !== 'static' || field.value.type !== 'string') return field
  return { kind: 'static', value: { type: 'string', value: field.value.value.replace(/^0+/, '') } }
}
