import type { SyntaxNode } from '@lezer/common'
import { parser } from './grammar.ts'
import { attributeOf, durationOfText, intrinsicOf, stringOfText, wordOf } from './read-tokens.ts'
import { checkQuery, foldedBinary, foldedUnary } from './check-types.ts'
import { checkConditions, conditionsOf, withLists } from './conditions.ts'
import { durationOf, floatOf, intOf, numberOf } from './static-values.ts'
import {
  type Arithmetic,
  type Attribute,
  type Comparison,
  type Field,
  type Metric,
  type MetricName,
  type Operator,
  type Pipeline,
  type Query,
  type Relation,
  type Scalar,
  type SecondStage,
  type Spansets,
  type Stage,
  type Static,
  TraceQlError,
} from './syntax.ts'

/** The longest query, in characters. */
const LONGEST = 16_384
const MAX_DEEP = 200
const strict = parser.configure({ strict: true })

/** Parses a query as Tempo does. Throws TraceQlError if it is invalid or unsupported; the message says why. */
export function readTraceQl(text: string): Query {
  if (text.length > LONGEST)
    throw new TraceQlError(
      `a query may have at most ${LONGEST} characters, and this one has ${text.length}: ask for less`,
    )
  if (text.includes('\0'))
    throw new TraceQlError('a query may not contain the character U+0000: leave it out')
  const query = new Reader(text).query(treeOf(text).topNode)
  checkQuery(query)
  checkConditions(conditionsOf(withLists(query.pipeline)))
  return query
}

/** Parses the name of an attribute as queries write it. Throws TraceQlError for any other text. */
export function readAttribute(text: string): Attribute {
  const [stage, ...others] = readTraceQl(`{ ${text} != nil }`).pipeline.stages
  const field = stage?.kind === 'filter' && others.length === 0 ? stage.field : undefined
  if (field?.kind === 'unary' && field.operator === 'exists' && field.of.kind === 'attribute') return field.of
  throw new TraceQlError(`${text} is not the name of an attribute`)
}

function treeOf(text: string): ReturnType<typeof parser.parse> {
  try {
    return strict.parse(text)
  } catch (error) {
    const at = error instanceof SyntaxError ? Number(/\d+$/.exec(error.message)?.[0] ?? NaN) : NaN
    if (Number.isNaN(at)) throw error
    const found = text.slice(at).trimStart().slice(0, 20)
    const advice = /^[\p{L}_]/u.test(found) ? WORDS : ''
    throw new TraceQlError(
      found === ''
        ? `the query ends too soon, at ${placeOf(text, at)}`
        : `cannot read on at ${placeOf(text, at)}: ${found}${advice}`,
    )
  }
}

const WORDS = '; texts stand in quotes, and attributes begin with a dot or a scope, as in span.name'

function placeOf(text: string, at: number): string {
  const before = text.slice(0, at).split('\n')
  return `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`
}

const RELATIONS: ReadonlyMap<string, [Relation, 'right' | 'none' | 'both']> = new Map(
  Object.entries<[Relation, 'right' | 'none' | 'both']>({
    '>>': ['descendant', 'right'],
    '<<': ['ancestor', 'right'],
    '>': ['child', 'right'],
    '<': ['parent', 'right'],
    '~': ['sibling', 'right'],
    '!>>': ['descendant', 'none'],
    '!<<': ['ancestor', 'none'],
    '!>': ['child', 'none'],
    '!<': ['parent', 'none'],
    '!~': ['sibling', 'none'],
    '&>>': ['descendant', 'both'],
    '&<<': ['ancestor', 'both'],
    '&>': ['child', 'both'],
    '&<': ['parent', 'both'],
    '&~': ['sibling', 'both'],
  }),
)

/** Builds a query from the parse tree. */
class Reader {
  readonly #text: string
  #deep = 0

  constructor(text: string) {
    this.#text = text
  }

  query(top: SyntaxNode): Query {
    const [first, ...rest] = childrenOf(top)
    const hints = rest.at(-1)
    if (first === undefined) throw new TraceQlError('the query is empty')
    const read = hints === undefined ? [] : childrenOf(hints).map((node) => this.#hint(node))
    if (first.name !== 'Metrics') return { pipeline: this.#whole(first), seconds: [], hints: read }
    const [pipeline, metric, ...seconds] = childrenOf(first)
    if (pipeline === undefined || metric === undefined) throw this.#incomplete(first)
    return {
      pipeline: this.#pipeline(pipeline),
      metric: this.#metric(metric),
      seconds: seconds.map((node) => this.#second(node)),
      hints: read,
    }
  }

  #whole(node: SyntaxNode): Pipeline {
    if (node.name === 'Pipeline') return this.#pipeline(node)
    const stage = node.name === 'PipelineScalarFilter' ? this.#scalarFilter(node) : this.#spansets(node)
    return stage.kind === 'pipeline' ? stage : { kind: 'pipeline', stages: [stage] }
  }

  #pipeline(node: SyntaxNode, last?: Stage): Pipeline {
    const stages: Stage[] = last === undefined ? [] : [last]
    let at: SyntaxNode | undefined = node
    while (at !== undefined) {
      const [before, stage]: (SyntaxNode | undefined)[] = childrenOf(at)
      const isLonger: boolean = before?.name === 'Pipeline'
      const own: SyntaxNode | undefined = isLonger ? stage : before
      if (own !== undefined) stages.unshift(this.#stage(own))
      at = isLonger ? before : undefined
    }
    return { kind: 'pipeline', stages }
  }

  #stage(node: SyntaxNode): Stage {
    switch (node.name) {
      case 'ScalarFilter':
        return this.#scalarFilter(node)
      case 'By':
        return { kind: 'by', field: this.#field(this.#only(node)) }
      case 'Select':
        return { kind: 'select', attributes: this.#attributes(this.#only(node)) }
      case 'Coalesce':
        return { kind: 'coalesce' }
      default:
        return this.#spansets(node)
    }
  }

  #spansets(node: SyntaxNode): Spansets {
    return this.#deeper(() => {
      const [left, operator, right] = childrenOf(node)
      switch (node.name) {
        case 'Filter':
          return { kind: 'filter', field: left === undefined ? TRUE_FIELD : this.#field(left) }
        case 'WrappedPipeline':
          return this.#pipeline(this.#only(node))
        case 'SpansetOperation':
        case 'PipelineOperation': {
          if (left === undefined || operator === undefined || right === undefined)
            throw this.#incomplete(node)
          const sides = { left: this.#spansets(left), right: this.#spansets(right) }
          const word = this.#textOf(operator)
          if (word === '&&' || word === '||') return { kind: 'logic', operator: word, ...sides }
          const [relation, of] = RELATIONS.get(word) ?? ['sibling', 'none']
          return { kind: 'relation', relation, of, ...sides }
        }
        default:
          return this.#spansets(this.#only(node))
      }
    })
  }

  #scalarFilter(node: SyntaxNode): Stage {
    const [left, operator, right] = childrenOf(node)
    if (left === undefined || operator === undefined || right === undefined) throw this.#incomplete(node)
    return {
      kind: 'scalarFilter',
      operator: this.#textOf(operator) as Comparison,
      left: this.#scalar(left),
      right: this.#scalar(right),
    }
  }

  #scalar(node: SyntaxNode): Scalar {
    return this.#deeper(() => {
      const [left, operator, right] = childrenOf(node)
      switch (node.name) {
        case 'Aggregate':
          return this.#aggregate(node)
        case 'WrappedScalar':
          if (left === undefined || operator === undefined) throw this.#incomplete(node)
          return this.#pipeline(left, this.#aggregate(operator))
        case 'ScalarOperation':
        case 'PipelineScalarOperation':
          if (left === undefined || operator === undefined || right === undefined)
            throw this.#incomplete(node)
          return {
            kind: 'scalar',
            operator: this.#textOf(operator) as Arithmetic,
            left: this.#scalar(left),
            right: this.#scalar(right),
          }
        case 'ScalarParens':
        case 'PipelineScalarParens':
          return this.#scalar(this.#only(node))
        default:
          return { kind: 'static', value: this.#number(node) }
      }
    })
  }

  #aggregate(node: SyntaxNode): Extract<Scalar, { kind: 'aggregate' }> {
    const [name, of] = childrenOf(node)
    if (name === undefined) throw this.#incomplete(node)
    const operator = this.#textOf(name) as 'count'
    return { kind: 'aggregate', operator, ...(of !== undefined && { of: this.#field(of) }) }
  }

  #metric(node: SyntaxNode): Metric {
    const parts = childrenOf(node)
    const [first, ...rest] = parts
    if (first === undefined) throw this.#incomplete(node)
    if (node.name === 'CompareMetric') {
      const [top = 10n, from = 0n, to = 0n] = rest.map((one) => this.#whole64(one))
      const filter = this.#spansets(first)
      if (filter.kind !== 'filter') throw this.#incomplete(node)
      return { kind: 'compare', field: filter.field, top: Number(top), from, to }
    }
    const grouping = parts.find(({ name }) => name === 'GroupBy')
    const by = grouping === undefined ? [] : this.#attributes(this.#only(grouping))
    if (node.name === 'CountMetric')
      return { kind: 'metric', name: this.#textOf(first) as MetricName, quantiles: [], by }
    if (node.name === 'QuantileMetric') {
      const numbers = rest.filter(({ name }) => name === 'Number')
      const quantiles = [...new Set(numbers.map((one) => numberOf(this.#number(one))))]
      return { kind: 'metric', name: 'quantile_over_time', of: this.#attribute(first), quantiles, by }
    }
    const [of] = rest
    if (of === undefined) throw this.#incomplete(node)
    return {
      kind: 'metric',
      name: this.#textOf(first) as MetricName,
      of: this.#attribute(of),
      quantiles: [],
      by,
    }
  }

  #second(node: SyntaxNode): SecondStage {
    const [first, value] = childrenOf(node)
    if (first === undefined || value === undefined) throw this.#incomplete(node)
    if (node.name === 'SecondStage') {
      const kind = this.#textOf(first) as 'topk' | 'bottomk'
      return { kind, limit: Number(this.#whole64(value)) }
    }
    const compared = this.#number(value)
    const number = numberOf(compared) / (compared.type === 'duration' ? 1e9 : 1)
    return { kind: 'keep', operator: this.#textOf(first) as Comparison, value: number }
  }

  #hint(node: SyntaxNode): { name: string; value: Static } {
    const [name, , value] = childrenOf(node)
    if (name === undefined || value === undefined) throw this.#incomplete(node)
    const field = this.#field(value)
    if (field.kind !== 'static') throw this.#incomplete(node)
    return { name: this.#textOf(name), value: field.value }
  }

  #attributes(node: SyntaxNode): Attribute[] {
    return childrenOf(node).map((one) => this.#attribute(one))
  }

  #attribute(node: SyntaxNode): Attribute {
    const text = this.#textOf(node)
    return node.name === 'Attribute' ? attributeOf(text) : intrinsicOf(text.replaceAll(NO_CODE, ''))
  }

  #field(node: SyntaxNode): Field {
    return this.#deeper(() => {
      const [left, operator, right] = childrenOf(node)
      switch (node.name) {
        case 'FieldOperation':
          if (left === undefined || operator === undefined || right === undefined)
            throw this.#incomplete(node)
          return this.#operation(left, this.#textOf(operator) as Operator, right)
        case 'FieldParens':
          return this.#field(this.#only(node))
        case 'Negation':
          if (operator === undefined) throw this.#incomplete(node)
          return foldedUnary('-', this.#field(operator))
        case 'Complement':
          return foldedUnary('!', this.#field(this.#only(node)))
        case 'Attribute':
        case 'Intrinsic':
        case 'ScopedIntrinsic':
          return this.#attribute(node)
        case 'String':
          return { kind: 'static', value: stringOfText(this.#textOf(node)) }
        case 'Word':
          return { kind: 'static', value: wordOf(this.#textOf(node)) }
        case 'Nil':
          throw new TraceQlError('nil can only be compared, with = and !=')
        default:
          return { kind: 'static', value: this.#number(node) }
      }
    })
  }

  #operation(left: SyntaxNode, operator: Operator, right: SyntaxNode): Field {
    const isNil = [left, right].map(({ name }) => name === 'Nil')
    if (!isNil.includes(true) || (operator !== '=' && operator !== '!='))
      return foldedBinary(operator, this.#field(left), this.#field(right))
    if (!isNil.includes(false)) return { kind: 'static', value: { type: 'boolean', value: false } }
    return foldedUnary(operator === '=' ? 'absent' : 'exists', this.#field(isNil[0] === true ? right : left))
  }

  /** A number or a duration, possibly with a minus sign. */
  #number(node: SyntaxNode): Static {
    if (node.name === 'NegativeScalar' || node.name === 'NegativeNumber') {
      const of = childrenOf(node)[1]
      if (of === undefined) throw this.#incomplete(node)
      const value = this.#number(of)
      if (value.type === 'int') return intOf(-value.value)
      return value.type === 'duration' ? durationOf(-value.value) : floatOf(-numberOf(value))
    }
    const text = this.#textOf(node)
    if (node.name === 'Duration') {
      if (/^0\d*[89]\d*[^\d.]/.test(text))
        throw new TraceQlError(`${text} is no duration: leave out the zeros before it`)
      return durationOfText(text)
    }
    if (node.name !== 'Number') {
      const field = this.#field(node)
      if (field.kind === 'static') return field.value
      throw this.#incomplete(node)
    }
    if (!/[.eE]/.test(text)) return intOf(this.#whole64(node))
    if (!Number.isFinite(Number(text)))
      throw new TraceQlError(`${text} is larger than a float of 64 bits: write a smaller number`)
    return floatOf(Number(text))
  }

  #whole64(node: SyntaxNode): bigint {
    const text = this.#textOf(node)
    if (!/^\d+$/.test(text)) throw new TraceQlError(`expected a whole number, got ${text}`)
    // With leading zeros, Go reads an octal number where Tempo's lexer reads a decimal one.
    if (/^0.*[89]/.test(text)) throw new TraceQlError(`${text} is no number: leave out the zeros before it`)
    const value = BigInt(text)
    if (value >= 2n ** 63n) throw new TraceQlError(`${text} is larger than an integer of 64 bits`)
    return value
  }

  #only(node: SyntaxNode): SyntaxNode {
    const [child] = childrenOf(node)
    if (child === undefined) throw this.#incomplete(node)
    return child
  }

  #incomplete({ from, to }: SyntaxNode): Error {
    const shown = this.#text.slice(from, to).slice(0, 20)
    return new TraceQlError(`something is missing at ${placeOf(this.#text, from)}: ${shown}`)
  }

  #textOf({ from, to }: SyntaxNode): string {
    return this.#text.slice(from, to)
  }

  #deeper<T>(read: () => T): T {
    if (++this.#deep > MAX_DEEP)
      throw new TraceQlError(
        `operations and parentheses may be nested ${MAX_DEEP} deep, and each && and || is within the next: ` +
          'write several values as one, as in name =~ "a|b|c"',
      )
    const made = read()
    this.#deep--
    return made
  }
}

const TRUE_FIELD: Field = { kind: 'static', value: { type: 'boolean', value: true } }
/** Whitespace and comments, which may follow the colon of an intrinsic. */
const NO_CODE = /\s+|\/\/.*\n|\/\*[^]*?\*\//g

/** The children of a node, without punctuation and comments. */
function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling)
    if (/^[A-Z]/.test(child.name) && !child.type.isSkipped) children.push(child)
  return children
}
