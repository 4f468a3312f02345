import type { Condition } from './conditions.ts'
import { ABSENT, compileField } from './evaluate-field.ts'
import type { MatchingEffort } from './regular-expression.ts'
import { stringOf } from './static-values.ts'
import type { Attribute, Field, Static, Type } from './syntax.ts'
import { staticOf, staticOfValues, type StoredAttribute } from './trace-data.ts'

/** Whether a value is read. Undefined: every value is. */
type Accepts = ((value: Static) => boolean) | undefined

const VALUE: Attribute = { kind: 'attribute', scope: 'any', name: '' }

/** Which values of an attribute a condition reads. */
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

/** What was read of a span, an event and so on: values by attribute. */
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

  /** `all`: the span is skipped if one condition is not met. */
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

  /** There are no conditions. */
  get isEmpty(): boolean {
    return this.#accepts.size === 0 && this.#absent.length === 0
  }

  /** False if a required attribute is missing. */
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

/** A column that every span has, or that Tempo keeps for a common attribute. All conditions about it read it together. */
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

  /** For a span without events or links: reads the value that represents none, if a condition accepts any value. */
  readNothing(none: Static, into: Read[]): boolean {
    if (this.#readsAny) into.push({ attribute: this.#attribute, value: none })
    return this.#readsAny
  }

  /** Undefined represents a missing value. False if a value is required and this one does not match. */
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
