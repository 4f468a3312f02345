import { readTraceQl } from './parse-traceql.ts'
import { type Query, TraceQlError } from './syntax.ts'

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
