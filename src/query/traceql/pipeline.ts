import { nameOfAttribute } from './check-types.ts'
import { compileField, type Evaluate } from './evaluate-field.ts'
import type { SpanView } from './fetch-plan.ts'
import type { MatchingEffort } from './regular-expression.ts'
import { related } from './relations.ts'
import { divideByCount, intOf, NIL, order, sum, textOf } from './static-values.ts'
import {
  type Aggregate,
  type Field,
  type Pipeline,
  type Spansets,
  type Stage,
  type Static,
  TraceQlError,
} from './syntax.ts'

/** Spans of a trace that belong together, and what was worked out about them. */
export interface Spanset {
  readonly spans: readonly SpanView[]
  readonly attributes: readonly { readonly name: string; readonly value: Static }[]
}

type Run = (sets: readonly Spanset[]) => readonly Spanset[]

/** What becomes of the spans of one trace. */
export function compilePipeline({ stages }: Pipeline, effort: MatchingEffort): Run {
  const runs = stages.map((stage) => compileStage(stage, effort))
  return (sets) => {
    let left = sets
    for (const run of runs) {
      left = run(left)
      if (left.length === 0) return []
    }
    return left
  }
}

function compileStage(stage: Stage, effort: MatchingEffort): Run {
  switch (stage.kind) {
    case 'by':
      return groupBy(stage.field, effort)
    case 'coalesce':
      return (sets) => [{ spans: sets.flatMap(({ spans }) => spans), attributes: [] }]
    case 'select':
      return (sets) => sets
    case 'scalarFilter':
      return scalarFilter(stage, effort)
    case 'aggregate':
      throw new TraceQlError('an aggregate is compared with a number')
    case 'filter':
    case 'logic':
    case 'relation':
    case 'pipeline':
      return compileSpansets(stage, effort)
  }
}

function groupBy(field: Field, effort: MatchingEffort): Run {
  const evaluate = compileField(field, effort)
  const name = `by(${textOfField(field)})`
  return (sets) =>
    sets.flatMap(({ spans, attributes }) => {
      const groups = new Map<string, { spans: SpanView[]; value: Static }>()
      for (const span of spans) {
        const value = evaluate(span)
        const key = `${value.type} ${textOf(value)}`
        const group = groups.get(key)
        if (group === undefined) groups.set(key, { spans: [span], value })
        else group.spans.push(span)
      }
      return [...groups.values()].map((group) => ({
        spans: group.spans,
        attributes: [...attributes, { name, value: group.value }],
      }))
    })
}

function scalarFilter(
  { operator, left, right }: Extract<Stage, { kind: 'scalarFilter' }>,
  effort: MatchingEffort,
): Run {
  if (left.kind !== 'aggregate' || right.kind !== 'static')
    throw new TraceQlError('an aggregate is compared with a number')
  const aggregate = compileAggregate(left, effort)
  const name = left.of === undefined ? `${left.operator}()` : `${left.operator}(${textOfField(left.of)})`
  let found = NIL
  const holds = compileField(
    { kind: 'binary', operator, left: { kind: 'attribute', scope: 'any', name }, right },
    effort,
  )
  return (sets) =>
    sets.flatMap((set) => {
      const value = aggregate(set.spans)
      if (value === undefined) return []
      found = value
      const result = holds({ valueOf: () => found })
      if (result.type !== 'boolean' || !result.value) return []
      return [{ spans: set.spans, attributes: [...set.attributes, { name, value }] }]
    })
}

/** Undefined where no span has a value. */
function compileAggregate(
  { operator, of }: Aggregate,
  effort: MatchingEffort,
): (spans: readonly SpanView[]) => Static | undefined {
  if (operator === 'count' || of === undefined) return (spans) => intOf(BigInt(spans.length))
  const evaluate = compileField(of, effort)
  const valuesOf = (spans: readonly SpanView[]): Static[] =>
    spans.map((span) => evaluate(span)).filter(({ type }) => type !== 'nil')
  return (spans) => {
    const values = valuesOf(spans)
    if (values.length === 0) return undefined
    switch (operator) {
      case 'sum':
        return values.reduce(sum)
      case 'avg':
        return divideByCount(values.reduce(sum), values.length)
      case 'min':
        return values.reduce((least, value) => (order(value, least) < 0 ? value : least))
      case 'max':
        return values.reduce((most, value) => (order(value, most) > 0 ? value : most))
    }
  }
}

function compileSpansets(sets: Spansets, effort: MatchingEffort): Run {
  switch (sets.kind) {
    case 'filter':
      return filter(compileField(sets.field, effort))
    case 'pipeline':
      return compilePipeline(sets, effort)
    case 'logic':
    case 'relation':
      return combine(sets, compileSpansets(sets.left, effort), compileSpansets(sets.right, effort))
  }
}

function filter(evaluate: Evaluate): Run {
  return (sets) =>
    sets.flatMap((set) => {
      const spans = set.spans.filter((span) => {
        const value = evaluate(span)
        return value.type === 'boolean' && value.value
      })
      return spans.length === 0 ? [] : [{ ...set, spans }]
    })
}

function combine(sets: Extract<Spansets, { kind: 'logic' | 'relation' }>, left: Run, right: Run): Run {
  return (input) =>
    input.flatMap((one) => {
      const [ofLeft, ofRight] = [left([one]), right([one])]
      const spans =
        sets.kind === 'logic' ? joinedSpans(sets.operator, ofLeft, ofRight) : standing(sets, ofLeft, ofRight)
      return spans.length === 0 ? [] : [{ spans, attributes: one.attributes }]
    })
}

function joinedSpans(
  operator: '&&' | '||',
  left: readonly Spanset[],
  right: readonly Spanset[],
): readonly SpanView[] {
  if (operator === '&&' && (left.length === 0 || right.length === 0)) return []
  return [...new Set([...left, ...right].flatMap(({ spans }) => spans))]
}

function standing(
  sets: Extract<Spansets, { kind: 'relation' }>,
  left: readonly Spanset[],
  right: readonly Spanset[],
): readonly SpanView[] {
  const [ofRight] = right
  if (ofRight === undefined) return []
  if (left.length > 1 || right.length > 1)
    throw new TraceQlError(
      'spans of several groups cannot be related to one another; write coalesce() after by()',
    )
  return related(sets, left[0]?.spans ?? [], ofRight.spans)
}

/** As Tempo writes a field, in the names of what was worked out. */
export function textOfField(field: Field): string {
  switch (field.kind) {
    case 'static':
      return field.value.type === 'string' ? `\`${field.value.value}\`` : textOf(field.value)
    case 'attribute':
      return nameOfAttribute(field)
    case 'binary':
      return `${wrapped(field.left)} ${WORDS[field.operator] ?? field.operator} ${wrapped(field.right)}`
    case 'unary':
      if (field.operator === 'exists') return `${wrapped(field.of)} != nil`
      if (field.operator === 'absent') return `${wrapped(field.of)} = nil`
      return field.operator + wrapped(field.of)
  }
}

const WORDS: Readonly<Record<string, string>> = {
  in: 'IN',
  notIn: 'NOT IN',
  matchesAny: 'MATCH ANY',
  matchesNone: 'MATCH NONE',
}

const wrapped = (field: Field): string =>
  field.kind === 'static' || field.kind === 'attribute' ? textOfField(field) : `(${textOfField(field)})`
