import { foldedBinary, nameOf } from './check-types.ts'
import { ABSENT, compileField, type MatchingEffort } from './evaluate-field.ts'
import { givesBoolean, joined, stringOf } from './static-values.ts'
import {
  type Attribute,
  type Field,
  type IntrinsicName,
  type ListOperator,
  type Operator,
  type Pipeline,
  type Relation,
  type Scalar,
  type Spansets,
  type Stage,
  type Static,
  TraceQlError,
  type Type,
} from './syntax.ts'
import { staticOf, staticOfValues, type StoredAttribute } from './trace-data.ts'

/** An attribute to read from spans, and the values to read. The query sees no other values. */
export interface Condition {
  readonly attribute: Attribute
  /** `any`: every value matches. `exists`, `absent`: whether the attribute is present. */
  readonly operator: 'any' | 'exists' | 'absent' | Operator
  readonly operand?: Static
}

/**
 * What a pipeline reads of spans. As in Tempo this is part of a query's meaning: spans that meet none of the conditions are skipped, and
 * if `all` is true also those that do not meet all of them.
 */
export interface Conditions {
  readonly list: readonly Condition[]
  readonly all: boolean
  /** Attributes that are read only for the answer. */
  readonly selected: readonly Attribute[]
  /** Whether the query needs the positions of spans in the tree, as { } >> { } does. */
  readonly relates: boolean
}

export function conditionsOf(pipeline: Pipeline): Conditions {
  const gathered = new Gathering()
  gathered.pipeline(pipeline)
  return gathered.conditions
}

class Gathering {
  readonly #list: Condition[] = []
  readonly #selected: Attribute[] = []
  readonly #places = new Set<string>()
  #all = true
  #relates = false

  get conditions(): Conditions {
    // Relations read their columns with any value.
    const places = this.#list.filter(
      ({ attribute: { scope, name } }) => scope === 'intrinsic' && this.#places.has(name),
    )
    const list = [...this.#list, ...places.map(({ attribute }) => ({ attribute, operator: 'any' as const }))]
    return { list, all: this.#all, selected: this.#selected, relates: this.#relates }
  }

  pipeline({ stages }: Pipeline): void {
    const select = stages.findIndex(({ kind }) => kind === 'select')
    const before = select < 0 ? stages : stages.slice(0, select + 1)
    for (const stage of before) this.#stage(stage)
    // What follows select() is read only for the answer, as in Tempo.
    const after = new Gathering()
    for (const stage of stages.slice(before.length)) after.#stage(stage)
    this.#selected.push(...after.#list.map(({ attribute }) => attribute), ...after.#selected)
  }

  #stage(stage: Stage): void {
    switch (stage.kind) {
      case 'by':
        this.#field(stage.field)
        this.#all = false
        return
      case 'select':
        this.#selected.push(...stage.attributes)
        return
      case 'scalarFilter':
        this.#scalar(stage.left)
        this.#scalar(stage.right)
        return
      case 'aggregate':
        this.#scalar(stage)
        return
      case 'coalesce':
        return
      case 'filter':
      case 'logic':
      case 'relation':
      case 'pipeline':
        this.#spansets(stage)
    }
  }

  #scalar(scalar: Scalar): void {
    if (scalar.kind === 'aggregate') {
      this.#all = false
      if (scalar.of !== undefined) this.#field(scalar.of)
    } else if (scalar.kind === 'scalar') {
      this.#scalar(scalar.left)
      this.#scalar(scalar.right)
    } else if (scalar.kind === 'pipeline') this.pipeline(scalar)
  }

  #spansets(sets: Spansets): void {
    if (sets.kind === 'pipeline') this.pipeline(sets)
    else if (sets.kind === 'filter') this.#filter(sets.field)
    else {
      if (sets.kind === 'relation') {
        this.#relates = true
        for (const place of PLACES[sets.relation]) this.#places.add(place)
      }
      this.#spansets(sets.left)
      this.#spansets(sets.right)
      this.#all = false
    }
  }

  /** A filter such as { true } reads nothing of a span. It still needs a condition, since spans that meet none are skipped. */
  #filter(field: Field): void {
    this.#field(field)
    if (field.kind !== 'static' || field.value.type !== 'boolean' || !field.value.value) return
    // Positions in the tree are already read from all spans.
    if (this.#relates) return
    if (this.#list.some(({ attribute, operator }) => attribute.scope === 'intrinsic' && operator === 'any'))
      return
    this.#list.push(EVERY_SPAN)
  }

  #field(field: Field): void {
    if (field.kind === 'attribute') this.#list.push({ attribute: field, operator: 'any' })
    else if (field.kind === 'unary') this.#unary(field)
    else if (field.kind === 'binary') this.#binary(field)
  }

  #unary({ operator, of }: Extract<Field, { kind: 'unary' }>): void {
    if (of.kind !== 'attribute' || operator === '!' || operator === '-') this.#field(of)
    else this.#list.push({ attribute: of, operator })
  }

  #binary({ operator, left, right }: Extract<Field, { kind: 'binary' }>): void {
    if (left.kind === 'attribute' && right.kind === 'static') this.#compared(left, operator, right.value)
    else if (left.kind === 'static' && right.kind === 'attribute') this.#compared(right, operator, left.value)
    else {
      this.#field(left)
      this.#field(right)
      const isOfParts = left.kind !== 'attribute' && left.kind !== 'static'
      if (isOfParts && operator === '||') this.#all = false
    }
  }

  #compared(attribute: Attribute, operator: Operator, operand: Static): void {
    const isUnread =
      !givesBoolean(operator) ||
      operator === '&&' ||
      operator === '||' ||
      operator === 'contains' ||
      operator === 'reads'
    this.#list.push(isUnread ? { attribute, operator: 'any' } : { attribute, operator, operand })
  }
}

/** Every span meets this condition: it reads the start, which has no name in queries. */
const EVERY_SPAN: Condition = {
  attribute: { kind: 'attribute', scope: 'intrinsic', name: 'start' },
  operator: 'any',
}

const PLACES: Readonly<Record<Relation, readonly IntrinsicName[]>> = {
  descendant: ['nestedSetLeft', 'nestedSetRight'],
  ancestor: ['nestedSetLeft', 'nestedSetRight'],
  child: ['nestedSetLeft', 'nestedSetParent'],
  parent: ['nestedSetLeft', 'nestedSetParent'],
  sibling: ['nestedSetParent'],
}

const LISTS: readonly { outer: Operator; inner: Operator; list: ListOperator; ofTexts: boolean }[] = [
  { outer: '||', inner: '=', list: 'in', ofTexts: false },
  { outer: '&&', inner: '!=', list: 'notIn', ofTexts: false },
  { outer: '||', inner: '=~', list: 'matchesAny', ofTexts: true },
  { outer: '&&', inner: '!~', list: 'matchesNone', ofTexts: true },
]

/** Turns `a = 1 || a = 2` into one condition with a list, which reads less. The meaning is the same unless spans have lists. */
export function withLists(pipeline: Pipeline): Pipeline {
  return { kind: 'pipeline', stages: pipeline.stages.map(stageWithLists) }
}

function stageWithLists(stage: Stage): Stage {
  switch (stage.kind) {
    case 'by':
      return { ...stage, field: fieldWithLists(stage.field) }
    case 'scalarFilter':
      return { ...stage, left: scalarWithLists(stage.left), right: scalarWithLists(stage.right) }
    case 'coalesce':
    case 'select':
    case 'aggregate':
      return stage
    case 'filter':
    case 'logic':
    case 'relation':
    case 'pipeline':
      return spansetsWithLists(stage)
  }
}

function scalarWithLists(scalar: Scalar): Scalar {
  if (scalar.kind === 'aggregate')
    return scalar.of === undefined ? scalar : { ...scalar, of: fieldWithLists(scalar.of) }
  if (scalar.kind === 'pipeline') return withLists(scalar)
  return scalar.kind === 'static'
    ? scalar
    : { ...scalar, left: scalarWithLists(scalar.left), right: scalarWithLists(scalar.right) }
}

function spansetsWithLists(sets: Spansets): Spansets {
  if (sets.kind === 'filter') return { ...sets, field: fieldWithLists(sets.field) }
  if (sets.kind === 'pipeline') return withLists(sets)
  return { ...sets, left: spansetsWithLists(sets.left), right: spansetsWithLists(sets.right) }
}

function fieldWithLists(field: Field): Field {
  if (field.kind !== 'binary') return field
  const { operator } = field
  const [left, right] = [fieldWithLists(field.left), fieldWithLists(field.right)]
  for (const { outer, inner, list, ofTexts } of LISTS) {
    if (operator !== outer) continue
    const [first, second] = [comparisonOf(left, inner, list), comparisonOf(right, inner, list)]
    if (first === undefined || second === undefined || !isSame(first.attribute, second.attribute)) continue
    const isTexts = [first.value, second.value].every(({ type }) => type === 'string' || type === 'strings')
    const both = ofTexts && !isTexts ? undefined : joined(first.value, second.value)
    if (both === undefined) continue
    return { kind: 'binary', operator: list, left: first.attribute, right: { kind: 'static', value: both } }
  }
  return foldedBinary(operator, left, right)
}

function comparisonOf(
  field: Field,
  ...operators: readonly Operator[]
): { attribute: Attribute; value: Static } | undefined {
  if (field.kind !== 'binary' || !operators.includes(field.operator)) return undefined
  const { left, right } = field
  if (left.kind === 'attribute' && right.kind === 'static') return { attribute: left, value: right.value }
  if (left.kind === 'static' && right.kind === 'attribute') return { attribute: right, value: left.value }
  return undefined
}

export const isSame = (one: Attribute, other: Attribute): boolean =>
  one.scope === other.scope && one.name === other.name

const INTEGERS: readonly Type[] = ['int', 'ints', 'duration', 'status', 'kind']
const TEXTS: readonly Type[] = ['string', 'strings']
const IDS: readonly string[] = ['span:id', 'span:parentID', 'link:traceID', 'link:spanID', 'trace:id']
const OF_IDS: readonly string[] = ['=', '!=', 'in', 'notIn', 'any', 'exists']
const IN_TEXTS: readonly string[] = [
  'name',
  'statusMessage',
  'rootName',
  'rootServiceName',
  'event:name',
  'instrumentation:name',
  'instrumentation:version',
]

/** Refuses what Tempo refuses: it keeps each intrinsic in a column of one type, and compares it only with values of that type. */
function checkOperand({ attribute: { scope, name }, operator, operand }: Condition): void {
  if (scope !== 'intrinsic') return
  if (IDS.includes(name)) {
    // A text that is not an id is compared as a string.
    if (!OF_IDS.includes(operator) && (operand === undefined || areIds(name, textsOf(operand))))
      throw new TraceQlError(`${name} can only be compared with = and !=, and not with ${operator}`)
  } else if (operand !== undefined) {
    const isDuration = name === 'duration' || name === 'traceDuration'
    const taken = IN_TEXTS.includes(name) ? TEXTS : isDuration ? [...INTEGERS, 'float', 'floats'] : INTEGERS
    if (taken.includes(operand.type)) return
    const wanted =
      taken === TEXTS ? 'a text in quotes' : isDuration ? 'a duration such as 1.5ms' : 'a whole number'
    throw new TraceQlError(`${name} cannot be compared with ${nameOf(operand.type)}: write ${wanted}`)
  }
}

/** Throws TraceQlError if a condition is not supported. */
export function checkConditions({ list }: Conditions): void {
  for (const condition of list) checkOperand(condition)
}

/** Whether to read a value. Undefined: read any value. */
type Accepts = ((value: Static) => boolean) | undefined

const VALUE: Attribute = { kind: 'attribute', scope: 'any', name: '' }

/** Which values of an attribute a condition reads. */
function acceptedBy({ attribute, operator, operand }: Condition, effort: MatchingEffort): Accepts {
  if (operand === undefined || operator === 'any' || operator === 'exists' || operator === 'absent')
    return undefined
  if (attribute.scope === 'intrinsic' && IDS.includes(attribute.name))
    return acceptedId(attribute.name, operator, operand)
  if (attribute.scope === 'intrinsic' && isMetByNoNumber(operator, operand)) return undefined
  const field: Field = {
    kind: 'binary',
    operator,
    left: VALUE,
    right: { kind: 'static', value: operand },
  }
  const evaluate = compileField(field, effort)
  return (value) => {
    const result = evaluate({ valueOf: () => value })
    return result.type === 'boolean' && result.value
  }
}

/** Ids are compared as bytes: leading zeros make no difference. A text that is not an id equals none. */
function acceptedId(name: string, operator: Operator, operand: Static): Accepts {
  const texts = textsOf(operand)
  if (!areIds(name, texts)) return undefined
  const sought = new Set(texts.map(withoutZeros))
  const wants = operator === '=' || operator === 'in'
  return (value) => value.type === 'string' && sought.has(withoutZeros(value.value)) === wants
}

const textsOf = (operand: Static): readonly string[] =>
  operand.type === 'string' ? [operand.value] : operand.type === 'strings' ? operand.value : []

function areIds(name: string, texts: readonly string[]): boolean {
  const isId = /trace/i.test(name) ? TRACE_ID : SPAN_ID
  return texts.every((text) => isId.test(text))
}

/** Whether any value is read: also in comparisons with a text that is not an id, or a number that no duration equals. */
function readsAny({ attribute: { scope, name }, operator, operand }: Condition): boolean {
  if (operator === 'any') return true
  if (scope !== 'intrinsic' || operand === undefined) return false
  if (IDS.includes(name)) return !areIds(name, textsOf(operand))
  return isMetByNoNumber(operator, operand)
}

/** Whether no integer of nanoseconds can meet the comparison. */
function isMetByNoNumber(operator: Condition['operator'], operand: Static): boolean {
  if (operand.type === 'floats') return operator === 'in' && !operand.value.some(isWhole64)
  if (operand.type !== 'float') return false
  const { value } = operand
  if (operator === '=') return !isWhole64(value)
  if (operator === '>' || operator === '>=') return value >= 2 ** 63
  return (operator === '<' || operator === '<=') && value < -(2 ** 63)
}

const isWhole64 = (value: number): boolean =>
  Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63

const TRACE_ID = /^[0-9a-f]{0,32}$/i
const SPAN_ID = /^[0-9a-f]{0,16}$/i
const withoutZeros = (id: string): string => id.toLowerCase().replace(/^0+/, '')

const COLUMNS: Readonly<Partial<Record<Type, StoredAttribute['column']>>> = {
  string: 'string',
  strings: 'string',
  int: 'int',
  ints: 'int',
  float: 'float',
  floats: 'float',
  boolean: 'boolean',
  booleans: 'boolean',
}
const ALL_COLUMNS = ['string', 'int', 'float', 'boolean'] as const

/** A value read from a span, event, link, resource or scope. */
export interface Read {
  readonly attribute: Attribute
  readonly value: Static
}

/**
 * Reads attributes of one scope as Tempo does. Tempo keeps each type of value in a column of its own, so a condition reads only values of
 * its own type: 500 does not find 500.0. Conditions about several attributes share a column.
 */
export class AttributeFetch {
  readonly #scope: Exclude<Attribute['scope'], 'any' | 'intrinsic'>
  readonly #keys = new Set<string>()
  readonly #accepts = new Map<StoredAttribute['column'], Accepts[]>()
  readonly #absent: string[] = []
  readonly #isStrict: boolean

  /** `all`: whether spans that do not meet all conditions are skipped. */
  constructor(
    scope: Exclude<Attribute['scope'], 'any' | 'intrinsic'>,
    conditions: readonly Condition[],
    { all, effort }: { all: boolean; effort: MatchingEffort },
  ) {
    this.#scope = scope
    for (const condition of conditions) {
      const { attribute, operator, operand } = condition
      if (operator === 'absent') this.#absent.push(attribute.name)
      else {
        this.#keys.add(attribute.name)
        const column = operand && COLUMNS[operand.type]
        const columns = operand === undefined ? ALL_COLUMNS : column === undefined ? [] : [column]
        const accepts = acceptedBy(condition, effort)
        for (const one of columns) this.#accepts.set(one, [...(this.#accepts.get(one) ?? []), accepts])
      }
    }
    this.#isStrict = all && this.#accepts.size === 1
  }

  /** Whether there are no conditions. */
  get isEmpty(): boolean {
    return this.#accepts.size === 0 && this.#absent.length === 0
  }

  /** Reads values into `into`. Returns false if a required attribute is missing. */
  read(attributes: readonly StoredAttribute[], all: boolean, into: Read[]): boolean {
    let found = 0
    if (this.#accepts.size > 0)
      for (const attribute of attributes) {
        if (!this.#keys.has(attribute.key)) continue
        const values = this.#valuesOf(attribute)
        if (values.length === 0 && this.#isStrict) continue
        found++
        into.push({ attribute: this.#named(attribute.key), value: staticOfValues(attribute.column, values) })
      }
    if (all && this.#accepts.size > 0 && found === 0) return false
    for (const name of this.#absent) {
      // Tempo does not report an attribute as missing if there are no attributes at all.
      if (attributes.length === 0 || attributes.some(({ key }) => key === name)) {
        if (all) return false
      } else into.push({ attribute: this.#named(name), value: ABSENT_VALUE })
    }
    return true
  }

  #valuesOf({ column, values }: StoredAttribute): readonly (string | bigint | number | boolean)[] {
    const accepts = this.#accepts.get(column)
    if (accepts === undefined || column === 'other') return []
    if (accepts.includes(undefined)) return values
    return values.filter((value) => accepts.some((accept) => accept?.(staticOf(column, value))))
  }

  #named(name: string): Attribute {
    return { kind: 'attribute', scope: this.#scope, name }
  }
}

export const ABSENT_VALUE = stringOf(ABSENT)

/** Reads a column: an intrinsic, or an attribute for which Tempo has a column of its own. All conditions on it are read together. */
export class ColumnFetch {
  readonly #attribute: Attribute
  readonly #accepts: Accepts[] = []
  readonly #readsAny: boolean
  readonly #wantsAbsent: boolean
  readonly #wantsValue: boolean

  constructor(attribute: Attribute, conditions: readonly Condition[], effort: MatchingEffort) {
    this.#attribute = attribute
    this.#readsAny = conditions.some(readsAny)
    this.#wantsAbsent = conditions.some(({ operator }) => operator === 'absent')
    const others = conditions.filter(({ operator }) => operator !== 'absent')
    this.#wantsValue = others.length > 0
    for (const condition of others) this.#accepts.push(acceptedBy(condition, effort))
  }

  /** For a span without events or links: reads the value that represents none, if a condition accepts any value. */
  readNothing(none: Static, into: Read[]): boolean {
    if (this.#readsAny) into.push({ attribute: this.#attribute, value: none })
    return this.#readsAny
  }

  /** Reads a value into `into`; undefined is a missing value. Returns false if a value is required and this one does not match. */
  read(value: Static | undefined, into: Read[]): boolean {
    if (value === undefined) {
      if (!this.#readsAny && !this.#wantsAbsent) return false
      into.push({ attribute: this.#attribute, value: ABSENT_VALUE })
      return !(this.#wantsAbsent && this.#wantsValue && !this.#readsAny)
    }
    if (!this.#wantsValue || !this.#accepts.some((accept) => accept === undefined || accept(value)))
      return false
    into.push({ attribute: this.#attribute, value })
    return !this.#wantsAbsent
  }
}
