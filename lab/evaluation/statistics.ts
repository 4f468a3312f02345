/** Of several measurements of one thing. */
export interface Sample {
  mean: number
  /** Of the mean; 0 for a single measurement. */
  standardError: number
  min: number
  max: number
}

export function sampleOf(values: readonly number[]): Sample {
  const mean = meanOf(values)
  return { mean, standardError: standardError(values), min: Math.min(...values), max: Math.max(...values) }
}

/** NaN of nothing. */
export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Of the mean: the sample's standard deviation by the root of its size. */
function standardError(values: readonly number[]): number {
  if (values.length < 2) return 0
  const mean = meanOf(values)
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return Math.sqrt(squares / (values.length - 1) / values.length)
}

export interface Quartiles {
  median: number
  lower: number
  upper: number
}

export function quartilesOf(values: readonly number[]): Quartiles {
  return { median: quantile(values, 0.5), lower: quantile(values, 0.25), upper: quantile(values, 0.75) }
}

/** Between two values by their distance (the common definition 7 of Hyndman and Fan); NaN of nothing. */
function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  const place = part * (sorted.length - 1)
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

/**
 * Where the median of all such values lies, with about 95 % confidence and whatever their distribution: by the ranks that
 * as many tosses of a coin would hardly pass. All that was measured, of fewer than six.
 */
export function medianInterval(values: readonly number[]): { from: number; to: number } {
  const sorted = [...values].sort((one, other) => one - other)
  const rank = Math.max(1, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2))
  return { from: sorted[rank - 1] ?? Number.NaN, to: sorted.at(-rank) ?? Number.NaN }
}
