import { useEffect, useRef } from 'preact/hooks'
import { COLOURS } from '../parts/service-colour.ts'
import { ERROR, type TimelineModel } from './timeline-model.ts'
import { useCanvas, type CanvasPaint } from './use-canvas.ts'
import { around, wholeView, type Viewport } from './viewport.ts'

interface OverviewProps {
  model: TimelineModel
  view: Viewport
  /** Search results, by position. */
  lit: Uint8Array | undefined
  onLook: (view: Viewport) => void
}

const HEIGHT = 36
const MIN_DRAG = 4
/** The height of the failure marks along the bottom. */
const FAILURE_HEIGHT = 8

/** A small picture of the whole time with the visible part marked. Dragging selects another part. */
export function Overview({ model, view, lit, onLook }: OverviewProps) {
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const from = useRef<number | undefined>(undefined)
  const whole = wholeView(model)
  const backdrop = useRef<Backdrop | undefined>(undefined)
  const { repaint } = useCanvas(box, canvas, (paint) => {
    backdrop.current = backdropOf(backdrop.current, paint, model)
    paint.context.drawImage(backdrop.current.image, 0, 0, paint.width, paint.height)
    if (lit !== undefined) drawMatches(paint, model, lit)
    drawView(paint, model, view)
  })
  useEffect(repaint, [model, view, lit, repaint])

  const timeAt = (event: PointerEvent): number => {
    const { left, width } = box.current?.getBoundingClientRect() ?? { left: 0, width: 1 }
    return whole.fromMs + ((event.clientX - left) / width) * (whole.toMs - whole.fromMs)
  }
  return (
    <div class="overview" ref={box} style={{ height: `${HEIGHT}px` }} aria-hidden="true">
      <canvas
        ref={canvas}
        onPointerDown={(event) => {
          from.current = event.clientX
          event.currentTarget.setPointerCapture(event.pointerId)
        }}
        onPointerUp={(event) => {
          const fromX = from.current
          from.current = undefined
          if (fromX === undefined) return
          const at = timeAt(event)
          if (Math.abs(event.clientX - fromX) < MIN_DRAG) {
            const half = (view.toMs - view.fromMs) / 2
            onLook({ fromMs: at - half, toMs: at + half })
            return
          }
          const perPixel = (whole.toMs - whole.fromMs) / (box.current?.clientWidth ?? 1)
          const other = at - (event.clientX - fromX) * perPixel
          const [startMs, endMs] = at < other ? [at, other] : [other, at]
          const { fromMs, toMs } = around(startMs, endMs, model)
          const room = (toMs - fromMs) * 0.18
          onLook({ fromMs: fromMs + room, toMs: toMs - room })
        }}
      />
    </div>
  )
}

/** A small picture of all boxes, drawn once: with very many boxes that takes longer than a frame. */
interface Backdrop {
  key: readonly unknown[]
  image: OffscreenCanvas
}

function backdropOf(
  kept: Backdrop | undefined,
  { colours, width, height }: CanvasPaint,
  model: TimelineModel,
): Backdrop {
  const ratio = devicePixelRatio
  const key = [model, colours, width, height, ratio]
  if (kept?.key.every((part, at) => part === key[at]) === true) return kept
  const image = new OffscreenCanvas(Math.max(1, width * ratio), Math.max(1, height * ratio))
  const context = image.getContext('2d', { alpha: false })
  if (context !== null) {
    context.scale(ratio, ratio)
    context.fillStyle = colours.panel
    context.fillRect(0, 0, width, height)
    drawBoxes(context, model, width, height)
    drawFailures(context, model, { width, height, colour: colours.bad })
  }
  return { key, image }
}

function drawBoxes(
  context: OffscreenCanvasRenderingContext2D,
  model: TimelineModel,
  width: number,
  height: number,
): void {
  const whole = wholeView(model)
  const xOf = (ms: number) => ((ms - whole.fromMs) / (whole.toMs - whole.fromMs)) * width
  const laneHeight = Math.min(4, (height - 4) / Math.max(1, model.laneCount))
  const drawn = new Int32Array(Math.ceil(height) + 1).fill(-1)
  for (const box of model.order) {
    const y = 2 + (model.lane[box] ?? 0) * laneHeight
    const from = xOf(model.start[box] ?? 0)
    const to = Math.max(xOf(model.end[box] ?? 0), from + 1)
    const row = Math.floor(y)
    if (to <= (drawn[row] ?? 0) && from >= (drawn[row] ?? 0) - 1) continue
    drawn[row] = Math.floor(to)
    context.fillStyle = COLOURS[model.colour[box] ?? 0] ?? COLOURS[0]
    context.fillRect(from, y, to - from, Math.max(1, laneHeight - 0.5))
  }
}

/** Marks search results along the top: one line per pixel with a result. */
function drawMatches({ context, colours, width }: CanvasPaint, model: TimelineModel, lit: Uint8Array): void {
  const whole = wholeView(model)
  const drawn = new Uint8Array(Math.ceil(width) + 1)
  context.fillStyle = colours.link
  for (let box = 0; box < model.count; box++) {
    if (lit[model.span[box] ?? 0] !== 1) continue
    const x = Math.floor((((model.start[box] ?? 0) - whole.fromMs) / (whole.toMs - whole.fromMs)) * width)
    if (drawn[x] === 1) continue
    drawn[x] = 1
    context.fillRect(x, 0, 2, FAILURE_HEIGHT)
  }
}

/** Drawn last, so that a failure is visible however many boxes share its pixel. */
function drawFailures(
  context: OffscreenCanvasRenderingContext2D,
  model: TimelineModel,
  { width, height, colour }: { width: number; height: number; colour: string },
): void {
  const whole = wholeView(model)
  context.fillStyle = colour
  model.flags.forEach((flags, box) => {
    if ((flags & ERROR) === 0) return
    const x = (((model.start[box] ?? 0) - whole.fromMs) / (whole.toMs - whole.fromMs)) * width
    context.fillRect(x, height - FAILURE_HEIGHT, 2, FAILURE_HEIGHT)
  })
}

function drawView(
  { context, colours, width, height }: CanvasPaint,
  model: TimelineModel,
  view: Viewport,
): void {
  const whole = wholeView(model)
  const xOf = (ms: number) => ((ms - whole.fromMs) / (whole.toMs - whole.fromMs)) * width
  const [left, right] = [xOf(view.fromMs), xOf(view.toMs)]
  context.fillStyle = colours.ground
  context.globalAlpha = 0.65
  context.fillRect(0, 0, left, height)
  context.fillRect(right, 0, width - right, height)
  context.globalAlpha = 1
  context.strokeStyle = colours.edge
  context.lineWidth = 1
  context.strokeRect(left + 0.5, 0.5, right - left - 1, height - 1)
}
