import { nameOfAttribute } from './check-types.ts'
import { ExemplarChoice } from './exemplar-choice.ts'
import type { SpanView } from './fetch-plan.ts'
import { compareTexts, floatOf, isList, numberOf, stringOf, textOf } from './static-values.ts'
import type { Attribute, Metric, SecondStage, Static } from './syntax.ts'

export interface MetricsRange {
  /** Spans that started after `fromNs`, up to and including the end. */
  readonly fromNs: bigint
  readonly toNs: bigint
  readonly stepNs: bigint
  /** One value for the whole range. */
  readonly isInstant: boolean
}

export interface Label {
  readonly name: string
  readonly value: Static
}

export interface Exemplar {
  readonly labels: readonly Label[]
  readonly timeNs: bigint
  /** NaN for the value of the series at that time. */
  readonly value: number
}

/** In Tempo lists have the label of what has no value, which is a text. */
export const labelValue = (value: Static): Static =>
  isList(value.type) || value.type === 'nil' ? NIL_LABEL : value
const NIL_LABEL = stringOf('nil')

/** Tempo groups by an attribute of any scope as by that of the span, or else of its resource. */
function groupingValue(span: SpanView, attribute: Attribute): Static {
  if (attribute.scope !== 'any') return span.valueOf(attribute)
  const own = span.valueOf({ ...attribute, scope: 'span' })
  return own.type === 'nil' ? span.valueOf({ ...attribute, scope: 'resource' }) : own
}

/** Values by interval; NaN if there is none. */
export interface Series {
  readonly labels: readonly Label[]
  readonly values: number[]
  readonly exemplars: readonly Exemplar[]
}

/** The intervals of a range. Each excludes its beginning and includes its end, which is its time. */
export class Intervals {
  readonly count: number
  readonly #range: MetricsRange

  constructor(range: MetricsRange) {
    this.#range = range
    this.count = range.isInstant ? 1 : Number((range.toNs - range.fromNs) / range.stepNs)
  }

  /** -1 for a time outside of the range. */
  of(timeNs: bigint): number {
    const { fromNs, toNs, stepNs, isInstant } = this.#range
    if (timeNs <= fromNs || timeNs > toNs) return -1
    return isInstant ? 0 : Number((timeNs - fromNs - 1n) / stepNs)
  }

  timeMs(interval: number): bigint {
    const { fromNs, toNs, stepNs, isInstant } = this.#range
    return (isInstant ? toNs : fromNs + (BigInt(interval) + 1n) * stepNs) / 1_000_000n
  }
}

/** Aligned as in Tempo, so that a moment falls into the same interval in every query. */
export function alignedRange(fromNs: bigint, toNs: bigint, stepNs: bigint): MetricsRange {
  const from = fromNs - (fromNs % stepNs)
  const past = toNs % stepNs
  const to = past === 0n ? toNs : toNs + stepNs - past
  return { fromNs: from > stepNs ? from - stepNs : from, toNs: to, stepNs, isInstant: false }
}

/** The most values of all series together, and the most exemplars. */
const MOST_VALUES = 2_000_000
const MOST_EXEMPLARS = 100
/** How many combinations of values are remembered, and of what length. */
const MOST_REMEMBERED = 10_000
const LONGEST_REMEMBERED = 1_000
const BUCKET = '__bucket'

type Counted = Extract<Metric, { kind: 'metric' }>

/** Sums up one value in one interval of one series. */
interface Sum {
  count: number
  value: number
  /** What rounding has lost of the value. */
  lost: number
}

interface Group {
  readonly labels: readonly Label[]
  readonly sums: (Sum | undefined)[]
  readonly exemplars: Exemplar[]
}

/** Computes a metric from spans. */
export class MetricSeries {
  readonly #metric: Counted
  readonly #intervals: Intervals
  readonly #stepSeconds: number
  readonly #most: number
  readonly #exemplars: ExemplarChoice<{ readonly of: Group; readonly exemplar: Exemplar }>
  readonly #mostGroups: number
  readonly #groups = new Map<string, Group>()
  /** Of values that came lately: labels are not made again for each span. */
  readonly #groupsOfValues = new Map<string, Group>()
  /** Groups of quantiles have many buckets. */
  readonly #grouped = new Set<string>()
  #isCut = false

  constructor(metric: Counted, range: MetricsRange, limits: { series: number; exemplars: number }) {
    this.#metric = metric
    this.#intervals = new Intervals(range)
    const lengthNs = range.isInstant ? range.toNs - range.fromNs : range.stepNs
    this.#stepSeconds = Number(lengthNs) / 1e9
    this.#mostGroups = Math.max(1, Math.floor(MOST_VALUES / this.#intervals.count))
    this.#most = Math.min(limits.series, this.#mostGroups)
    const exemplars = range.isInstant ? 0 : Math.min(limits.exemplars, MOST_EXEMPLARS)
    this.#exemplars = new ExemplarChoice(exemplars, this.#intervals.count)
  }

  /** There are more series than allowed. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** The attributes that the metric reads. */
  static reads({ of, by }: Counted): Attribute[] {
    return [...(of === undefined ? [] : [of]), ...by]
  }

  /**
   * Counts a span, with what the metric reads of it. Where it may become an exemplar, the id of its trace is asked for, and it is shown
   * with what it was found by.
   */
  add(span: SpanView, traceIdOf: () => string, found = span): void {
    const { startNs } = span.stored
    const interval = this.#intervals.of(startNs)
    if (interval < 0) return
    const { name, of } = this.#metric
    const value = of === undefined ? NaN : measured(span, of)
    const isBucketed = name === 'histogram_over_time' || name === 'quantile_over_time'
    const bucket = isBucketed && of !== undefined ? bucketOf(span, of) : undefined
    if (isBucketed && bucket === undefined) return
    if (name === 'avg_over_time' && Number.isNaN(value)) return
    const group = this.#groupOf(span, bucket)
    if (group === undefined) return
    const sum = (group.sums[interval] ??= { count: 0, value: NaN, lost: 0 })
    sum.count++
    if (!Number.isNaN(value)) combine(name, sum, value)
    if (!this.#exemplars.hasRoomIn(interval)) return
    const traceId = traceIdOf()
    const isValued = of !== undefined && name !== 'histogram_over_time'
    this.#exemplars.add(interval, traceId, () => ({
      of: group,
      exemplar: {
        labels: labelsOfExemplar(traceId, [span, found]),
        timeNs: startNs,
        value: isValued ? value : NaN,
      },
    }))
  }

  #groupOf(span: SpanView, bucket: number | undefined): Group | undefined {
    let values = String(bucket)
    for (const attribute of this.#metric.by) {
      const value = groupingValue(span, attribute)
      const text = textOf(value)
      values += ` ${value.type} ${text.length} ${text}`
    }
    const remembered = this.#groupsOfValues.get(values)
    if (remembered !== undefined) return remembered
    const group = this.#groupOfLabels(span, bucket)
    if (this.#groupsOfValues.size >= MOST_REMEMBERED) this.#groupsOfValues.clear()
    if (group !== undefined && values.length <= LONGEST_REMEMBERED) this.#groupsOfValues.set(values, group)
    return group
  }

  #groupOfLabels(span: SpanView, bucket: number | undefined): Group | undefined {
    const labels = this.#labelsOf(span)
    const group = textOfLabels(labels)
    if (bucket !== undefined) labels.push({ name: BUCKET, value: floatOf(bucket) })
    const [first] = this.#metric.by
    if (labels.length === 0)
      labels.push(
        first === undefined
          ? { name: '__name__', value: stringOf(this.#metric.name) }
          : { name: nameOfAttribute(first), value: NIL_LABEL },
      )
    // By what is shown: all lists have the same label.
    const key = textOfLabels(labels)
    const known = this.#groups.get(key)
    if (known !== undefined) return known
    if (!this.#hasRoomFor(group)) {
      this.#isCut = true
      return undefined
    }
    this.#grouped.add(group)
    const made: Group = { labels, sums: Array<Sum | undefined>(this.#intervals.count), exemplars: [] }
    this.#groups.set(key, made)
    return made
  }

  /** For quantiles, each group has one series per quantile, whatever its buckets. */
  #hasRoomFor(group: string): boolean {
    const { name, quantiles } = this.#metric
    if (name !== 'quantile_over_time') return this.#groups.size < this.#most
    if (this.#groups.size >= this.#mostGroups) return false
    return this.#grouped.has(group) || (this.#grouped.size + 1) * quantiles.length <= this.#most
  }

  #labelsOf(span: SpanView): Label[] {
    return this.#metric.by.flatMap((attribute) => {
      const value = groupingValue(span, attribute)
      return value.type === 'nil' ? [] : [{ name: nameOfAttribute(attribute), value: labelValue(value) }]
    })
  }

  results(): Series[] {
    for (const { of, exemplar } of this.#exemplars.chosen) of.exemplars.push(exemplar)
    const groups = [...this.#groups.values()]
    const { name, by, quantiles } = this.#metric
    if (name === 'quantile_over_time') return quantileSeries(groups, quantiles, this.#intervals.count)
    const isCount = name === 'rate' || name === 'count_over_time' || name === 'histogram_over_time'
    if (groups.length === 0 && by.length === 0 && isCount && name !== 'histogram_over_time')
      groups.push({
        labels: [{ name: '__name__', value: stringOf(name) }],
        sums: Array<Sum | undefined>(this.#intervals.count),
        exemplars: [],
      })
    return groups.map(({ labels, sums, exemplars }) => ({
      labels,
      values: Array.from(sums, (sum) => this.#valueOf(sum, isCount)),
      exemplars,
    }))
  }

  #valueOf(sum: Sum | undefined, isCount: boolean): number {
    if (this.#metric.name === 'rate') return (sum?.count ?? 0) * (1 / this.#stepSeconds)
    if (isCount) return sum?.count ?? 0
    return sum === undefined ? NaN : sum.value + sum.lost
  }
}

/** As in Tempo, all that was read of the span. */
function labelsOfExemplar(traceId: string, read: readonly SpanView[]): Label[] {
  const labels = new Map<string, Static>([['trace:id', stringOf(traceId.replace(/^0+/, ''))]])
  for (const { attribute, value } of read.flatMap((view) => view.all())) {
    const name = nameOfAttribute(attribute)
    if (value.type !== 'nil' && !labels.has(name)) labels.set(name, labelValue(value))
  }
  return [...labels].map(([name, value]) => ({ name, value }))
}

/** Durations in seconds. NaN for a value that is not a number. */
function measured(span: SpanView, of: Attribute): number {
  if (of.scope === 'intrinsic' && of.name === 'duration')
    return Number(span.stored.endNs - span.stored.startNs) / 1e9
  return numberOf(span.valueOf(of))
}

function combine(name: Counted['name'], sum: Sum, value: number): void {
  if (Number.isNaN(sum.value)) {
    ;[sum.value, sum.count] = [value, 1]
    return
  }
  if (name === 'min_over_time') sum.value = Math.min(sum.value, value)
  else if (name === 'max_over_time') sum.value = Math.max(sum.value, value)
  else if (name === 'sum_over_time') addExactly(sum, value)
  else if (name === 'avg_over_time') addExactly(sum, value / sum.count - sum.value / sum.count)
}

/** Adds, and keeps what rounding loses (Neumaier). */
function addExactly(sum: Sum, value: number): void {
  const total = sum.value + value
  if (Number.isFinite(total))
    sum.lost += Math.abs(sum.value) >= Math.abs(value) ? sum.value - total + value : value - total + sum.value
  sum.value = total
}

/** The power of two at or above a value; in seconds for durations. Undefined for values below two and for non-integers. */
function bucketOf(span: SpanView, of: Attribute): number | undefined {
  const isDuration = of.scope === 'intrinsic' && of.name === 'duration'
  const value: Static = isDuration
    ? { type: 'duration', value: span.stored.endNs - span.stored.startNs }
    : span.valueOf(of)
  if ((value.type !== 'int' && value.type !== 'duration') || value.value < 2n) return undefined
  // Tempo makes a float of an attribute before it looks for its power.
  const whole = isDuration ? value.value : BigInt(Number(value.value))
  const power = 2 ** (whole - 1n).toString(2).length
  return value.type === 'duration' ? power / 1e9 : power
}

/** Quantiles of buckets: a series for each group and quantile. */
function quantileSeries(groups: readonly Group[], quantiles: readonly number[], count: number): Series[] {
  const byLabels = new Map<string, { labels: readonly Label[]; groups: Group[] }>()
  for (const group of groups) {
    const labels = group.labels.filter(({ name }) => name !== BUCKET)
    const key = textOfLabels(labels)
    const known = byLabels.get(key)
    if (known === undefined) byLabels.set(key, { labels, groups: [group] })
    else known.groups.push(group)
  }
  const total = quantiles.map((quantile) =>
    quantileOf(
      quantile,
      bucketsOf(groups, (sums) => sums),
    ),
  )
  return [...byLabels.values()].flatMap(({ labels, groups: own }) => {
    const buckets = Array.from({ length: count }, (_, interval) => bucketsOf(own, (sums) => [sums[interval]]))
    return quantiles.map((quantile, at) => ({
      labels: [...labels, { name: 'p', value: floatOf(quantile) }],
      values: buckets.map((ofInterval) => quantileOf(quantile, ofInterval)),
      exemplars: own.flatMap(({ exemplars }) =>
        exemplars.filter(({ value }) => nearest(value, total) === at),
      ),
    }))
  })
}

function nearest(value: number, among: readonly number[]): number {
  const distances = among.map((one) => Math.abs(one - value))
  return distances.indexOf(Math.min(...distances))
}

interface Bucket {
  readonly most: number
  readonly count: number
}

function bucketsOf(
  groups: readonly Group[],
  among: (sums: readonly (Sum | undefined)[]) => readonly (Sum | undefined)[],
): Bucket[] {
  const counts = new Map<number, number>()
  for (const { labels, sums } of groups) {
    const bucket = labels.find(({ name }) => name === BUCKET)
    const count = among(sums).reduce((all, sum) => all + (sum?.count ?? 0), 0)
    const most = bucket === undefined ? NaN : numberOf(bucket.value)
    if (count > 0) counts.set(most, (counts.get(most) ?? 0) + count)
  }
  return [...counts].map(([most, count]) => ({ most, count })).sort((a, b) => a.most - b.most)
}

/** Interpolates exponentially between powers of two. */
function quantileOf(quantile: number, buckets: readonly Bucket[]): number {
  const all = buckets.reduce((sum, { count }) => sum + count, 0)
  if (all === 0) return 0
  const wanted = Math.max(1, Math.ceil(quantile * all))
  let before = 0
  for (const [at, { most, count }] of buckets.entries()) {
    if (before + count > wanted) {
      const upper = Math.log2(most)
      const lower = Math.log2(buckets[at - 1]?.most ?? 2 ** (upper - 1))
      return 2 ** (lower + (upper - lower) * ((wanted - before) / count))
    }
    before += count
    if (before === wanted) return most
  }
  return buckets.at(-1)?.most ?? 0
}

function textOfLabels(labels: readonly Label[]): string {
  return labels.map(({ name, value }) => `${name}=${value.type}:${textOf(value)}`).join('\u0000')
}

/** Applies the last stage to the series. */
export function secondStage(stage: SecondStage, series: readonly Series[], intervals: number): Series[] {
  return stage.kind === 'keep' ? kept(stage, series) : ranked(stage, series, intervals)
}

function kept(
  { operator, value }: Extract<SecondStage, { kind: 'keep' }>,
  series: readonly Series[],
): Series[] {
  const isKept = (one: number): boolean => {
    if (Number.isNaN(one)) return false
    if (operator === '=') return one === value
    if (operator === '!=') return one !== value
    if (operator === '>') return one > value
    if (operator === '>=') return one >= value
    return operator === '<' ? one < value : one <= value
  }
  return series
    .map((one) => ({
      labels: one.labels,
      values: one.values.map((number) => (isKept(number) ? number : NaN)),
      exemplars: one.exemplars.filter((exemplar) => isKept(exemplar.value)),
    }))
    .filter(({ values }) => values.some((number) => !Number.isNaN(number)))
}

/** The highest or the lowest in each interval. */
function ranked(
  { kind, limit }: Extract<SecondStage, { kind: 'topk' | 'bottomk' }>,
  series: readonly Series[],
  intervals: number,
): Series[] {
  if (series.length <= limit) return [...series]
  const result = new Map<Series, number[]>()
  const direction = kind === 'topk' ? -1 : 1
  for (let interval = 0; interval < intervals; interval++) {
    const valueAt = (one: Series): number => one.values[interval] ?? NaN
    const best = series
      .filter((one) => !Number.isNaN(valueAt(one)))
      .toSorted((a, b) => {
        const difference = valueAt(a) - valueAt(b)
        return (difference === 0 ? orderOfLabels(a.labels, b.labels) : difference) * direction
      })
    for (const one of best.slice(0, limit)) {
      const values = result.get(one) ?? Array<number>(intervals).fill(NaN)
      values[interval] = valueAt(one)
      result.set(one, values)
    }
  }
  return [...result].map(([{ labels, exemplars }, values]) => ({ labels, values, exemplars }))
}

/** Of series with equal values, Tempo takes that one for higher whose texts come first and whose numbers are greater. */
function orderOfLabels(left: readonly Label[], right: readonly Label[]): number {
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [one, other] = [rankOf(left[at]), rankOf(right[at])]
    const order =
      compareTexts(other.text, one.text) ||
      compareTexts(other.name, one.name) ||
      one.type - other.type ||
      (one.code < other.code ? -1 : Number(one.code > other.code))
    if (order !== 0) return order
  }
  return 0
}

interface LabelRank {
  readonly text: string
  readonly name: string
  readonly type: number
  readonly code: number | bigint
}

/** Negative numbers come last, as their bits do without a sign. */
function rankOf(label: Label | undefined): LabelRank {
  if (label === undefined) return { text: '', name: '', type: 0, code: 0 }
  const { name, value } = label
  if (value.type === 'int') return { text: '', name, type: 1, code: BigInt.asUintN(64, value.value) }
  if (value.type === 'float') return { text: '', name, type: 2, code: floatBits(value.value) }
  if (value.type === 'boolean') return { text: '', name, type: 4, code: Number(value.value) }
  return { text: textOf(value), name, type: 3, code: 0 }
}

const floatBits = (value: number): bigint => new DataView(Float64Array.of(value).buffer).getBigUint64(0, true)
