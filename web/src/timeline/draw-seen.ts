import type { CanvasColours } from './canvas-colours.ts'
import { BEING_PLACED, GAP, HOLLOW, INFERRED, OPERATOR } from './timeline-model.ts'

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
export function drawSeen(
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
