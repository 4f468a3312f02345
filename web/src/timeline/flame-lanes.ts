import type { Span } from '../../../src/query/answer-schemas.ts'
import { FAILED, type SpanRows } from '../cascade/span-rows.ts'
import { colourIndex } from '../parts/service-colour.ts'
import {
  BEING_PLACED,
  CRITICAL,
  ERROR,
  GAP,
  INFERRED,
  MARKER,
  OF_OTHER,
  OPERATOR,
  timelineModel,
  type TimelineModel,
} from './timeline-model.ts'

/** The most lanes below one span. Beyond that, spans overlap. */
const MAX_LANES = 1_000
/** A marker occupies this part of the whole time, so that two at the same moment are in two lanes. */
const MARKER_SHARE = 1 / 120

/**
 * The flame graph by cause: every span is below the span that caused it. An effect may begin after the end of its cause and may overlap
 * with other spans. So a subtree takes as many free lanes as it needs.
 */
export function flameModel({ spans, parents, sizes }: SpanRows): TimelineModel {
  const count = spans.length
  const start = new Float64Array(count)
  const end = new Float64Array(count)
  spans.forEach((span, at) => {
    start[at] = span.offsetMs
    end[at] = span.offsetMs + Math.max(0, span.durationMs)
  })
  const wholeMs = largest(end) - smallest(start)
  const first = start.slice()
  const last = Float64Array.from(end, (endMs, at) => Math.max(endMs, (start[at] ?? 0) + markerMs(at)))
  const height = new Int32Array(count).fill(1)
  const offset = new Int32Array(count)
  const reach = new Float64Array(count)
  const lane = new Int32Array(count)

  function markerMs(at: number): number {
    return spans[at]?.durationMs === 0 ? wholeMs * MARKER_SHARE : 0
  }
  const place = (children: readonly number[], endMs: number): number => {
    if (children.length === 1) return height[children[0] ?? 0] ?? 1
    return stack(children, endMs, { first, last, height, offset })
  }

  for (let at = count - 1; at >= 0; at--) {
    const children: number[] = []
    const behind = at + (sizes[at] ?? 1)
    for (let child = at + 1; child < behind; child += sizes[child] ?? 1) children.push(child)
    if (children.length === 0) continue
    height[at] = 1 + place(children, end[at] ?? 0)
    for (const child of children) {
      first[at] = Math.min(first[at] ?? 0, first[child] ?? 0)
      last[at] = Math.max(last[at] ?? 0, last[child] ?? 0)
      if ((start[child] ?? 0) > (end[at] ?? 0)) reach[at] = Math.max(reach[at] ?? 0, start[child] ?? 0)
    }
  }
  const tops: number[] = []
  for (let at = 0; at < count; at += sizes[at] ?? 1) tops.push(at)
  const laneCount = tops.length === 0 ? 0 : place(tops, Infinity)
  for (let at = 0; at < count; at++) {
    const parent = parents[at] ?? -1
    lane[at] = (parent < 0 ? 0 : (lane[parent] ?? 0) + 1) + (offset[at] ?? 0)
  }
  return timelineModel({
    count,
    start,
    end,
    lane,
    laneCount,
    colour: Uint8Array.from(spans, ({ service }) => colourIndex(service)),
    flags: Uint16Array.from(spans, (span) => flagsOf(span, span.synthetic && span.durationMs === 0)),
    reach,
    span: Int32Array.from(spans, (_span, at) => at),
    groups: [],
  })
}

export function flagsOf(span: Span, isMarker: boolean): number {
  const { critical, status, cause, gap, beingPlaced, activity } = span
  return (
    (critical === true ? CRITICAL : 0) |
    (isMarker ? MARKER : 0) |
    (status === FAILED ? ERROR : 0) |
    (cause === 'inferred' ? INFERRED : cause === 'operator' ? OPERATOR : 0) |
    (gap === true ? GAP : 0) |
    (beingPlaced === true ? BEING_PLACED : 0) |
    (activity === false ? OF_OTHER : 0)
  )
}

interface Subtrees {
  first: Float64Array
  last: Float64Array
  height: Int32Array
  /** The offset of each below the first lane. */
  offset: Int32Array
}

/**
 * Places subtrees below one another where they would overlap. Returns how many lanes they take. Subtrees that end while the span above
 * still runs, such as its own calls, come first, right below it.
 */
function stack(
  children: readonly number[],
  endMs: number,
  { first, last, height, offset }: Subtrees,
): number {
  const inTime = [...children].sort((a, b) => (first[a] ?? 0) - (first[b] ?? 0))
  const lanes: TakenLane[] = []
  for (const isWithin of [true, false]) {
    for (const lane of lanes) lane.lastEnd = -Infinity
    for (const child of inTime) {
      if ((last[child] ?? 0) <= endMs !== isWithin) continue
      const [tall, fromMs, toMs] = [height[child] ?? 1, first[child] ?? 0, last[child] ?? 0]
      const at = firstGap(lanes, tall, fromMs, toMs)
      offset[child] = at
      for (let row = at; row < at + tall; row++)
        take((lanes[row] ??= new TakenLane()), fromMs, toMs, isWithin)
    }
  }
  return lanes.length
}

/** When a lane is occupied: during what was placed there first, and then until `lastEnd`. */
class TakenLane {
  readonly starts: number[] = []
  readonly ends: number[] = []
  lastEnd = -Infinity
}

function take(lane: TakenLane, fromMs: number, toMs: number, isWithin: boolean): void {
  lane.lastEnd = Math.max(lane.lastEnd, toMs)
  if (!isWithin) return
  lane.starts.push(fromMs)
  lane.ends.push(lane.lastEnd)
}

function isFree(lane: TakenLane | undefined, fromMs: number, toMs: number): boolean {
  if (lane === undefined) return true
  if (lane.lastEnd > fromMs) return false
  let low = 0
  let high = lane.ends.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((lane.ends[middle] ?? 0) > fromMs) high = middle
    else low = middle + 1
  }
  return low === lane.starts.length || (lane.starts[low] ?? 0) >= toMs
}

function firstGap(lanes: readonly TakenLane[], tall: number, fromMs: number, toMs: number): number {
  let at = 0
  for (let row = at + tall - 1; row >= at && at < MAX_LANES;) {
    if (isFree(lanes[row], fromMs, toMs)) row--
    else {
      at = row + 1
      row = at + tall - 1
    }
  }
  return at < MAX_LANES ? at : 0
}

function largest(values: Float64Array): number {
  return values.reduce((most, value) => Math.max(most, value), 0)
}

function smallest(values: Float64Array): number {
  return values.reduce((least, value) => Math.min(least, value), Infinity)
}
