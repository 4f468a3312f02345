const STEPS = [1, 2, 2.5, 5, 10]
const MAX_STEPS = 6

/** Round numbers from 0 to `most` or a little beyond, seven at most. */
export function niceTicks(most: number): number[] {
  if (!(most > 0)) return [0, 1]
  const magnitude = 10 ** Math.floor(Math.log10(most / MAX_STEPS))
  const step = magnitude * (STEPS.find((times) => times * magnitude * MAX_STEPS >= most) ?? 10)
  const count = Math.ceil(most / step - 1e-9)
  // Twelve digits are more than any figure has, and fewer than those that binary fractions get wrong.
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)))
}

/** Powers of ten around all of `values`, each above 0. */
export function powersOfTen(values: readonly number[]): number[] {
  const from = Math.floor(Math.log10(Math.min(...values)))
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at))
}

/** Such as 10 k or 2.5 M. */
export function shortNumber(value: number): string {
  if (value >= 1e6) return `${value / 1e6} M`
  if (value >= 1e4) return `${value / 1e3} k`
  return value.toLocaleString('en-US')
}
