import { nameOfAttribute } from './check-types.ts'
import { compileField, type Evaluate, type MatchingEffort } from './evaluate-field.ts'
import type { SpanView } from './fetch-plan.ts'
import {
  areMatching,
  booleanOf,
  divideByCount,
  intOf,
  isList,
  NIL,
  order,
  sum,
  textOf,
} from './static-values.ts'
import {
  type Aggregate,
  type Field,
  type Pipeline,
  type Relation,
  type Spansets,
  type Stage,
  type Static,
  TraceQlError,
} from './syntax.ts'
import { TextKeys } from './text-keys.ts'
import type { Place } from './trace-data.ts'

/** Spans of a trace that belong together, and the values computed for them. */
export interface Spanset {
  readonly spans: readonly SpanView[]
  readonly attributes: readonly { readonly name: string; readonly value: Static }[]
}

/** Yields undefined when other work may run. */
type Run = (sets: readonly Spanset[]) => Generator<undefined, readonly Spanset[]>

/** Makes a function that runs the pipeline on the spans of one trace. */
export function compilePipeline({ stages }: Pipeline, effort: MatchingEffort): Run {
  const runs = stages.map((stage) => compileStage(stage, effort))
  return function* (sets) {
    let left = sets
    for (const run of runs) {
      left = yield* run(left)
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
      return withoutTurns((sets) => [{ spans: sets.flatMap(({ spans }) => spans), attributes: [] }])
    case 'select':
      return withoutTurns((sets) => sets)
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

const withoutTurns = (run: (sets: readonly Spanset[]) => readonly Spanset[]): Run =>
  function* (sets) {
    return run(sets)
  }

function* valuesOf(
  spans: readonly SpanView[],
  evaluate: Evaluate,
  effort: MatchingEffort,
): Generator<undefined, Static[]> {
  const values: Static[] = []
  for (const span of spans) {
    if (effort.next()) yield undefined
    values.push(evaluate(span))
  }
  return values
}

function groupBy(field: Field, effort: MatchingEffort): Run {
  const evaluate = compileField(field, effort)
  const name = `by(${textOfField(field)})`
  return function* (sets) {
    const made: Spanset[] = []
    for (const { spans, attributes } of sets) {
      const groups = new Map<string, { spans: SpanView[]; value: Static }>()
      const keys = new TextKeys()
      const values = yield* valuesOf(spans, evaluate, effort)
      for (const [at, span] of spans.entries()) {
        const value = values[at] ?? NIL
        const key = keys.ofValue(value)
        const group = groups.get(key)
        if (group === undefined) groups.set(key, { spans: [span], value })
        else group.spans.push(span)
      }
      for (const group of groups.values())
        made.push({ spans: group.spans, attributes: [...attributes, { name, value: group.value }] })
    }
    return made
  }
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
  return function* (sets) {
    const made: Spanset[] = []
    for (const set of sets) {
      const value = yield* aggregate(set.spans)
      if (value === undefined) continue
      found = value
      // A list is not compared as a number, whatever its elements.
      const result = isList(value.type)
        ? booleanOf(operator === '!=' && areMatching(value.type, right.value.type))
        : holds({ valueOf: () => found })
      if (result.type === 'boolean' && result.value)
        made.push({ spans: set.spans, attributes: [...set.attributes, { name, value }] })
    }
    return made
  }
}

/** Undefined if no span has a value. */
function compileAggregate(
  { operator, of }: Aggregate,
  effort: MatchingEffort,
): (spans: readonly SpanView[]) => Generator<undefined, Static | undefined> {
  const evaluate = of === undefined ? () => NIL : compileField(of, effort)
  return function* (spans) {
    if (operator === 'count') return intOf(BigInt(spans.length))
    const all = yield* valuesOf(spans, evaluate, effort)
    const values = all.filter(({ type }) => type !== 'nil')
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
      return filter(compileField(sets.field, effort), effort)
    case 'pipeline':
      return compilePipeline(sets, effort)
    case 'logic':
    case 'relation':
      return combine(sets, compileSpansets(sets.left, effort), compileSpansets(sets.right, effort))
  }
}

function filter(evaluate: Evaluate, effort: MatchingEffort): Run {
  return function* (sets) {
    const made: Spanset[] = []
    for (const set of sets) {
      const values = yield* valuesOf(set.spans, evaluate, effort)
      const spans = set.spans.filter((_, at) => {
        const value = values[at]
        return value?.type === 'boolean' && value.value
      })
      if (spans.length > 0) made.push({ ...set, spans })
    }
    return made
  }
}

function combine(sets: Extract<Spansets, { kind: 'logic' | 'relation' }>, left: Run, right: Run): Run {
  return function* (input) {
    const made: Spanset[] = []
    for (const one of input) {
      const [ofLeft, ofRight] = [yield* left([one]), yield* right([one])]
      const spans =
        sets.kind === 'logic'
          ? joinedSpans(sets.operator, ofLeft, ofRight)
          : spansInRelation(sets, ofLeft, ofRight)
      if (spans.length > 0) made.push({ spans, attributes: one.attributes })
    }
    return made
  }
}

function joinedSpans(
  operator: '&&' | '||',
  left: readonly Spanset[],
  right: readonly Spanset[],
): readonly SpanView[] {
  if (operator === '&&' && (left.length === 0 || right.length === 0)) return []
  const ofLeft = left.flatMap(({ spans }) => spans)
  const ofRight = right.flatMap(({ spans }) => spans)
  // As in Tempo the shorter side comes first. It matters when only the first spans are shown.
  return [...new Set(ofLeft.length < ofRight.length ? [...ofLeft, ...ofRight] : [...ofRight, ...ofLeft])]
}

function spansInRelation(
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

/** A field as Tempo writes it, in the names of computed values. */
function textOfField(field: Field): string {
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

type StandsToOne = (span: SpanView) => boolean

const INVERSE: Readonly<Record<Relation, Relation>> = {
  descendant: 'ancestor',
  ancestor: 'descendant',
  child: 'parent',
  parent: 'child',
  sibling: 'sibling',
}

/**
 * Spans on the right that have this relation to a span on the left. With `none`, those that do not. With `both`, also the matching spans
 * on the left.
 */
function related(
  { relation, of }: { relation: Relation; of: 'right' | 'none' | 'both' },
  left: readonly SpanView[],
  right: readonly SpanView[],
): SpanView[] {
  const standsToLeft = standsTo(relation, left)
  if (of === 'none') return right.filter((span) => !standsToLeft(span))
  const found = right.filter(standsToLeft)
  if (of === 'right') return found
  return [...new Set([...found, ...left.filter(standsTo(INVERSE[relation], right))])]
}

/** A test whether a span has the relation to any of these spans, without comparing it with each. */
function standsTo(relation: Relation, many: readonly SpanView[]): StandsToOne {
  switch (relation) {
    case 'descendant':
      return isBelowOne(many)
    case 'ancestor':
      return isAboveOne(many)
    case 'child': {
      const lefts = new Set(many.map(({ place }) => place?.left ?? 0))
      return ({ place }) => place !== undefined && place.parent > 0 && lefts.has(place.parent)
    }
    case 'parent': {
      const parents = new Set(many.map(({ place }) => place?.parent ?? 0))
      return ({ place }) => place !== undefined && place.left > 0 && parents.has(place.left)
    }
    case 'sibling': {
      const counts = new Map<number, number>()
      for (const { place } of many)
        if (place !== undefined) counts.set(place.parent, (counts.get(place.parent) ?? 0) + 1)
      const among = new Set(many)
      return (span) => {
        const { place } = span
        if (place === undefined || place.parent === 0) return false
        // A span is not its own sibling.
        return (counts.get(place.parent) ?? 0) > (among.has(span) ? 1 : 0)
      }
    }
  }
}

const isPlaced = (place: Place | undefined): place is Place =>
  place !== undefined && place.left > 0 && place.right > 0

const placesByLeft = (many: readonly SpanView[]): Place[] =>
  many.flatMap(({ place }) => (isPlaced(place) ? [place] : [])).sort((a, b) => a.left - b.left)

/** Tests for descendants. Intervals are nested or disjoint: if any contains a span, it is the one that began before and ends last. */
function isBelowOne(many: readonly SpanView[]): StandsToOne {
  const places = placesByLeft(many)
  let last = 0
  const ends = places.map(({ right }) => (last = Math.max(last, right)))
  return ({ place }) => isPlaced(place) && (ends[firstFrom(places, place.left) - 1] ?? 0) > place.right
}

function isAboveOne(many: readonly SpanView[]): StandsToOne {
  const places = placesByLeft(many)
  return ({ place }) =>
    isPlaced(place) && (places[firstFrom(places, place.left + 1)]?.left ?? Infinity) < place.right
}

/** The index of the first position at or after a number. */
function firstFrom(places: readonly Place[], least: number): number {
  let [from, to] = [0, places.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((places[middle]?.left ?? 0) < least) from = middle + 1
    else to = middle
  }
  return from
}
