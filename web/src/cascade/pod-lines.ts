import type { CascadePodStatsAnswer } from '../../../src/query/object-answer-schemas.ts'

type Pod = CascadePodStatsAnswer['pods'][number]
type Series = Pod['series'][number]

/** One line of a Pod: values over Unix time in seconds. */
export interface PodLine {
  readonly title: string
  readonly points: Series['points']
  /** A value in words. */
  readonly say: (value: number) => string
}

const TITLES = { cpu: 'CPU', memory: 'Memory', restarts: 'Restarts', throttling: 'Throttled' } as const

const NS_PER_S = 1e9
const KIB = 1_024
const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** What a series shows: values as they are, or how fast they grew. */
export function lineOf(series: Series): PodLine {
  const { kind, container, points, unit, cumulative } = series
  const title = container === null ? TITLES[kind] : `${TITLES[kind]}, ${container}`
  return { title, points: cumulative ? growth(points, unit) : points, say: SAY[kind] }
}

const SAY: Readonly<Record<Series['kind'], (value: number) => string>> = {
  cpu: (value) => (value < 1 ? `${Math.round(value * 1_000)}m` : `${value.toFixed(2)} cores`),
  memory: sizeText,
  restarts: (value) => String(Math.round(value)),
  throttling: (value) => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`,
}

/** Seconds of each second, between points; a counter that begins anew has grown by what it shows. */
function growth(points: Series['points'], unit: string): Series['points'] {
  const scale = unit === 'ns' ? NS_PER_S : 1
  return points.flatMap(({ seconds, value }, at) => {
    const before = points[at - 1]
    if (before === undefined) return []
    const grown = value >= before.value ? value - before.value : value
    return [{ seconds, value: grown / scale / Math.max(1, seconds - before.seconds) }]
  })
}

function sizeText(bytes: number): string {
  let size = bytes
  let unit = 0
  for (; size >= KIB && unit < SIZES.length - 1; unit++) size /= KIB
  return `${size >= 100 || unit === 0 ? Math.round(size) : size.toFixed(1)} ${SIZES[unit]}`
}

export interface TimeRange {
  readonly fromSeconds: number
  readonly toSeconds: number
}

/** From the first point of all Pods, or the begin of the change, to the last. */
export function rangeOf(pods: readonly Pod[], change: TimeRange): TimeRange {
  let { fromSeconds, toSeconds } = change
  for (const { series } of pods)
    for (const { points } of series)
      for (const { seconds } of points) {
        fromSeconds = Math.min(fromSeconds, seconds)
        toSeconds = Math.max(toSeconds, seconds)
      }
  return { fromSeconds, toSeconds: Math.max(toSeconds, fromSeconds + 1) }
}

/** Points that are further apart than this are not joined: nothing was measured between them. */
const GAP_SECONDS = 120

/** The path of a line in a box of 100 by 100, from zero up to the largest value. */
export function pathOf({ points }: PodLine, { fromSeconds, toSeconds }: TimeRange): string {
  const most = Math.max(...points.map(({ value }) => value), Number.MIN_VALUE)
  let before = -Infinity
  return points
    .map(({ seconds, value }) => {
      const x = (100 * (seconds - fromSeconds)) / (toSeconds - fromSeconds)
      const y = 100 - (100 * Math.max(0, value)) / most
      const move = seconds - before > GAP_SECONDS ? 'M' : 'L'
      before = seconds
      // A point alone has to be seen too.
      return move === 'M' ? `M${x.toFixed(2)} ${y.toFixed(2)}h0.01` : `L${x.toFixed(2)} ${y.toFixed(2)}`
    })
    .join('')
}
