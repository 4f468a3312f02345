/** A metric, as a PromQL expression names it. */
export interface Selector {
  readonly name: string
  /** The labels its matchers name. */
  readonly labels: readonly string[]
  /** Whether it asks for a range, as in `[5m]`. */
  readonly isRange: boolean
  /** The function it is an argument of; undefined when it stands alone. */
  readonly within: string | undefined
}

export interface Promql {
  readonly selectors: readonly Selector[]
  /** The labels that aggregations and matching name. */
  readonly grouping: readonly string[]
}

const TOKEN =
  /\s*(?:("(?:[^"\\]|\\.)*")|(\d+(?:ms|[smhdwy])(?:\d+(?:ms|[smhdwy]))*)|(\d+(?:\.\d+)?)|([a-zA-Z_:][\w:]*)|(==|!=|>=|<=|=~|!~|[-+*/%^<>=(){}[\],]))/y
const KINDS = ['text', 'duration', 'number', 'word', 'sign'] as const

interface Token {
  readonly kind: (typeof KINDS)[number] | 'end'
  readonly text: string
}

const AGGREGATIONS = new Set(['sum', 'max', 'min', 'avg', 'count'])
const RANGE_FUNCTIONS = new Set([
  'rate',
  'increase',
  'resets',
  'deriv',
  'predict_linear',
  'avg_over_time',
  'max_over_time',
])
const FUNCTIONS = new Set([...RANGE_FUNCTIONS, 'absent', 'histogram_quantile'])
const OPERATORS = new Set([
  '+',
  '-',
  '*',
  '/',
  '%',
  '^',
  '==',
  '!=',
  '>',
  '<',
  '>=',
  '<=',
  'and',
  'or',
  'unless',
])
const MATCHERS = new Set(['=', '!=', '=~', '!~'])

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  const whole = text.trimEnd()
  while (TOKEN.lastIndex < whole.length) {
    const at = TOKEN.lastIndex
    const groups: (string | undefined)[] = TOKEN.exec(whole)?.slice(1) ?? []
    const kind = groups.findIndex((group) => group !== undefined)
    if (kind < 0) throw new Error(`PromQL: what is ${JSON.stringify(whole.slice(at, at + 10))}?`)
    tokens.push({ kind: KINDS[kind] ?? 'end', text: groups[kind] ?? '' })
  }
  return tokens
}

/** Reads the part of PromQL that the alerts use. Throws on whatever it does not know, so that no name goes unseen. */
export function readPromql(text: string): Promql {
  return new Reader(tokensOf(text)).read()
}

class Reader {
  readonly #tokens: readonly Token[]
  readonly #selectors: Selector[] = []
  readonly #grouping: string[] = []
  #at = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  read(): Promql {
    this.#expression(undefined)
    if (this.#next.kind !== 'end') throw new Error(`PromQL: ${this.#next.text} is too much`)
    return { selectors: this.#selectors, grouping: this.#grouping }
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: 'the end' }
  }

  #take(text?: string): Token {
    const token = this.#next
    if (token.kind === 'end' || (text !== undefined && token.text !== text))
      throw new Error(`PromQL: ${token.text} instead of ${text ?? 'more'}`)
    this.#at++
    return token
  }

  #skips(text: string): boolean {
    if (this.#next.text !== text) return false
    this.#at++
    return true
  }

  #expression(within: string | undefined): void {
    this.#operand(within)
    while (OPERATORS.has(this.#next.text)) {
      this.#take()
      if (this.#skips('on') || this.#skips('ignoring')) this.#labels()
      this.#operand(within)
    }
  }

  #operand(within: string | undefined): void {
    const { kind, text } = this.#take()
    if (text === '(') {
      this.#expression(within)
      this.#take(')')
    } else if (kind === 'word' && AGGREGATIONS.has(text)) {
      if (this.#skips('by') || this.#skips('without')) this.#labels()
      this.#arguments(undefined)
    } else if (kind === 'word' && FUNCTIONS.has(text)) this.#arguments(text)
    else if (kind === 'word' && this.#next.text !== '(') this.#selector(text, within)
    else if (kind !== 'number') throw new Error(`PromQL: ${text} is no operand`)
  }

  #arguments(within: string | undefined): void {
    this.#take('(')
    do this.#expression(within)
    while (this.#skips(','))
    this.#take(')')
  }

  #labels(): void {
    this.#take('(')
    do this.#grouping.push(this.#take().text)
    while (this.#skips(','))
    this.#take(')')
  }

  #selector(name: string, within: string | undefined): void {
    const labels: string[] = []
    if (this.#skips('{')) {
      do {
        labels.push(this.#take().text)
        const { text } = this.#take()
        if (!MATCHERS.has(text)) throw new Error(`PromQL: ${text} compares no label`)
        if (this.#take().kind !== 'text')
          throw new Error(`PromQL: a label of ${name} is compared with no text`)
      } while (this.#skips(','))
      this.#take('}')
    }
    const isRange = this.#skips('[')
    if (isRange) {
      this.#duration()
      this.#take(']')
    }
    if (this.#skips('offset')) this.#duration()
    if (isRange !== (within !== undefined && RANGE_FUNCTIONS.has(within)))
      throw new Error(
        `PromQL: ${name} in ${within ?? 'no function'}: a range belongs in functions of ranges, and only there`,
      )
    this.#selectors.push({ name, labels, isRange, within })
  }

  #duration(): void {
    const { kind, text } = this.#take()
    if (kind !== 'duration') throw new Error(`PromQL: ${text} is no duration`)
  }
}
