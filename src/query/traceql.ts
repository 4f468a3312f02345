import {
  ANY_SPAN,
  type Condition,
  type Intrinsic,
  MAX_EXPRESSIONS,
  type Operator,
  regularExpression,
  type Subject,
  type Value,
} from './trace-search.ts'

/** What is wrong with a query, for whoever wrote it. */
export class TraceQlError extends Error {}

const TOKEN =
  /\s*(?:(?<string>"(?:[^"\\]|\\.)*"|`[^`]*`)|(?<number>-?\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h)?(?![\w.]))|(?<word>(?:[\w:-]|\.(?:"(?:[^"\\]|\\.)*"|[\w/:-])*)+)|(?<symbol>&&|\|\||=~|!~|!=|>=|<=|[{}()=<>!|]))/y
const OPERATORS: readonly string[] = ['=', '!=', '=~', '!~', '>', '<', '>=', '<=']
const UNITS: ReadonlyMap<string, number> = new Map([
  ['ns', 1],
  ['us', 1e3],
  ['µs', 1e3],
  ['ms', 1e6],
  ['s', 1e9],
  ['m', 60e9],
  ['h', 3600e9],
])
const INTRINSICS: ReadonlyMap<string, Intrinsic> = new Map<string, Intrinsic>([
  ['name', 'name'],
  ['status', 'status'],
  ['statusMessage', 'statusMessage'],
  ['kind', 'kind'],
  ['duration', 'duration'],
  ['rootName', 'rootName'],
  ['rootServiceName', 'rootServiceName'],
  ['traceDuration', 'traceDuration'],
  ['span:name', 'name'],
  ['span:status', 'status'],
  ['span:statusMessage', 'statusMessage'],
  ['span:kind', 'kind'],
  ['span:duration', 'duration'],
  ['span:id', 'spanId'],
  ['trace:id', 'traceId'],
  ['trace:duration', 'traceDuration'],
  ['trace:rootName', 'rootName'],
  ['trace:rootService', 'rootServiceName'],
  ['link:traceID', 'linkTraceId'],
  ['link:spanID', 'linkSpanId'],
])
const MAX_DEEP = 50
const LONGEST = 4_096

interface Token {
  readonly kind: 'string' | 'number' | 'word' | 'symbol'
  readonly text: string
}

/**
 * Reads the part of Grafana's TraceQL that finds single spans: `{ <conditions> }` with `&&`, `||`, `!`, parentheses and
 * comparisons of attributes and intrinsics. Throws TraceQlError with what is wrong.
 */
export function parseTraceQl(query: string): Condition {
  if (query.trim() === '') return ANY_SPAN
  if (query.length > LONGEST) throw new TraceQlError(`a query may have at most ${LONGEST} characters`)
  return new Parser(tokensOf(query)).query()
}

function tokensOf(query: string): Token[] {
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  for (let at = 0; query.slice(at).trim() !== ''; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at
    const groups = TOKEN.exec(query)?.groups
    if (groups === undefined) throw new TraceQlError(`cannot read ${query.slice(at, at + 20).trim()}`)
    for (const kind of ['string', 'number', 'word', 'symbol'] as const) {
      const text = groups[kind]
      if (text !== undefined) tokens.push({ kind, text })
    }
  }
  return tokens
}

class Parser {
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0
  #expressions = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  query(): Condition {
    this.#expect('{')
    const isEmpty = this.#takes('}')
    const condition = isEmpty ? ANY_SPAN : this.#either()
    if (!isEmpty) this.#expect('}')
    const rest = this.#tokens[this.#at]
    if (rest !== undefined) {
      throw new TraceQlError(
        `only one { } is understood here, without | and what follows it; got ${rest.text}`,
      )
    }
    return condition
  }

  #either(): Condition {
    let left = this.#both()
    while (this.#takes('||')) left = { kind: 'or', left, right: this.#both() }
    return left
  }

  #both(): Condition {
    let left = this.#one()
    while (this.#takes('&&')) left = { kind: 'and', left, right: this.#one() }
    return left
  }

  #one(): Condition {
    if (++this.#depth > MAX_DEEP) throw new TraceQlError(`conditions may be nested ${MAX_DEEP} deep`)
    const condition = this.#nested()
    this.#depth--
    return condition
  }

  #nested(): Condition {
    if (this.#takes('!')) return { kind: 'not', of: this.#one() }
    if (this.#takes('(')) {
      const condition = this.#either()
      this.#expect(')')
      return condition
    }
    const token = this.#next()
    if (token.kind !== 'word') throw new TraceQlError(`expected an attribute, got ${token.text}`)
    if (token.text === 'true') return ANY_SPAN
    if (token.text === 'false') return { kind: 'not', of: ANY_SPAN }
    const subject = subjectOf(token.text)
    const operator = this.#tokens[this.#at]?.text ?? ''
    if (!OPERATORS.includes(operator)) return { kind: 'exists', subject }
    this.#at++
    if (operator.includes('~') && ++this.#expressions > MAX_EXPRESSIONS)
      throw new TraceQlError(`a query may have at most ${MAX_EXPRESSIONS} regular expressions`)
    return comparison(subject, operator as Operator, this.#next())
  }

  #next(): Token {
    const token = this.#tokens[this.#at++]
    if (token === undefined) throw new TraceQlError('the query ends too soon')
    return token
  }

  #takes(symbol: string): boolean {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'symbol' || token.text !== symbol) return false
    this.#at++
    return true
  }

  #expect(symbol: string): void {
    const token = this.#next()
    if (token.text !== symbol) throw new TraceQlError(`expected ${symbol}, got ${token.text}`)
  }
}

function subjectOf(word: string): Subject {
  const intrinsic = INTRINSICS.get(word)
  if (intrinsic !== undefined) return { scope: 'intrinsic', key: intrinsic }
  const [scope, ...rest] = word.split('.')
  const key = rest.join('.').replace(/^"([\s\S]*)"$/, '$1')
  if (key === '') throw new TraceQlError(`${word} is no attribute; write span.${word} or resource.${word}`)
  if (scope === '') return { scope: 'any', key }
  if (scope === 'span' || scope === 'resource' || scope === 'link') return { scope, key }
  throw new TraceQlError(`attributes begin with span., resource., link. or a dot; got ${word}`)
}

function comparison(subject: Subject, operator: Operator, { kind, text }: Token): Condition {
  const value = valueOf(kind, text)
  if (value === undefined) {
    if (operator === '=') return { kind: 'not', of: { kind: 'exists', subject } }
    if (operator === '!=') return { kind: 'exists', subject }
    throw new TraceQlError('nil can only be compared with = and !=')
  }
  if (operator === '=~' || operator === '!~') {
    if (typeof value !== 'string') throw new TraceQlError(`${operator} takes a text in quotes`)
    const expression = regularExpression(value)
    if ('wrong' in expression) {
      const shown = JSON.stringify(value.slice(0, 60))
      throw new TraceQlError(`not a regular expression that can be taken: ${shown}: ${expression.wrong}`)
    }
  }
  return { kind: 'compare', subject, operator, value }
}

/** Undefined for nil. */
function valueOf(kind: Token['kind'], text: string): Value | undefined {
  switch (kind) {
    case 'string':
      return text.startsWith('`') ? text.slice(1, -1) : unquote(text)
    case 'number': {
      const [, digits = '', unit = ''] = /^([-\d.]+)(.*)$/.exec(text) ?? []
      return Number(digits) * (UNITS.get(unit) ?? 1)
    }
    case 'word':
      if (text === 'nil') return undefined
      return text === 'true' || text === 'false' ? text === 'true' : text
    case 'symbol':
      throw new TraceQlError(`expected a value, got ${text}`)
  }
}

function unquote(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(.)/g, (_, escaped: string) => {
    if (escaped === 'n') return '\n'
    return escaped === 't' ? '\t' : escaped
  })
}

const PAIR = /\s*([^\s="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s="]*))(?=\s|$)/y

/** The pairs of a logfmt, such as `service.name=web note="two words"`; undefined when it is none. */
export function parseLogfmt(text: string): [key: string, value: string][] | undefined {
  const pairs: [string, string][] = []
  const trimmed = text.trimEnd()
  for (let at = 0; at < trimmed.length; at = PAIR.lastIndex) {
    PAIR.lastIndex = at
    const [, key, quoted, bare = ''] = PAIR.exec(trimmed) ?? []
    if (key === undefined) return undefined
    pairs.push([key, quoted === undefined ? bare : quoted.replaceAll(/\\(.)/gs, '$1')])
  }
  return pairs
}
