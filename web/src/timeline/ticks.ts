import type { Viewport } from './viewport.ts'

const STEPS = [1, 2, 5, 10]
/** Above a minute, ticks are at round clock times. */
const CLOCK_STEPS_MS = [
  60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
]

/** Round moments in the visible part, at most about `most`. */
export function ticks({ fromMs, toMs }: Viewport, most: number): number[] {
  const least = (toMs - fromMs) / Math.max(1, most)
  const step = stepAbove(least)
  const found: number[] = []
  for (let at = Math.ceil(fromMs / step); at * step <= toMs && found.length < 200; at++) found.push(at * step)
  return found
}

function stepAbove(least: number): number {
  if (least > 30_000)
    return CLOCK_STEPS_MS.find((step) => step >= least) ?? Math.ceil(least / 86_400_000) * 86_400_000
  const power = 10 ** Math.floor(Math.log10(least))
  return power * (STEPS.find((step) => step * power >= least) ?? 10)
}
