import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'

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

interface Promql {
  readonly selectors: readonly Selector[]
  /** The labels that aggregations and matching name. */
  readonly grouping: readonly string[]
}

const RANGE_FUNCTIONS =
  /^(rate|irate|increase|delta|idelta|resets|changes|deriv|predict_linear|.*_over_time)$/

/** Reads PromQL with the grammar of Prometheus itself. Throws on what is none, and on ranges where none belongs or one is missing. */
export function readPromql(text: string): Promql {
  const tree = parser.configure({ strict: true }).parse(text)
  const textOf = ({ from, to }: SyntaxNode): string => text.slice(from, to)
  const selectors: Selector[] = []
  const grouping: string[] = []
  tree.iterate({
    enter: ({ name, node }) => {
      if (name === 'VectorSelector') selectors.push(selectorOf(node, textOf))
      if (name === 'GroupingLabels') grouping.push(...node.getChildren('LabelName').map(textOf))
    },
  })
  for (const { name, within, isRange } of selectors) {
    if (isRange !== RANGE_FUNCTIONS.test(within ?? ''))
      throw new Error(
        `PromQL: ${name} in ${within ?? 'no function'}: a range belongs in functions of ranges, and only there`,
      )
  }
  return { selectors, grouping }
}

function selectorOf(node: SyntaxNode, textOf: (node: SyntaxNode) => string): Selector {
  const identifier = node.getChild('Identifier')
  if (identifier === null) throw new Error(`PromQL: ${textOf(node)} names no metric`)
  const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []
  return {
    name: textOf(identifier),
    labels: matchers.map((matcher) => textOf(matcher.getChild('LabelName') ?? matcher)),
    isRange: node.parent?.name === 'MatrixSelector',
    within: functionAround(node, textOf),
  }
}

/** The function whose argument it is, through parentheses, operators and offsets; aggregations are none. */
function functionAround(node: SyntaxNode, textOf: (node: SyntaxNode) => string): string | undefined {
  for (let at = node.parent; at !== null; at = at.parent) {
    if (at.name === 'AggregateExpr') return undefined
    const called = at.name === 'FunctionCall' ? at.getChild('FunctionIdentifier') : null
    if (called !== null) return textOf(called)
  }
  return undefined
}
