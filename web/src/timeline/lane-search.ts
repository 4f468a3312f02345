import { AXIS_HEIGHT, LANE_HEIGHT, timeToX, xToTime, type Scene } from './scene.ts'
import type { TimelineModel } from './timeline-model.ts'

/** Markers and narrow boxes can be hit from this distance in pixels. */
const NEAR = 7

/** The index in `order` of the first box of a lane that ends after a moment. */
export function firstEndingAfter({ order, laneFrom, end }: TimelineModel, lane: number, ms: number): number {
  let low = laneFrom[lane] ?? 0
  let high = laneFrom[lane + 1] ?? low
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((end[order[middle] ?? 0] ?? 0) > ms) high = middle
    else low = middle + 1
  }
  return low
}

/** The box at a point of the canvas, or the nearest within a few pixels; -1 if there is none. */
export function boxAt(scene: Scene, x: number, y: number): number {
  const { model, scrollTop, gutter } = scene
  if (y < AXIS_HEIGHT || x < gutter) return -1
  const lane = Math.floor((y - AXIS_HEIGHT + scrollTop) / LANE_HEIGHT)
  if (lane < 0 || lane >= model.laneCount) return -1
  const { order, laneFrom, start, end } = model
  const from = Math.max(laneFrom[lane] ?? 0, firstEndingAfter(model, lane, xToTime(scene, x - NEAR)) - 1)
  let best = -1
  let bestFar = NEAR + 1
  for (let at = from; at < (laneFrom[lane + 1] ?? 0); at++) {
    const box = order[at] ?? 0
    const left = timeToX(scene, start[box] ?? 0)
    if (left > x + NEAR) break
    const far = Math.max(left - x, x - timeToX(scene, end[box] ?? 0), 0)
    if (far < bestFar) [best, bestFar] = [box, far]
  }
  return best
}
