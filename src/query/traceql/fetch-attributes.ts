import type { Condition } from './conditions.ts'
import { ABSENT, compileField } from './evaluate-field.ts'
import type { MatchingEffort } from './regular-expression.ts'
import { stringOf } from './static-values.ts'
import type { Attribute, Field, Static, Type } from './syntax.ts'
import { staticOf, staticOfValues, type StoredAttribute } from './trace-data.ts'

/** Whether a value is read. Undefined: every value is. */
type Accepts = ((value: Static) => boolean) | undefined

const VALUE: Attribute = { kind: 'attribute', scope: 'any', name: '' }

/** What a condition reads of the values of an attribute. */
function acceptedBy({ operator, operand }: Condition, effort: MatchingEffort): Accepts {
  if (operand === undefined || operator === 'any' || operator === 'exists' || operator === 'absent')
    return undefined
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

/** What was read of a span, its events and so on: values by attribute. */
export interface Read {
  readonly attribute: Attribute
  readonly value: Static
}

/**
 * Reads attributes of one scope as Tempo does. There each type of value has a column of its own, so that a condition reads
 * values of its own type alone: 500 does not find 500.0. Conditions about several attributes read a column together.
 */
export class AttributeFetch {
  readonly #scope: Exclude<Attribute['scope'], 'any' | 'intrinsic'>
  readonly #keys = new Set<string>()
  readonly #accepts = new Map<StoredAttribute['column'], Accepts[]>()
  readonly #absent: string[] = []
  readonly #isStrict: boolean

  /** `all`: a condition that is not met is reason enough to pass the span over. */
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

  /** Nothing is asked for. */
  get isEmpty(): boolean {
    return this.#accepts.size === 0 && this.#absent.length === 0
  }

  /** False where something is required that is not there. */
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
      // Tempo finds nothing missing where there is no attribute at all.
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

/**
 * A column that every span has, or that Tempo keeps for an attribute that most have: all conditions about it read it together.
 */
export class ColumnFetch {
  readonly #attribute: Attribute
  readonly #accepts: Accepts[] = []
  readonly #readsAny: boolean
  readonly #wantsAbsent: boolean
  readonly #wantsValue: boolean

  constructor(attribute: Attribute, conditions: readonly Condition[], effort: MatchingEffort) {
    this.#attribute = attribute
    this.#readsAny = conditions.some(({ operator }) => operator === 'any')
    this.#wantsAbsent = conditions.some(({ operator }) => operator === 'absent')
    const others = conditions.filter(({ operator }) => operator !== 'absent')
    this.#wantsValue = others.length > 0
    for (const condition of others) this.#accepts.push(acceptedBy(condition, effort))
  }

  /** For a span without events or links: reads the value that stands for none, if a condition takes any value. */
  readNothing(none: Static, into: Read[]): boolean {
    if (this.#readsAny) into.push({ attribute: this.#attribute, value: none })
    return this.#readsAny
  }

  /** Undefined stands for a value that is not there. False where a value is required and not the one that is asked for. */
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
