import { COLOURS, INK } from '../parts/service-colour.ts'
import { duration } from '../text/duration.ts'
import { fitted } from './fitted-text.ts'
import { firstEndingAfter } from './lane-search.ts'
import { AXIS_HEIGHT, LANE_HEIGHT, type Scene, timeToX, xToTime } from './scene.ts'
import {
  BEING_PLACED,
  CRITICAL,
  ERROR,
  GAP,
  HOLLOW,
  INFERRED,
  MARKER,
  OF_OTHER,
  OPERATOR,
} from './timeline-model.ts'
import type { CanvasColours } from './canvas-colours.ts'
import type { Viewport } from './viewport.ts'

const BOX_HEIGHT = 17
const MARKER_WIDTH = 7
const NARROWEST_LABEL = 26
const DASH = 3
const DIMMED = 0.22
/** The opacity of the stripes on spans that other changes drive, and their distance. */
const PALE = 0.35
const STRIPES = 8

/** Draws the visible boxes. Boxes narrower than a pixel are drawn once per pixel. */
export function drawTimeline(context: CanvasRenderingContext2D, scene: Scene): void {
  const { model, colours, width, height, scrollTop, gutter } = scene
  context.fillStyle = colours.ground
  context.fillRect(0, 0, width, height)
  context.textBaseline = 'middle'
  context.font = `11px ${colours.font}`
  drawTicks(context, scene)
  context.save()
  context.beginPath()
  context.rect(gutter, AXIS_HEIGHT, width - gutter, height - AXIS_HEIGHT)
  context.clip()
  const firstLane = Math.max(0, Math.floor(scrollTop / LANE_HEIGHT))
  const lastLane = Math.min(model.laneCount - 1, Math.ceil((scrollTop + height) / LANE_HEIGHT))
  for (let lane = firstLane; lane <= lastLane; lane++) drawLane(context, scene, lane)
  context.restore()
  drawGroups(context, scene)
}

function drawTicks(context: CanvasRenderingContext2D, scene: Scene): void {
  const { colours, view, width, height, gutter } = scene
  context.strokeStyle = colours.line
  context.lineWidth = 1
  context.beginPath()
  const moments = ticks(view, (width - gutter) / 90)
  for (const ms of moments) {
    const x = Math.round(timeToX(scene, ms)) + 0.5
    if (x < gutter) continue
    context.moveTo(x, 0)
    context.lineTo(x, height)
  }
  context.moveTo(0, AXIS_HEIGHT - 0.5)
  context.lineTo(width, AXIS_HEIGHT - 0.5)
  context.stroke()
  context.fillStyle = colours.muted
  for (const ms of moments) {
    const x = timeToX(scene, ms)
    const text = ms === 0 ? '0' : duration(ms)
    if (x >= gutter - 1 && x + 4 + context.measureText(text).width <= width)
      context.fillText(text, x + 4, AXIS_HEIGHT / 2)
  }
}

function drawLane(context: CanvasRenderingContext2D, scene: Scene, lane: number): void {
  const { model, view, width, scrollTop } = scene
  const { order, laneFrom, start, end } = model
  const last = laneFrom[lane + 1] ?? 0
  const y = AXIS_HEIGHT + lane * LANE_HEIGHT - scrollTop + 1
  // Lines and markers extend beyond their box to the right, so one more box on the left is checked.
  let at = Math.max(laneFrom[lane] ?? 0, firstEndingAfter(model, lane, view.fromMs) - 1)
  while (at < last) {
    const box = order[at] ?? 0
    const from = timeToX(scene, start[box] ?? 0)
    if (from > width) return
    const to = timeToX(scene, end[box] ?? 0)
    const next = at + 1 < last ? timeToX(scene, start[order[at + 1] ?? 0] ?? 0) : width
    drawBox(context, scene, { box, from, to, next, y })
    at = to - from < 1 && next < from + 1 ? Math.max(at + 1, startingAtPixel(scene, lane, from + 1)) : at + 1
  }
}

/** The first box of a lane that extends beyond a pixel. */
function startingAtPixel(scene: Scene, lane: number, x: number): number {
  return firstEndingAfter(scene.model, lane, xToTime(scene, x))
}

interface Placed {
  box: number
  from: number
  to: number
  /** Where the next box of the lane begins. */
  next: number
  y: number
}

function drawBox(context: CanvasRenderingContext2D, scene: Scene, { box, from, to, next, y }: Placed): void {
  const { model, colours, chosen, lit, width, gutter } = scene
  const span = model.span[box] ?? 0
  const flags = model.flags[box] ?? 0
  const colour = COLOURS[model.colour[box] ?? 0] ?? COLOURS[0]
  const isLit = lit === undefined || lit[span] === 1 || span === chosen
  const left = Math.max(from, gutter - 4)
  const right = Math.min(Math.max(to, from + 1.5), width + 4)
  const reach = model.reach[box] ?? 0
  context.globalAlpha = isLit ? 1 : DIMMED
  if (reach > 0) {
    context.fillStyle = colours.edge
    context.fillRect(left, y + BOX_HEIGHT - 1, timeToX(scene, reach) - left, 1)
  }
  context.fillStyle = colour
  if ((flags & MARKER) !== 0) {
    drawMarker(context, from, y)
    drawMarkerLabel(context, scene, { box, from, to, next, y })
  } else {
    const isOutline = (flags & (HOLLOW | BEING_PLACED)) !== 0
    if (isOutline) drawOutline(context, { left, right, y, colour, isBroken: (flags & BEING_PLACED) !== 0 })
    else if ((flags & OF_OTHER) !== 0)
      drawOfOther(context, { left, right, y, colour, ground: colours.ground })
    else context.fillRect(left, y, right - left, BOX_HEIGHT)
    const inset = (flags & ERROR) !== 0 ? 7 : 4
    const room = Math.min(right, width) - left - inset - 4
    if (room >= NARROWEST_LABEL) {
      context.fillStyle = isOutline || (flags & OF_OTHER) !== 0 ? colours.ink : INK
      const text = (flags & ERROR) !== 0 ? `failed: ${scene.label(span)}` : scene.label(span)
      context.fillText(fitted(text, room), left + inset, y + BOX_HEIGHT / 2 + 0.5)
    }
    drawSeen(context, colours, { flags, left, right, y })
    if ((flags & ERROR) !== 0) {
      drawFailed(context, { left, right, y, colour: colours.bad })
    }
    if ((flags & CRITICAL) !== 0) {
      context.fillStyle = colours.ink
      context.fillRect(left, y + BOX_HEIGHT - 2, Math.max(2, right - left), 3)
    }
  }
  context.globalAlpha = 1
  if (span === chosen) {
    context.strokeStyle = colours.ink
    context.lineWidth = 2
    const isMarker = (flags & MARKER) !== 0
    const x = isMarker ? from - MARKER_WIDTH : left
    context.strokeRect(x - 1, y - 0.5, (isMarker ? 2 * MARKER_WIDTH : right - left) + 2, BOX_HEIGHT + 1)
  }
}

/** Pale with slanting stripes and a thin frame: not work of this change. */
function drawOfOther(
  context: CanvasRenderingContext2D,
  {
    left,
    right,
    y,
    colour,
    ground,
  }: { left: number; right: number; y: number; colour: string; ground: string },
): void {
  const width = right - left
  context.fillStyle = ground
  context.fillRect(left, y, width, BOX_HEIGHT)
  context.save()
  context.beginPath()
  context.rect(left, y, width, BOX_HEIGHT)
  context.clip()
  context.globalAlpha *= PALE
  context.fillRect(left, y, width, BOX_HEIGHT)
  context.strokeStyle = colour
  context.lineWidth = 2
  context.beginPath()
  for (let x = left - BOX_HEIGHT; x < right; x += STRIPES) {
    context.moveTo(x, y + BOX_HEIGHT)
    context.lineTo(x + BOX_HEIGHT, y)
  }
  context.stroke()
  context.restore()
  context.strokeStyle = colour
  context.lineWidth = 1
  context.strokeRect(left + 0.5, y + 0.5, Math.max(1, width - 1), BOX_HEIGHT - 1)
}

/** A frame, thicker at its beginning, so that it is visible even in the narrowest box. */
function drawFailed(
  context: CanvasRenderingContext2D,
  { left, right, y, colour }: { left: number; right: number; y: number; colour: string },
): void {
  context.fillStyle = colour
  context.fillRect(left, y, Math.min(4, right - left), BOX_HEIGHT)
  context.strokeStyle = colour
  context.lineWidth = 2
  context.setLineDash([])
  context.strokeRect(left + 1, y + 1, Math.max(1, right - left - 2), BOX_HEIGHT - 2)
}

function drawOutline(
  context: CanvasRenderingContext2D,
  outline: { left: number; right: number; y: number; colour: string; isBroken: boolean },
): void {
  const { left, right, y, colour, isBroken } = outline
  context.strokeStyle = colour
  context.lineWidth = 1.5
  context.setLineDash(isBroken ? [DASH, DASH] : [])
  context.strokeRect(left + 0.75, y + 0.75, Math.max(1, right - left - 1.5), BOX_HEIGHT - 1.5)
  context.setLineDash([])
}

function drawMarker(context: CanvasRenderingContext2D, x: number, y: number): void {
  const middle = y + BOX_HEIGHT / 2
  context.beginPath()
  context.moveTo(x, middle - MARKER_WIDTH)
  context.lineTo(x + MARKER_WIDTH, middle)
  context.lineTo(x, middle + MARKER_WIDTH)
  context.lineTo(x - MARKER_WIDTH, middle)
  context.fill()
}

function drawMarkerLabel(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { box, from, next, y }: Placed,
): void {
  const left = from + MARKER_WIDTH + 4
  const room = Math.min(next, scene.width) - left - 4
  if (room < NARROWEST_LABEL) return
  context.fillStyle = scene.colours.muted
  context.fillText(fitted(scene.label(scene.model.span[box] ?? 0), room), left, y + BOX_HEIGHT / 2 + 0.5)
}

function drawGroups(context: CanvasRenderingContext2D, scene: Scene): void {
  const { model, colours, gutter, width, height, scrollTop } = scene
  if (model.groups.length === 0) return
  context.save()
  context.beginPath()
  context.rect(0, AXIS_HEIGHT, width, height - AXIS_HEIGHT)
  context.clip()
  for (const { firstLane, laneCount, label } of model.groups) {
    const y = AXIS_HEIGHT + firstLane * LANE_HEIGHT - scrollTop
    if (y + laneCount * LANE_HEIGHT < 0 || y > height) continue
    context.fillStyle = colours.line
    context.fillRect(0, y + laneCount * LANE_HEIGHT - 1, width, 1)
    context.fillStyle = colours.ink
    context.fillText(fitted(label, gutter - 12), 4, y + LANE_HEIGHT / 2)
  }
  context.restore()
}

const DOT = 3
const TRIANGLE = 8
const NARROWEST = 5
const STRIPE = 3

interface Box {
  flags: number
  left: number
  right: number
  y: number
}

/**
 * Marks a write that was observed from outside: dots along the top if its cause is inferred, a stripe at its beginning if an operator
 * made it, a notch if versions before it were not seen.
 */
function drawSeen(
  context: CanvasRenderingContext2D,
  colours: CanvasColours,
  { flags, left, right, y }: Box,
): void {
  if ((flags & (HOLLOW | BEING_PLACED)) !== 0 || right - left < NARROWEST) return
  if ((flags & INFERRED) !== 0) {
    context.fillStyle = colours.ground
    for (let x = left + 1; x < right - 1; x += 2 * DOT) context.fillRect(x, y, Math.min(DOT, right - x), 2)
  }
  if ((flags & OPERATOR) !== 0) {
    context.fillStyle = colours.ink
    context.fillRect(left, y, STRIPE, 17)
  }
  if ((flags & GAP) !== 0) {
    context.fillStyle = colours.bad
    context.beginPath()
    context.moveTo(left, y)
    context.lineTo(left + TRIANGLE, y)
    context.lineTo(left, y + TRIANGLE)
    context.fill()
  }
}

const TICK_STEPS = [1, 2, 5, 10]
/** Above a minute, ticks are at round clock times. */
const CLOCK_STEPS_MS = [
  60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
]

/** Round moments in the visible part, at most about `most`. */
function ticks({ fromMs, toMs }: Viewport, most: number): number[] {
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
  return power * (TICK_STEPS.find((step) => step * power >= least) ?? 10)
}
