/** Boxes in lanes over time, ready to be drawn. All arrays have one entry per box. */
export interface TimelineModel {
  count: number
  /** Milliseconds after the beginning. */
  start: Float64Array
  end: Float64Array
  lane: Int32Array
  laneCount: number
  colour: Uint8Array
  flags: Uint16Array
  /** The end of a line behind the box to its effects; 0 for none. */
  reach: Float64Array
  /** The position of the box's span in the list of spans. */
  span: Int32Array
  /** Boxes by lane, then by start. Lane n has the entries from laneFrom[n] to laneFrom[n + 1]. */
  order: Int32Array
  laneFrom: Int32Array
  /** Names of groups of lanes, shown beside them. */
  groups: readonly LaneGroup[]
  fromMs: number
  toMs: number
}

export interface LaneGroup {
  firstLane: number
  laneCount: number
  label: string
}

export const CRITICAL = 1
export const MARKER = 2
export const ERROR = 4
/** Only observed, not changed: drawn as an outline. */
export const HOLLOW = 8
/** A write whose cause is inferred, a write of an operator, and a write before which versions were not seen. */
export const INFERRED = 16
export const OPERATOR = 32
export const GAP = 64
/** Its place is not decided yet: drawn as a dashed outline. */
export const BEING_PLACED = 128

/** Another change drives it: drawn pale, with stripes. */
export const OF_OTHER = 256

type Boxes = Omit<TimelineModel, 'order' | 'laneFrom' | 'fromMs' | 'toMs'>

/** Sorts the boxes, lane by lane. */
export function timelineModel(boxes: Boxes): TimelineModel {
  const { count, lane, laneCount, start, end } = boxes
  const laneFrom = new Int32Array(laneCount + 1)
  for (let box = 0; box < count; box++) add(laneFrom, (lane[box] ?? 0) + 1, 1)
  for (let at = 0; at < laneCount; at++) add(laneFrom, at + 1, laneFrom[at] ?? 0)
  const order = new Int32Array(count)
  const next = laneFrom.slice()
  for (let box = 0; box < count; box++) {
    const at = lane[box] ?? 0
    order[next[at] ?? 0] = box
    add(next, at, 1)
  }
  for (let at = 0; at < laneCount; at++) {
    order.subarray(laneFrom[at], laneFrom[at + 1]).sort((a, b) => (start[a] ?? 0) - (start[b] ?? 0))
  }
  let fromMs = Infinity
  let toMs = -Infinity
  for (let box = 0; box < count; box++) {
    fromMs = Math.min(fromMs, start[box] ?? 0)
    toMs = Math.max(toMs, end[box] ?? 0)
  }
  if (count === 0) [fromMs, toMs] = [0, 1]
  if (toMs <= fromMs) toMs = fromMs + 1
  return { ...boxes, order, laneFrom, fromMs, toMs }
}

function add(list: Int32Array, at: number, value: number): void {
  list[at] = (list[at] ?? 0) + value
}
