import { MIB } from '../../model/time-and-size.ts'
import { nameOfAttribute } from './check-types.ts'
import { compileField, type Evaluate, type MatchingEffort } from './evaluate-field.ts'
import { ABSENT_VALUE, type Read } from './conditions.ts'
import {
  DEDICATED,
  inColumn,
  isInColumn,
  SERVICE,
  spanValue,
  type SpanView,
  type TraceFactsFound,
} from './fetch-plan.ts'
import { staticOfValues, type StoredAttribute, type StoredSpan } from './trace-data.ts'
import { type Exemplar, Intervals, labelValue, type MetricsRange, type Series } from './metric-series.ts'
import { lengthOf, NIL, stringOf } from './static-values.ts'
import {
  type Attribute,
  type Field,
  type IntrinsicName,
  type Metric,
  type Static,
  TraceQlError,
} from './syntax.ts'
import { TextKeys } from './text-keys.ts'

type Compare = Extract<Metric, { kind: 'compare' }>

interface Counts {
  readonly value: Static
  readonly counts: number[]
}

/** The most counters (one for each value and interval), and the most characters of all values. */
const MOST_CELLS = 2_000_000
const MOST_LENGTH = 8 * MIB
const NO_EXEMPLARS: readonly Exemplar[] = []

/** Counts the values of each attribute in the spans of a selection, and in all other spans (the baseline). */
export class CompareSeries {
  readonly #metric: Compare
  readonly #intervals: Intervals
  readonly #isSelected: Evaluate
  readonly #mostSeries: number
  readonly #groups = {
    baseline: new Map<string, Map<string, Counts>>(),
    selection: new Map<string, Map<string, Counts>>(),
  }
  readonly #keys = new TextKeys()
  #cells = 0
  #length = 0
  #isCut = false

  constructor(metric: Compare, range: MetricsRange, mostSeries: number, effort: MatchingEffort) {
    this.#metric = metric
    this.#mostSeries = mostSeries
    this.#intervals = new Intervals(range)
    this.#isSelected = compileField(metric.field, effort)
  }

  get isCut(): boolean {
    return this.#isCut
  }

  /** The attributes that the selection reads. */
  static reads(metric: Compare): Attribute[] {
    return attributesIn(metric.field).filter(({ scope }) => scope !== 'event' && scope !== 'link')
  }

  add(span: SpanView, facts: TraceFactsFound): void {
    const { startNs } = span.stored
    const interval = this.#intervals.of(startNs)
    if (interval < 0) return
    const { from, to } = this.#metric
    const isInTime = from === 0n || to === 0n || (startNs > from && startNs <= to)
    const group = isInTime && this.#isOfSelection(span) ? this.#groups.selection : this.#groups.baseline
    for (const { attribute, value } of attributesOfSpan(span.stored, facts)) {
      const counts = this.#countsOf(group, nameOfAttribute(attribute), value)
      if (counts !== undefined) counts[interval] = (counts[interval] ?? 0) + 1
    }
  }

  /** Whether a span is in the selection. As in Tempo, a span on which the selection fails is not. */
  #isOfSelection(span: SpanView): boolean {
    try {
      const selected = this.#isSelected(span)
      return selected.type === 'boolean' && selected.value
    } catch (error) {
      if (error instanceof TraceQlError) return false
      throw error
    }
  }

  /** The counts of a value; undefined if there is no room for it. The totals of an attribute need counters too. */
  #countsOf(group: Map<string, Map<string, Counts>>, name: string, value: Static): number[] | undefined {
    const values = group.get(name) ?? new Map<string, Counts>()
    // By label: lists, nil, and the string nil have the same one.
    const key = this.#keys.ofValue(labelValue(value))
    const known = values.get(key)
    if (known !== undefined) return known.counts
    const { count } = this.#intervals
    const cells = values.size === 0 ? 2 * count : count
    const length = name.length + lengthOf(value)
    if (this.#cells + cells > MOST_CELLS || this.#length + length > MOST_LENGTH) {
      this.#isCut = true
      return undefined
    }
    this.#cells += cells
    this.#length += length
    const counts = Array<number>(count).fill(0)
    values.set(key, { value, counts })
    group.set(name, values)
    return counts
  }

  /** The series of all attributes. An attribute is left out if there is no room for all its series. */
  results(): Series[] {
    const { baseline, selection } = this.#groups
    const series: Series[] = []
    for (const name of new Set([...baseline.keys(), ...selection.keys()])) {
      const own = [...this.#seriesOf('baseline', name), ...this.#seriesOf('selection', name)]
      if (series.length + own.length <= this.#mostSeries) series.push(...own)
      else this.#isCut = true
    }
    return series
  }

  #seriesOf(type: 'baseline' | 'selection', name: string): Series[] {
    const all = [...(this.#groups[type].get(name)?.values() ?? [])]
    if (all.length === 0) return []
    const totals = Array.from({ length: this.#intervals.count }, (_, at) =>
      all.reduce((sum, { counts }) => sum + (counts[at] ?? 0), 0),
    )
    const seriesOf = (meta: string, value: Static, values: number[]): Series => ({
      labels: [
        { name: '__meta_type', value: stringOf(meta) },
        { name, value },
      ],
      values,
      exemplars: NO_EXEMPLARS,
    })
    return [
      ...topOf(all, this.#metric.top).map(({ value, counts }) => seriesOf(type, labelValue(value), counts)),
      seriesOf(`${type}_total`, labelValue(NIL), totals),
    ]
  }
}

function topOf(all: readonly Counts[], most: number): readonly Counts[] {
  if (all.length <= most) return all
  const sums = new Map(all.map((one) => [one, one.counts.reduce((sum, count) => sum + count, 0)]))
  return all.toSorted((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0)).slice(0, most)
}

function attributesIn(field: Field): Attribute[] {
  switch (field.kind) {
    case 'static':
      return []
    case 'attribute':
      return [field]
    case 'unary':
      return attributesIn(field.of)
    case 'binary':
      return [...attributesIn(field.left), ...attributesIn(field.right)]
  }
}

const SHOWN_OF_SPAN: readonly IntrinsicName[] = ['name', 'status', 'statusMessage', 'kind']

/** The attributes of a span, its scope, resource and trace by which Tempo compares spans. */
function attributesOfSpan(span: StoredSpan, facts: TraceFactsFound): Read[] {
  const { scope } = span
  const named = (name: IntrinsicName): Attribute => ({ kind: 'attribute', scope: 'intrinsic', name })
  return [
    { attribute: named('rootName'), value: stringOf(facts.rootName) },
    { attribute: named('rootServiceName'), value: stringOf(facts.rootServiceName) },
    ...attributesOfScope('resource', scope.resource, scope.service),
    ...attributesOfScope('instrumentation', scope.attributes),
    { attribute: named('instrumentation:name'), value: stringOf(scope.name) },
    { attribute: named('instrumentation:version'), value: stringOf(scope.version) },
    ...attributesOfScope('span', span.attributes),
    ...SHOWN_OF_SPAN.map((name) => ({
      attribute: named(name),
      value: spanValue(span, undefined, name) ?? NIL,
    })),
  ]
}

function attributesOfScope(
  scope: 'span' | 'resource' | 'instrumentation',
  stored: readonly StoredAttribute[],
  service?: string,
): Read[] {
  const dedicated = scope === 'instrumentation' ? new Map<string, 'string' | 'int'>() : DEDICATED[scope]
  const read: Read[] = []
  const add = (name: string, value: Static): void => {
    read.push({ attribute: { kind: 'attribute', scope, name }, value })
  }
  if (service !== undefined) add(SERVICE, stringOf(service))
  for (const [name, type] of dedicated) add(name, inColumn(stored, name, type) ?? ABSENT_VALUE)
  for (const one of stored)
    if (!isInColumn(one, dedicated, scope)) add(one.key, staticOfValues(one.column, one.values))
  return read
}
