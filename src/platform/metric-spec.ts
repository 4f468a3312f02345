export interface MetricSpec {
  kind: 'counter' | 'gauge' | 'histogram'
  unit: string
  labels: readonly string[]
  /** One sentence for the operator. */
  help: string
  /** Upper bounds of a histogram's buckets, in its unit. */
  buckets?: readonly number[]
  /** Whether its buckets keep exemplars. */
  exemplars?: true
  /** Read when scraped; nothing else sets it. */
  read?: () => number
}

interface Written<Kind, Labels> extends MetricSpec {
  kind: Kind & MetricSpec['kind']
  labels: Labels & readonly string[]
  exemplars?: never
  read?: never
}
interface Traced<Labels> extends MetricSpec {
  kind: 'histogram'
  labels: Labels & readonly string[]
  buckets: readonly number[]
  exemplars: true
  read?: never
}
interface Read extends MetricSpec {
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

export const histogramWithExemplars = <const Labels extends readonly string[]>(
  labels: Labels,
  buckets: number[],
  help: string,
): Traced<Labels> => ({ kind: 'histogram', unit: 'seconds', labels, help, buckets, exemplars: true })

export const readWhenScraped = (
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
