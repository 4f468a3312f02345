/** One thing a section measures. */
export interface Figure {
  label: string
  unit: string
  /** Digits after the point. */
  digits: number
  target?: { atLeast: number } | { atMost: number }
}

/** How one thing grows with another, to be drawn: a median with its spread at each place. */
export interface Curve {
  title: string
  xLabel: string
  yLabel: string
  /** Each step along the axis is ten times the one before. */
  isLogX?: boolean
  series: { name: string; points: { x: number; median: number; min: number; max: number }[] }[]
}

/** What the rounds of a section measured: a value of each figure a round. */
export interface SectionResult {
  name: string
  about: string
  figures: Record<string, Figure>
  rounds: Record<string, number>[]
  curves?: Curve[]
}

export interface Spread {
  median: number
  min: number
  max: number
}

/** Rounds that did not measure the figure are passed over; undefined when none did. */
export function spreadOf(rounds: readonly Record<string, number>[], key: string): Spread | undefined {
  const values = rounds
    .map((round) => round[key] ?? Number.NaN)
    .filter((value) => !Number.isNaN(value))
    .sort((a, b) => a - b)
  if (values.length === 0) return undefined
  return { median: medianOf(values), min: percentile(values, 0), max: percentile(values, 1) }
}

/** Of values in order of size: the middle one, or half way between the two in the middle. */
function medianOf(sorted: readonly number[]): number {
  const middle = (sorted.length - 1) / 2
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
}

/** Of values in order of size; between two values the nearest rank. */
export function percentile(sorted: readonly number[], part: number): number {
  const rank = Math.min(sorted.length - 1, Math.round(part * (sorted.length - 1)))
  return sorted[rank] ?? Number.NaN
}

export function isMet({ target }: Figure, { median }: Spread): boolean | undefined {
  if (target === undefined) return undefined
  return 'atLeast' in target ? median >= target.atLeast : median <= target.atMost
}
