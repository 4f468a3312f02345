import { MIB } from '../../model/time-and-size.ts'
import { nameOfAttribute } from './check-types.ts'
import { ExemplarChoice } from './exemplar-choice.ts'
import type { SpanView } from './fetch-plan.ts'
import { compareTexts, floatOf, isList, lengthOf, numberOf, stringOf, textOf } from './static-values.ts'
import type { Attribute, Metric, SecondStage, Static } from './syntax.ts'
import { TextKeys } from './text-keys.ts'

export interface MetricsRange {
  /** Start of the range, exclusive; `toNs` is inclusive. */
  readonly fromNs: bigint
  readonly toNs: bigint
  readonly stepNs: bigint
  /** Whether the range has one value, as in an instant query. */
  readonly isInstant: boolean
}

export interface Label {
  readonly name: string
  readonly value: Static
}

export interface Exemplar {
  readonly labels: readonly Label[]
  readonly timeNs: bigint
  /** The value of an exemplar; NaN means the value of the series at that time. */
  readonly value: number
}

/** The value of a label. As in Tempo, lists and missing values become the string nil. */
export const labelValue = (value: Static): Static =>
  isList(value.type) || value.type === 'nil' ? NIL_LABEL : value
const NIL_LABEL = stringOf('nil')

/** The value to group by. As in Tempo, an attribute without a scope is that of the span, or else of the resource. */
function groupingValue(span: SpanView, attribute: Attribute): Static {
  if (attribute.scope !== 'any') return span.valueOf(attribute)
  const own = span.valueOf({ ...attribute, scope: 'span' })
  return own.type === 'nil' ? span.valueOf({ ...attribute, scope: 'resource' }) : own
}

/** A series of values, one per interval; NaN is no value. */
export interface Series {
  readonly labels: readonly Label[]
  readonly values: number[]
  readonly exemplars: readonly Exemplar[]
}

/** The intervals of a range. An interval excludes its start and includes its end, which is its timestamp. */
export class Intervals {
  readonly count: number
  readonly #range: MetricsRange

  constructor(range: MetricsRange) {
    this.#range = range
    this.count = range.isInstant ? 1 : Number((range.toNs - range.fromNs) / range.stepNs)
  }

  /** The index of the interval that contains a time; -1 outside the range. */
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

/** Aligns a range to multiples of the step, as Tempo does, so that a time is in the same interval for every query. */
export function alignedRange(fromNs: bigint, toNs: bigint, stepNs: bigint): MetricsRange {
  const from = fromNs - (fromNs % stepNs)
  const past = toNs % stepNs
  const to = past === 0n ? toNs : toNs + stepNs - past
  return { fromNs: from > stepNs ? from - stepNs : from, toNs: to, stepNs, isInstant: false }
}

/** The most values of all series together, and the most exemplars. */
const MOST_VALUES = 2_000_000
const MOST_EXEMPLARS = 100
/** The most characters of the labels of all series together, and of one exemplar. */
const MOST_LABELS = 8 * MIB
const MOST_OF_EXEMPLAR = 65_536
/** How many combinations of values are cached, and the longest one, in characters. */
const MOST_REMEMBERED = 10_000
const LONGEST_REMEMBERED = 1_000
const BUCKET = '__bucket'

type Counted = Extract<Metric, { kind: 'metric' }>

/** The running total of one interval of a series. */
interface Sum {
  count: number
  value: number
  /** The rounding error of `value` so far. */
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
  /** Groups by the values of the grouping attributes. A cache, so that labels are not built for each span. */
  readonly #groupsOfValues = new Map<string, Group>()
  /** The groups of quantiles, without their buckets. */
  readonly #grouped = new Set<string>()
  readonly #keys = new TextKeys()
  #labelsLength = 0
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

  /** Whether series were left out, because there are too many or their labels are too long. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** The attributes that the metric reads. */
  static reads({ of, by }: Counted): Attribute[] {
    return [...(of === undefined ? [] : [of]), ...by]
  }

  /** Counts a span. `traceIdOf` is called only if the span may become an exemplar, which also shows what the search read (`found`). */
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
    this.#exemplars.add(interval, traceId, () => {
      const labels = labelsOfExemplar(traceId, [span, found])
      const exemplar = { labels, timeNs: startNs, value: isValued ? value : NaN }
      return lengthOfLabels(labels) > MOST_OF_EXEMPLAR ? undefined : { of: group, exemplar }
    })
  }

  #groupOf(span: SpanView, bucket: number | undefined): Group | undefined {
    let values = String(bucket)
    for (const attribute of this.#metric.by) {
      const key = this.#keys.ofValue(groupingValue(span, attribute))
      values += ` ${key.length} ${key}`
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
    const group = textOfLabels(labels, this.#keys)
    if (bucket !== undefined) labels.push({ name: BUCKET, value: floatOf(bucket) })
    const [first] = this.#metric.by
    if (labels.length === 0)
      labels.push(
        first === undefined
          ? { name: '__name__', value: stringOf(this.#metric.name) }
          : { name: nameOfAttribute(first), value: NIL_LABEL },
      )
    // By label: all lists have the same one.
    const key = textOfLabels(labels, this.#keys)
    const known = this.#groups.get(key)
    if (known !== undefined) return known
    const length = lengthOfLabels(labels)
    if (!this.#hasRoomFor(group) || this.#labelsLength + length > MOST_LABELS) {
      this.#isCut = true
      return undefined
    }
    this.#labelsLength += length
    this.#grouped.add(group)
    const made: Group = { labels, sums: Array<Sum | undefined>(this.#intervals.count), exemplars: [] }
    this.#groups.set(key, made)
    return made
  }

  /** Whether another group is allowed. For quantiles, a group has one series per quantile, however many buckets it has. */
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

/** The labels of an exemplar: as in Tempo, everything that was read of the span. */
function labelsOfExemplar(traceId: string, read: readonly SpanView[]): Label[] {
  const labels = new Map<string, Static>([['trace:id', stringOf(traceId.replace(/^0+/, ''))]])
  for (const { attribute, value } of read.flatMap((view) => view.all())) {
    const name = nameOfAttribute(attribute)
    if (value.type !== 'nil' && !labels.has(name)) labels.set(name, labelValue(value))
  }
  return [...labels].map(([name, value]) => ({ name, value }))
}

/** The value to measure, durations in seconds; NaN if it is not a number. */
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

/** Adds a value with compensation of rounding errors (Neumaier's summation). */
function addExactly(sum: Sum, value: number): void {
  const total = sum.value + value
  if (Number.isFinite(total))
    sum.lost += Math.abs(sum.value) >= Math.abs(value) ? sum.value - total + value : value - total + sum.value
  sum.value = total
}

/** The bucket: the power of two at or above a value, in seconds for durations. Undefined below two and for non-integers. */
function bucketOf(span: SpanView, of: Attribute): number | undefined {
  const isDuration = of.scope === 'intrinsic' && of.name === 'duration'
  const value: Static = isDuration
    ? { type: 'duration', value: span.stored.endNs - span.stored.startNs }
    : span.valueOf(of)
  if ((value.type !== 'int' && value.type !== 'duration') || value.value < 2n) return undefined
  // Tempo converts attributes to a float first.
  const whole = isDuration ? value.value : BigInt(Number(value.value))
  const power = 2 ** (whole - 1n).toString(2).length
  return value.type === 'duration' ? power / 1e9 : power
}

/** The quantiles computed from buckets: a series for each group and quantile. */
function quantileSeries(groups: readonly Group[], quantiles: readonly number[], count: number): Series[] {
  const byLabels = new Map<string, { labels: readonly Label[]; groups: Group[] }>()
  const keys = new TextKeys()
  for (const group of groups) {
    const labels = group.labels.filter(({ name }) => name !== BUCKET)
    const key = textOfLabels(labels, keys)
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

/** Computes a quantile. Within a bucket it interpolates exponentially between the powers of two. */
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

function textOfLabels(labels: readonly Label[], keys: TextKeys): string {
  return labels.map(({ name, value }) => `${name}=${keys.ofValue(value)}`).join('\u0000')
}

const lengthOfLabels = (labels: readonly Label[]): number =>
  labels.reduce((sum, { name, value }) => sum + name.length + lengthOf(value), 0)

/** Applies a second stage to the series. Yields when others may take a turn. */
export function* secondStage(
  stage: SecondStage,
  series: readonly Series[],
  intervals: number,
): Generator<'', readonly Series[]> {
  yield ''
  return stage.kind === 'keep' ? kept(stage, series) : yield* ranked(stage, series, intervals)
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

/** Keeps the highest or lowest values of each interval. */
function* ranked(
  { kind, limit }: Extract<SecondStage, { kind: 'topk' | 'bottomk' }>,
  series: readonly Series[],
  intervals: number,
): Generator<'', readonly Series[]> {
  if (series.length <= limit) return series
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
    yield ''
  }
  return [...result].map(([{ labels, exemplars }, values]) => ({ labels, values, exemplars }))
}

/** Compares series with equal values as Tempo does: the one with the lesser string labels, or greater numbers, ranks higher. */
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

/** The rank of a label. Numbers are compared by their unsigned bits, so negative ones come last. */
function rankOf(label: Label | undefined): LabelRank {
  if (label === undefined) return { text: '', name: '', type: 0, code: 0 }
  const { name, value } = label
  if (value.type === 'int') return { text: '', name, type: 1, code: BigInt.asUintN(64, value.value) }
  if (value.type === 'float') return { text: '', name, type: 2, code: floatBits(value.value) }
  if (value.type === 'boolean') return { text: '', name, type: 4, code: Number(value.value) }
  return { text: textOf(value), name, type: 3, code: 0 }
}

const floatBits = (value: number): bigint => new DataView(Float64Array.of(value).buffer).getBigUint64(0, true)
