import { RE2JS } from 're2js'
import { errorText } from '../../model/faults.ts'
import {
  areEqual,
  areMatching,
  booleanOf,
  calculate,
  compareTexts,
  durationOf,
  elementsOf,
  FALSE,
  flipped,
  floatOf,
  givesBoolean,
  intOf,
  isList,
  isNumeric,
  numberOf,
  takes,
  textOf,
} from './static-values.ts'
import {
  type Attribute,
  failsOnSpan,
  type Field,
  type Operator,
  type Static,
  TraceQlError,
} from './syntax.ts'

/** A span as the query sees it. */
export interface AttributeSource {
  valueOf(attribute: Attribute): Static
}

export type Evaluate = (span: AttributeSource) => Static

/** Compiles a field to a function that computes its value for a span. It throws TraceQlError if there is no value, as for 1 / 0. */
export function compileField(field: Field, effort = new MatchingEffort()): Evaluate {
  switch (field.kind) {
    case 'static': {
      const { value } = field
      return () => value
    }
    case 'attribute':
      return (span) => span.valueOf(field)
    case 'binary':
      return compileBinary(field, effort)
    case 'unary':
      return compileUnary(field, compileField(field.of, effort))
  }
}

function compileUnary({ operator }: Extract<Field, { kind: 'unary' }>, of: Evaluate): Evaluate {
  switch (operator) {
    case 'exists':
      return (span) => booleanOf(of(span).type !== 'nil')
    case 'absent':
      // A missing attribute is represented by this text (conditions.ts).
      return (span) => {
        const value = of(span)
        return booleanOf(value.type === 'string' && value.value === ABSENT)
      }
    case '!':
      return (span) => {
        const value = of(span)
        if (value.type !== 'boolean')
          throw failsOnSpan('! was asked of a span where it finds neither true nor false')
        return booleanOf(!value.value)
      }
    case '-':
      return (span) => {
        const value = of(span)
        if (value.type === 'int') return intOf(-value.value)
        if (value.type === 'duration') return durationOf(-value.value)
        if (value.type === 'float') return floatOf(-value.value)
        throw failsOnSpan('- was asked of a span where it finds no number')
      }
  }
}

/** The text that represents a missing attribute, if the query checks for that. */
export const ABSENT = 'nil'

function compileBinary(
  { operator, left, right }: Extract<Field, { kind: 'binary' }>,
  effort: MatchingEffort,
): Evaluate {
  const [ofLeft, ofRight] = [compileField(left, effort), compileField(right, effort)]
  const matches = new MemorizedMatches(effort)
  if (operator !== '&&' && operator !== '||')
    return (span) => operate(operator, ofLeft(span), ofRight(span), matches)
  const decides = operator === '||'
  // As in Tempo, `true || x` is true only if x is a boolean.
  const isDecided = !decides || isBoolean(right)
  return (span) => {
    const first = ofLeft(span)
    if (isDecided && first.type === 'boolean' && first.value === decides) return first
    return operate(operator, first, ofRight(span), matches)
  }
}

/** Whether the value of a field, if it has one, is a boolean. */
function isBoolean(field: Field): boolean {
  switch (field.kind) {
    case 'static':
      return field.value.type === 'boolean'
    case 'attribute':
      return false
    case 'binary':
      return givesBoolean(field.operator)
    case 'unary':
      return field.operator !== '-'
  }
}

function operate(operator: Operator, left: Static, right: Static, matches: MemorizedMatches): Static {
  if (!isTaken(operator, left, right)) return FALSE
  if (isList(left.type) || isList(right.type)) return operateOnList(operator, left, right, matches)
  return operateOnOne(operator, left, right, matches)
}

/** Whether an operator accepts two values. The text operators accept any value that is present. */
function isTaken(operator: Operator, left: Static, right: Static): boolean {
  if (operator === 'contains' || operator === 'reads') return left.type !== 'nil'
  return areMatching(left.type, right.type) && takes(operator, left.type) && takes(operator, right.type)
}

function operateOnOne(operator: Operator, left: Static, right: Static, matches: MemorizedMatches): Static {
  switch (operator) {
    case '=':
      return booleanOf(areEqual(left, right))
    case '!=':
      return booleanOf(left.type !== 'nil' && right.type !== 'nil' && !areEqual(left, right))
    case '>':
    case '>=':
    case '<':
    case '<=':
      return booleanOf(isOrdered(operator, left, right))
    case '=~':
    case '!~':
      return booleanOf(matches.of(textOf(right), textOf(left)) === (operator === '=~'))
    case '&&':
    case '||':
      if (left.type !== 'boolean' || right.type !== 'boolean') throw neither(operator)
      return operator === '&&' ? booleanOf(left.value && right.value) : booleanOf(left.value || right.value)
    case 'contains':
      return booleanOf(textOf(left).toLowerCase().includes(textOf(right).toLowerCase()))
    case 'reads':
      return booleanOf(readsAs(left, textOf(right)))
    case 'in':
    case 'notIn':
    case 'matchesAny':
    case 'matchesNone':
      throw new TraceQlError(`${operator} takes a list on its right`)
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '^':
      return calculate(operator, left, right)
  }
}

/** Whether a value equals a text. Numbers are compared by value, since they can be written in several ways. */
function readsAs(value: Static, text: string): boolean {
  return textOf(value) === text || (isNumeric(value.type) && text !== '' && Number(text) === numberOf(value))
}

const neither = (operator: string): TraceQlError =>
  failsOnSpan(`${operator} was asked of a span where it finds neither true nor false`)

function isOrdered(operator: '>' | '>=' | '<' | '<=', left: Static, right: Static): boolean {
  let order: number
  if (left.type === 'string' && right.type === 'string') order = compareTexts(left.value, right.value)
  else if (left.type === 'int' && right.type === 'int')
    order = left.value < right.value ? -1 : left.value > right.value ? 1 : 0
  else order = numberOf(left) - numberOf(right)
  if (operator === '>') return order > 0
  if (operator === '>=') return order >= 0
  return operator === '<' ? order < 0 : order <= 0
}

const FOR_ELEMENTS: Readonly<Partial<Record<Operator, Operator>>> = {
  in: '=',
  notIn: '!=',
  matchesAny: '=~',
  matchesNone: '!~',
}
/** Operators that are true for a list only if they are true for all elements; others need one element. */
const OF_ALL: readonly Operator[] = ['!=', '!~']

/** An operator between a list and a value is applied to each element. */
function operateOnList(operator: Operator, left: Static, right: Static, matches: MemorizedMatches): Static {
  if (isList(left.type) && isList(right.type))
    throw failsOnSpan('a span has a list of values on both sides of an operator')
  const ofElements = FOR_ELEMENTS[operator]
  if (ofElements === undefined && !COMPARES.includes(operator))
    throw failsOnSpan(`${operator} was asked of a span where it finds a list of values`)
  const isFlipped = isList(left.type)
  if (isFlipped && ofElements !== undefined) throw new TraceQlError(`${operator} takes a list on its right`)
  const [list, one] = isFlipped ? [left, right] : [right, left]
  const keepsSides = operator.includes('~') || operator === 'contains' || operator === 'reads'
  const asked = ofElements ?? (isFlipped && !keepsSides ? flipped(operator) : operator)
  const elements = elementsOf(list)
  const holds = (element: Static): boolean => {
    const [first, second] = isFlipped && keepsSides ? [element, one] : [one, element]
    if (!isTaken(asked, first, second)) return false
    const result = operateOnOne(asked, first, second, matches)
    return result.type === 'boolean' && result.value
  }
  return booleanOf(OF_ALL.includes(asked) ? elements.every(holds) : elements.some(holds))
}

const COMPARES: readonly Operator[] = [
  ...(['=', '!=', '>', '>=', '<', '<=', '=~', '!~', '&&', '||', 'contains', 'reads'] as const),
]

const MOST_KEPT = 1_000

/** Matches regular expressions, and caches the latest results. */
class MemorizedMatches {
  readonly #effort: MatchingEffort
  readonly #known = new Map<string, Map<string, boolean | undefined>>()

  constructor(effort: MatchingEffort) {
    this.#effort = effort
  }

  of(pattern: string, text: string): boolean | undefined {
    let known = this.#known.get(pattern)
    if (known === undefined) this.#known.set(pattern, (known = new Map<string, boolean | undefined>()))
    if (known.has(text)) return known.get(text)
    const found = this.#effort.matches(pattern, text)
    if (known.size >= MOST_KEPT) known.clear()
    if (text.length < MOST_KEPT) known.set(text, found)
    return found
  }
}

/** The longest pattern, in characters. */
export const MAX_PATTERN_LENGTH = 256
/** The longest text that is matched, in characters. */
export const MAX_MATCHED_LENGTH = 4_096
/**
 * The largest compiled pattern, in instructions: the time of a matching step is proportional to it. It suffices for a thousand
 * repetitions of something short.
 */
export const MAX_PROGRAM_SIZE = 2_500
/** The most compiled expressions that are cached, and the most in a query. Each is used for every span, and takes up to 8 MiB in use. */
export const MAX_EXPRESSIONS = 8

/** Matches whole texts, in time linear in their length. */
export interface RegularExpression {
  /** The size of the program in instructions, at most MAX_PROGRAM_SIZE. */
  readonly size: number
  matches(text: string): boolean
}

/** Why a text is not a supported expression. */
interface NoExpression {
  readonly wrong: string
}

const kept = new Map<string, RegularExpression | NoExpression>()

/** Compiles an expression in RE2 syntax, which Tempo uses; a dot matches any character. */
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

/** Matches one piece of a pattern: an escape, a class, the start of a group, a character, or a repetition count. */
const PIECE =
  /\(\?(?:P?<\w*>|[\w-]*[:)])|\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\{(\d+)(?:(,)(\d*))?\}|[\s\S]/gy

/** Estimates the size of an expression before it is compiled. */
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

/** The most work per span: the longest text with the largest expression, or more of smaller ones. */
const MAX_STEPS = MAX_PROGRAM_SIZE * MAX_MATCHED_LENGTH

/** Other work may run after this many spans, or earlier after matching work of MAX_STEPS. */
const SPANS_A_TURN = 200

/** Matches texts of spans against regular expressions, and limits the cost per span. */
export class MatchingEffort {
  #steps = 0
  #stepsOfTurn = 0
  #spansOfTurn = 0
  #passedOver = 0

  /** How many strings were not matched, because they are too long or too many in one span. They satisfy no comparison. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** Starts the next span. Returns true if the spans before did enough matching work that other work should run. */
  next(): boolean {
    this.#stepsOfTurn += this.#steps
    this.#steps = 0
    if (++this.#spansOfTurn < SPANS_A_TURN && this.#stepsOfTurn < MAX_STEPS) return false
    this.#spansOfTurn = this.#stepsOfTurn = 0
    return true
  }

  /** Undefined if the text was skipped. */
  matches(pattern: string, text: string): boolean | undefined {
    const expression = regularExpression(pattern)
    if ('wrong' in expression) return undefined
    this.#steps += expression.size * text.length
    if (text.length <= MAX_MATCHED_LENGTH && this.#steps <= MAX_STEPS) return expression.matches(text)
    this.#passedOver++
    return undefined
  }
}
