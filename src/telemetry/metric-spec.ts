/** What kind of number a metric is, and how it comes about. */
export interface MetricSpec {
  kind: 'counter' | 'gauge' | 'histogram'
  unit: string
  labels: readonly string[]
  /** One sentence for the operator. */
  help: string
  /** Upper bounds of a histogram's buckets, in its unit. */
  buckets?: readonly number[]
  /** Its buckets remember a measurement each, with the span it was made in. */
  exemplars?: true
  /** Read when scraped; nothing else sets it. */
  read?: () => number
}

export interface Written<Kind, Labels> extends MetricSpec {
  kind: Kind & MetricSpec['kind']
  labels: Labels & readonly string[]
  exemplars?: never
  read?: never
}
export interface Traced<Labels> extends MetricSpec {
  kind: 'histogram'
  labels: Labels & readonly string[]
  buckets: readonly number[]
  exemplars: true
  read?: never
}
export interface Read extends MetricSpec {
  labels: readonly never[]
  read: () => number
}

export const counter = <const Labels extends readonly string[]>(
  unit: string,
  labels: Labels,
  help: string,
): Written<'counter', Labels> => ({ kind: 'counter', unit, labels, help })

export const gauge = <const Labels extends readonly string[]>(
  unit: string,
  labels: Labels,
  help: string,
): Written<'gauge', Labels> => ({ kind: 'gauge', unit, labels, help })

export const histogram = (unit: string, buckets: number[], help: string): Written<'histogram', []> => ({
  kind: 'histogram',
  unit,
  labels: [],
  help,
  buckets,
})

export const traced = <const Labels extends readonly string[]>(
  labels: Labels,
  buckets: number[],
  help: string,
): Traced<Labels> => ({ kind: 'histogram', unit: 'seconds', labels, help, buckets, exemplars: true })

export const measured = (
  kind: 'counter' | 'gauge',
  unit: string,
  help: string,
  read: () => number,
): Read => ({
  kind,
  unit,
  labels: [],
  help,
  read,
})
