import type { CanvasColours } from './canvas-colours.ts'
import type { TimelineModel } from './timeline-model.ts'
import type { Viewport } from './viewport.ts'

export const LANE_HEIGHT = 20
export const AXIS_HEIGHT = 22

/** What is drawn, and which part of it is visible. */
export interface Scene {
  model: TimelineModel
  view: Viewport
  colours: CanvasColours
  /** In CSS pixels. */
  width: number
  height: number
  scrollTop: number
  /** The width on the left that is reserved for lane names. */
  gutter: number
  /** The position of the chosen span, or -1. */
  chosen: number
  /** Highlighted spans, by position; undefined if all are. */
  lit: Uint8Array | undefined
  label: (span: number) => string
}

export function timeToX({ view, width, gutter }: Scene, ms: number): number {
  return gutter + ((ms - view.fromMs) / (view.toMs - view.fromMs)) * (width - gutter)
}

export function xToTime({ view, width, gutter }: Scene, x: number): number {
  return view.fromMs + ((x - gutter) / Math.max(1, width - gutter)) * (view.toMs - view.fromMs)
}
