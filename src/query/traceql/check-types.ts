import { compileField, MAX_EXPRESSIONS, regularExpression } from './evaluate-field.ts'
import { areMatching, givesBoolean, isNumeric, NIL, takes } from './static-values.ts'
import {
  type Aggregate,
  type Attribute,
  type Field,
  type IntrinsicName,
  type Metric,
  type Operator,
  type Pipeline,
  type Query,
  type Scalar,
  type SecondStage,
  type Spansets,
  type Stage,
  TraceQlError,
  type Type,
} from './syntax.ts'

const TYPES: Readonly<Record<IntrinsicName, Type>> = {
  duration: 'duration',
  name: 'string',
  status: 'status',
  statusMessage: 'string',
  kind: 'kind',
  rootName: 'string',
  rootServiceName: 'string',
  traceDuration: 'duration',
  nestedSetLeft: 'int',
  nestedSetRight: 'int',
  nestedSetParent: 'int',
  'trace:id': 'string',
  'span:id': 'string',
  'span:parentID': 'string',
  'span:childCount': 'int',
  'event:name': 'string',
  'event:timeSinceStart': 'duration',
  'link:traceID': 'string',
  'link:spanID': 'string',
  // As in Tempo, these may be compared with a value of any type.
  'instrumentation:name': 'attribute',
  'instrumentation:version': 'attribute',
  start: 'int',
}

/** The type of a field; `attribute` if it depends on the span. */
function typeOf(field: Field): Type {
  switch (field.kind) {
    case 'static':
      return field.value.type
    case 'attribute':
      return field.scope === 'intrinsic' ? TYPES[field.name] : 'attribute'
    case 'binary': {
      if (givesBoolean(field.operator)) return 'boolean'
      const left = typeOf(field.left)
      return left === 'attribute' ? typeOf(field.right) : left
    }
    case 'unary':
      return field.operator === 'exists' || field.operator === 'absent' ? 'boolean' : typeOf(field.of)
  }
}

/** Whether the value of a field depends on the span. */
function looksAtSpan(field: Field): boolean {
  switch (field.kind) {
    case 'static':
      return false
    case 'attribute':
      return true
    case 'binary':
      return looksAtSpan(field.left) || looksAtSpan(field.right)
    case 'unary':
      return looksAtSpan(field.of)
  }
}

/** Throws TraceQlError if an operator does not accept its operands. */
function checkField(field: Field): void {
  if (field.kind === 'binary') {
    checkField(field.left)
    checkField(field.right)
    checkOperation(field)
  } else if (field.kind === 'unary') {
    checkField(field.of)
    checkUnary(field)
  }
}

/** Checks one operation; its operands have been checked before. */
function checkOperation({ operator, left, right }: Extract<Field, { kind: 'binary' }>): void {
  const types: [Type, Type] = [typeOf(left), typeOf(right)]
  checkSides(operator, types)
  if (operator !== '=~' && operator !== '!~') return
  if (right.kind !== 'static' || right.value.type !== 'string')
    throw new TraceQlError(`${operator} takes a text in quotes on its right`)
  const expression = regularExpression(right.value.value)
  if ('wrong' in expression) {
    const shown = JSON.stringify(right.value.value.slice(0, 60))
    throw new TraceQlError(`not a regular expression that can be taken: ${shown}: ${expression.wrong}`)
  }
}

function checkSides(operator: Parameters<typeof takes>[0], [left, right]: [Type, Type]): void {
  if (!areMatching(left, right))
    throw new TraceQlError(
      `${operator} cannot stand between ${nameOf(left)} and ${nameOf(right)}: write two of one kind, and texts in quotes`,
    )
  const wrong = [left, right].find((type) => !takes(operator, type))
  if (wrong !== undefined)
    throw new TraceQlError(`${operator} does not take ${nameOf(wrong)}: compare it with = or !=`)
}

function checkUnary({ operator, of }: Extract<Field, { kind: 'unary' }>): void {
  if (operator === 'absent' && of.kind === 'attribute') {
    const isService = of.scope === 'resource' && of.name === 'service.name'
    if (of.scope === 'intrinsic' || isService)
      throw new TraceQlError(`${of.name} is never nil; compare it with a value`)
  }
  const type = typeOf(of)
  if (type === 'attribute' || operator === 'exists' || operator === 'absent') return
  if (operator === '-' ? !isNumeric(type) : type !== 'boolean')
    throw new TraceQlError(`${operator} does not take ${nameOf(type)}`)
}

const NAMES: Readonly<Partial<Record<Type, string>>> = {
  int: 'a number',
  ints: 'several numbers',
  float: 'a number',
  floats: 'several numbers',
  string: 'a text',
  strings: 'several texts',
  boolean: 'true or false',
  booleans: 'true or false',
  duration: 'a duration',
  status: 'a status',
  kind: 'a kind of span',
  nil: 'nil',
}
export const nameOf = (type: Type): string => NAMES[type] ?? 'an attribute'

/** Throws TraceQlError if a query is meaningless or not supported. */
export function checkQuery({ pipeline, metric, seconds }: Query): void {
  const count = countExpressions(pipeline) + (metric?.kind === 'compare' ? countIn(metric.field) : 0)
  if (count > MAX_EXPRESSIONS)
    throw new TraceQlError(
      `a query may have at most ${MAX_EXPRESSIONS} regular expressions, and this one has ${count}: join some, as in =~ "a|b"`,
    )
  checkPipeline(pipeline)
  if (metric === undefined) return
  checkMetric(metric)
  checkSeconds(metric, seconds)
}

function checkSeconds(metric: Metric, seconds: readonly SecondStage[]): void {
  if (metric.kind === 'compare' && seconds.length > 0)
    throw new TraceQlError('nothing can come after compare(): leave out what follows it')
  for (const second of seconds)
    if (second.kind !== 'keep' && second.limit <= 0)
      throw new TraceQlError(`${second.kind}() takes a number above 0`)
}

function checkMetric(metric: Metric): void {
  if (metric.kind === 'compare') {
    checkFilter(metric.field)
    if (metric.top <= 0) throw new TraceQlError('compare() takes a number above 0')
    const isTimed = metric.from !== 0n || metric.to !== 0n
    if (isTimed && (metric.from === 0n || metric.to <= metric.from))
      throw new TraceQlError(
        'compare() takes a start before its end, both in nanoseconds since 1970: give both, or none',
      )
    return
  }
  const { name, by } = metric
  // As in Tempo, the value that these functions measure counts as one of the attributes.
  const isWide = name === 'avg_over_time' || name === 'histogram_over_time' || name === 'quantile_over_time'
  const most = isWide ? MAX_GROUPINGS - 1 : MAX_GROUPINGS
  if (by.length > most)
    throw new TraceQlError(
      `${name}() may be grouped by at most ${most} attributes, and got ${by.length}: leave some out`,
    )
  if (metric.quantiles.length > MAX_QUANTILES)
    throw new TraceQlError(
      `quantile_over_time() takes at most ${MAX_QUANTILES} quantiles, and got ${metric.quantiles.length}: leave some out`,
    )
  const wrong = metric.quantiles.find((quantile) => !(quantile >= 0 && quantile <= 1))
  if (wrong !== undefined) throw new TraceQlError(`quantiles lie between 0 and 1; got ${wrong}`)
}
const MAX_GROUPINGS = 5
const MAX_QUANTILES = 10

function checkPipeline({ stages }: Pipeline): void {
  for (const stage of stages) checkStage(stage)
}

function checkStage(stage: Stage): void {
  switch (stage.kind) {
    case 'by':
      if (!looksAtSpan(stage.field))
        throw new TraceQlError('by() takes something that spans have, such as by(name)')
      checkField(stage.field)
      return
    case 'scalarFilter':
      checkScalarFilter(stage)
      return
    case 'aggregate':
      checkAggregate(stage)
      return
    case 'coalesce':
    case 'select':
      return
    case 'filter':
    case 'logic':
    case 'relation':
    case 'pipeline':
      checkSpansets(stage)
  }
}

function checkSpansets(sets: Spansets): void {
  if (sets.kind === 'filter') checkFilter(sets.field)
  else if (sets.kind === 'pipeline') checkPipeline(sets)
  else {
    checkSpansets(sets.left)
    checkSpansets(sets.right)
  }
}

function checkFilter(field: Field): void {
  checkField(field)
  const type = typeOf(field)
  if (type !== 'attribute' && type !== 'boolean')
    throw new TraceQlError(`{ } takes what is true or false; got ${nameOf(type)}`)
}

function checkScalarFilter({ operator, left, right }: Extract<Stage, { kind: 'scalarFilter' }>): void {
  checkSides(operator, [typeOfScalar(left), typeOfScalar(right)])
  if (left.kind !== 'aggregate' || right.kind !== 'static')
    throw new TraceQlError(
      'an aggregate is compared with a number: write the aggregate first, as in count() > 2',
    )
}

function typeOfScalar(scalar: Scalar): Type {
  switch (scalar.kind) {
    case 'static':
      return scalar.value.type
    case 'aggregate':
      checkAggregate(scalar)
      return scalar.of === undefined ? 'int' : typeOf(scalar.of)
    case 'pipeline': {
      checkPipeline(scalar)
      const last = scalar.stages.at(-1)
      return last?.kind === 'aggregate' ? typeOfScalar(last) : 'attribute'
    }
    case 'scalar': {
      const types: [Type, Type] = [typeOfScalar(scalar.left), typeOfScalar(scalar.right)]
      checkSides(scalar.operator, types)
      return types[0] === 'attribute' ? types[1] : types[0]
    }
  }
}

function checkAggregate({ operator, of }: Aggregate): void {
  if (of === undefined) return
  checkField(of)
  const type = typeOf(of)
  if (type !== 'attribute' && !isNumeric(type))
    throw new TraceQlError(`${operator}() takes numbers; got ${nameOf(type)}`)
  if (!looksAtSpan(of))
    throw new TraceQlError(`${operator}() takes something that spans have, such as ${operator}(duration)`)
}

function countExpressions({ stages }: Pipeline): number {
  return stages.reduce((count, stage) => count + countInStage(stage), 0)
}

function countInStage(stage: Stage): number {
  switch (stage.kind) {
    case 'filter':
    case 'by':
      return countIn(stage.field)
    case 'pipeline':
      return countExpressions(stage)
    case 'logic':
    case 'relation':
      return countInStage(stage.left) + countInStage(stage.right)
    case 'scalarFilter':
    case 'coalesce':
    case 'select':
    case 'aggregate':
      return 0
  }
}

function countIn(field: Field): number {
  if (field.kind === 'unary') return countIn(field.of)
  if (field.kind !== 'binary') return 0
  const own = field.operator === '=~' || field.operator === '!~' ? 1 : 0
  return own + countIn(field.left) + countIn(field.right)
}

/** An attribute in query syntax. */
export function nameOfAttribute({ scope, name }: Attribute): string {
  if (scope === 'intrinsic') return name
  const quoted = /[\s{}()=~!<>&|^,]/u.test(name) ? `"${name}"` : name
  return scope === 'any' ? `.${quoted}` : `${scope}.${quoted}`
}

/** An operation; replaced by its result if that does not depend on a span. */
export function foldedBinary(operator: Operator, left: Field, right: Field): Field {
  const made = {
    kind: 'binary' as const,
    operator,
    left: isTraceId(right) ? withoutZeros(left) : left,
    right: isTraceId(left) ? withoutZeros(right) : right,
  }
  return folded(made)
}

export function foldedUnary(operator: Extract<Field, { kind: 'unary' }>['operator'], of: Field): Field {
  return folded({ kind: 'unary', operator, of })
}

/** Replaces a field that does not depend on the span by its value. A field without a value, such as 1 / 0, stays: it fails later. */
function folded(field: Field): Field {
  if (looksAtSpan(field)) return field
  try {
    checkField(field)
    return { kind: 'static', value: compileField(field)({ valueOf: () => NIL }) }
  } catch (error) {
    if (error instanceof TraceQlError) return field
    throw error
  }
}

const isTraceId = (field: Field): boolean =>
  field.kind === 'attribute' && field.scope === 'intrinsic' && field.name === 'trace:id'

/** Trace ids are compared without leading zeros. */
function withoutZeros(field: Field): Field {
  if (field.kind !== 'static' || field.value.type !== 'string') return field
  return { kind: 'static', value: { type: 'string', value: field.value.value.replace(/^0+/, '') } }
}
