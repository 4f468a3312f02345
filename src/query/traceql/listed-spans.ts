import { nameOfAttribute } from './check-types.ts'
import { conditionsOf } from './conditions.ts'
import { readTraceQl } from './parse-traceql.ts'
import { allOf, ANY_SPAN, spansWith } from './span-filters.ts'
import { type Field, type Pipeline, type Query, TraceQlError } from './syntax.ts'

const EVERY_SPAN = spansWith(ANY_SPAN)

/**
 * The spans from which names or values are listed. As in Tempo, those that meet the comparisons with constants in the first filter; all
 * spans if the query relates spans to one another, or compares an attribute without a scope.
 */
export function listedSpans({ stages }: Pipeline): Pipeline {
  const [first] = stages
  if (first?.kind === 'pipeline') return listedSpans(first)
  const field = first?.kind === 'filter' ? comparedIn(first.field) : undefined
  if (first?.kind !== 'filter' || field === undefined) return EVERY_SPAN
  const compared = conditionsIn(first.field).map(({ attribute }) => attribute)
  const isOfAnyScope = compared.some(({ scope }) => scope === 'any')
  // Tempo joins several comparisons of one attribute with OR. Without a `!` the listed spans are the same if that is not done.
  const comparesTwice =
    hasNegation(first.field) && new Set(compared.map(nameOfAttribute)).size < compared.length
  if (isOfAnyScope || comparesTwice) return EVERY_SPAN
  return spansWith(field)
}

const conditionsIn = (field: Field): ReturnType<typeof conditionsOf>['list'] =>
  conditionsOf(spansWith(field)).list

/** Whether a field contains a `!`. */
function hasNegation(field: Field): boolean {
  if (field.kind === 'unary') return field.operator === '!' || hasNegation(field.of)
  return field.kind === 'binary' && (hasNegation(field.left) || hasNegation(field.right))
}

/** The comparisons with constants in a field; undefined if there are none. As in Tempo, a `!` is ignored. */
function comparedIn(field: Field): Field | undefined {
  if (field.kind === 'unary' && field.operator === '!') return comparedIn(field.of)
  if (field.kind === 'binary' && (field.operator === '&&' || field.operator === '||')) {
    const [left, right] = [comparedIn(field.left), comparedIn(field.right)]
    if (left !== undefined && right !== undefined) return { ...field, left, right }
    return field.operator === '&&' ? (left ?? right) : undefined
  }
  const compared = conditionsIn(field).flatMap(({ attribute, operator, operand }): Field[] => {
    if (operator === 'exists' || operator === 'absent') return [{ kind: 'unary', operator, of: attribute }]
    if (operator === 'any' || operand === undefined) return []
    return [{ kind: 'binary', operator, left: attribute, right: { kind: 'static', value: operand } }]
  })
  const [one, ...others] = compared
  return one && others.reduce(allOf, one)
}

/** A text in quotes, an operator, a brace, or a word, such as an attribute with its scope. */
const TOKEN =
  /"(?:[^"\\]|\\.)*"?|`[^`]*`?|&&|\|\||[=!]~|[!<>]?=|(?:[^\s{}()=~!<>&|^,"`]+(?:"(?:[^"\\]|\\.)*")?)+|\S/gs
const COMPARES = ['=', '!=', '=~', '!~', '<', '<=', '>', '>=']
const CONNECTS = ['&&', '||']
const OPENS = ['{', '(']
const CLOSES = ['}', ')']
const isWord = (token: string | undefined): boolean => token !== undefined && /^[^{}()=~!<>&|^,]/.test(token)

/** A query that somebody still types: what is incomplete in it finds every span, as in Tempo's lists of names and values. */
export function readIncompleteTraceQl(text: string): Query {
  for (const one of [text, completed(text)]) {
    try {
      return readTraceQl(one)
    } catch (error) {
      if (!(error instanceof TraceQlError)) throw error
    }
  }
  return readTraceQl('{}')
}

function completed(text: string): string {
  const tokens = text.match(TOKEN) ?? []
  const compared: string[] = []
  for (let at = 0; at < tokens.length; at++) {
    const [token = '', operator = '', value] = tokens.slice(at, at + 3)
    const isIncomplete = isWord(token) && COMPARES.includes(operator) && !isWord(value)
    compared.push(isIncomplete ? 'true' : token)
    if (isIncomplete) at++
  }
  const kept: string[] = []
  for (const [at, token] of compared.entries()) {
    const [before, after] = [kept.at(-1), compared[at + 1]]
    const joins = isOperand(before, OPENS) && isOperand(after, CLOSES)
    if (!CONNECTS.includes(token) || joins) kept.push(token)
  }
  const count = (brace: string): number => kept.filter((token) => token === brace).length
  return kept.join(' ') + ' }'.repeat(Math.max(0, count('{') - count('}')))
}

const isOperand = (token: string | undefined, ends: readonly string[]): boolean =>
  token !== undefined && !CONNECTS.includes(token) && !ends.includes(token)
