import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Span } from '../../../src/query/answer-schemas.ts'
import type { CascadeEvents } from '../cascade/events.ts'
import { seenWords, writeLabel } from '../text/seen-write.ts'
import { drawTimeline } from './draw-timeline.ts'
import { EventStrip } from './event-strip.tsx'
import { boxAt } from './lane-search.ts'
import { Overview } from './overview.tsx'
import { AXIS_HEIGHT, LANE_HEIGHT, type Scene, xToTime } from './scene.ts'
import type { TimelineModel } from './timeline-model.ts'
import { useCanvas } from './use-canvas.ts'
import { useView, type View } from './use-view.ts'
import { duration } from '../text/duration.ts'
import type { Viewport } from './viewport.ts'
import { FAILED } from '../cascade/span-rows.ts'

interface TimelineProps {
  model: TimelineModel
  spans: readonly Span[]
  /** The picture's label for screen readers, and where else its content is available. */
  label: string
  events: CascadeEvents
  chosen: number
  lit: Uint8Array | undefined
  onChoose: (span: number) => void
  /** The span that an arrow key leads to, if any. */
  neighbour: (span: number, key: string) => number | undefined
}

const MAX_HEIGHT = 'calc(100dvh - 250px)'
const GUTTER = 190
const NARROW_GUTTER = 96
const NARROW = 600
/** How fast Ctrl and the wheel zoom, and the largest zoom per wheel event. */
const WHEEL_ZOOM = 0.008
const MAX_WHEEL = 60

/** Spans over time. Zoom with Ctrl and the wheel, with + and -, or with the overview; drag to pan. */
export function Timeline({ model, spans, events, label, chosen, lit, onChoose, neighbour }: TimelineProps) {
  const at = useView(model)
  const { view } = at
  const [pointed, setPointed] = useState<{ span: number; x: number; y: number }>()
  const scroll = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const scene = useRef<Scene | undefined>(undefined)
  /** The id of the chosen span, once it was scrolled into view. */
  const shown = useRef<string | undefined>(undefined)
  const tall = AXIS_HEIGHT + model.laneCount * LANE_HEIGHT + 4
  const boxOf = useMemo(() => boxesBySpan(model, spans.length), [model, spans])

  const { repaint } = useCanvas(scroll, canvas, ({ context, colours, width, height }) => {
    const gutter = gutterOf(model, width)
    const scrollTop = scroll.current?.scrollTop ?? 0
    const labelOf = (at: number) => {
      const span = spans[at]
      return span === undefined ? '' : writeLabel(span)
    }
    scene.current = { model, view, colours, width, height, gutter, chosen, lit, scrollTop, label: labelOf }
    drawTimeline(context, scene.current)
  })
  useEffect(repaint, [model, view, chosen, lit, repaint])
  useEffect(() => {
    const box = boxOf[chosen] ?? -1
    const id = spans[chosen]?.spanId
    // When the cascade grows, the reader may have moved on to another part.
    if (id === shown.current) return
    if (id !== undefined && (box < 0 || scroll.current === null)) return
    shown.current = id
    if (scroll.current === null || box < 0) return
    at.show(box)
    scrollToLane(scroll.current, model.lane[box] ?? 0)
  }, [chosen, boxOf, model])

  const spanAt = (event: MouseEvent): number => {
    if (scene.current === undefined || canvas.current === null) return -1
    const { left, top } = canvas.current.getBoundingClientRect()
    const box = boxAt(scene.current, event.clientX - left, event.clientY - top)
    return box === -1 ? -1 : (model.span[box] ?? -1)
  }
  const zoomTo = (span: number) => {
    const box = boxOf[span] ?? -1
    if (box >= 0) at.goTo(box)
  }
  const drag = useDrag({
    onMove: (deltaX, deltaY) => {
      const now = scene.current
      if (now === undefined || scroll.current === null) return
      at.pan(-deltaX / Math.max(1, now.width - now.gutter))
      scroll.current.scrollTop -= deltaY
    },
    onClick: (event) => {
      const span = spanAt(event)
      if (span !== -1) onChoose(span)
    },
  })
  useWheel(canvas, (event) => {
    const now = scene.current
    if (now === undefined || canvas.current === null) return
    if (event.ctrlKey || event.metaKey) {
      const x = event.clientX - canvas.current.getBoundingClientRect().left
      const turned = Math.max(-MAX_WHEEL, Math.min(MAX_WHEEL, event.deltaY))
      at.zoom(Math.exp(turned * WHEEL_ZOOM), xToTime(now, x))
    } else {
      const across = event.shiftKey ? event.deltaY : event.deltaX
      if (Math.abs(across) <= (event.shiftKey ? 0 : Math.abs(event.deltaY))) return
      at.pan(across / now.width)
    }
    event.preventDefault()
  })
  const onKeyDown = (event: KeyboardEvent) => {
    if (pressed(event, at, { chosen, onChoose, neighbour, zoomTo })) event.preventDefault()
  }

  return (
    <figure class="timeline">
      <TimelineTools onZoom={at.step} onFit={at.fit} view={view} isWhole={at.isWhole} />
      <Overview model={model} view={view} lit={lit} onLook={(next) => at.look(() => next)} />
      <EventStrip {...events} view={view} hasGutter={model.groups.length > 0} />
      <div
        class="timeline-scroll"
        ref={scroll}
        style={{ height: `${tall}px`, maxHeight: MAX_HEIGHT }}
        onScroll={repaint}
      >
        <div style={{ height: `${tall}px` }}>
          <canvas
            ref={canvas}
            tabIndex={0}
            role="application"
            aria-label={label}
            onKeyDown={onKeyDown}
            onDblClick={(event) => zoomTo(spanAt(event))}
            onPointerLeave={() => setPointed(undefined)}
            onPointerMove={(event) => {
              drag.onPointerMove(event)
              const span = spanAt(event)
              setPointed(span === -1 ? undefined : { span, x: event.clientX, y: event.clientY })
            }}
            onPointerDown={drag.onPointerDown}
            onPointerUp={drag.onPointerUp}
          />
        </div>
      </div>
      {pointed !== undefined && <Pointed span={spans[pointed.span]} x={pointed.x} y={pointed.y} />}
      <p class="visually-hidden" role="status">
        {spans[chosen] === undefined ? '' : spoken(spans[chosen])}
      </p>
    </figure>
  )
}

function gutterOf(model: TimelineModel, width: number): number {
  if (model.groups.length === 0) return 0
  return width < NARROW ? NARROW_GUTTER : GUTTER
}

/** Scrolls only as far as needed to show the lane. */
function scrollToLane(at: HTMLDivElement, lane: number): void {
  const top = lane * LANE_HEIGHT
  if (top < at.scrollTop) at.scrollTop = top
  const lowest = at.scrollTop + at.clientHeight - AXIS_HEIGHT - 2 * LANE_HEIGHT
  if (top > lowest) at.scrollTop += top - lowest
}

function boxesBySpan(model: TimelineModel, spans: number): Int32Array {
  const boxes = new Int32Array(spans).fill(-1)
  for (let box = model.count - 1; box >= 0; box--) boxes[model.span[box] ?? 0] = box
  return boxes
}

interface TimelineToolsProps {
  onZoom: (isIn: boolean) => void
  onFit: () => void
  view: Viewport
  isWhole: boolean
}

function TimelineTools({ onZoom, onFit, view, isWhole }: TimelineToolsProps) {
  return (
    <div class="timeline-tools">
      <button type="button" onClick={() => onZoom(true)} aria-label="Zoom in">
        +
      </button>
      <button type="button" onClick={() => onZoom(false)} aria-label="Zoom out" disabled={isWhole}>
        −
      </button>
      <button type="button" onClick={onFit} disabled={isWhole}>
        All
      </button>
      <span class="muted hint">
        {duration(view.toMs - view.fromMs)} in view. Ctrl and wheel zoom, drag moves, double click zooms to a
        span.
      </span>
    </div>
  )
}

const POINTED_WIDTH = 320

/** A tooltip for the span below the pointer. */
function Pointed({ span, x, y }: { span: Span | undefined; x: number; y: number }) {
  if (span === undefined) return null
  const isRight = x > innerWidth - POINTED_WIDTH
  const place = isRight ? { right: `${innerWidth - x + 12}px` } : { left: `${x + 12}px` }
  return (
    <div class="pointed" aria-hidden="true" style={{ ...place, top: `${y + 14}px` }}>
      <strong>{span.name}</strong>
      <span>{span.service}</span>
      {span.cause !== undefined && <span>{seenWords(span).join(', ')}</span>}
      <span>
        {duration(span.durationMs)}, from {duration(span.offsetMs)}
        {span.status === FAILED && ', failed'}
        {span.critical === true && ', on the critical path'}
        {span.beingPlaced === true && ', being placed'}
        {span.activity === false && ', driven by another change'}
      </span>
    </div>
  )
}

/** The same for a screen reader. */
function spoken(span: Span): string {
  const { name, service, durationMs, offsetMs, critical, status } = span
  const parts = [
    name,
    service,
    ...seenWords(span),
    `takes ${duration(durationMs)}`,
    `begins at ${duration(offsetMs)}`,
  ]
  if (critical === true) parts.push('on the critical path')
  if (span.beingPlaced === true) parts.push('being placed')
  if (span.activity === false) parts.push('driven by another change')
  if (status === FAILED) parts.push('failed')
  return parts.join(', ')
}

const PAN_PART = 1 / 8

/** The choice of a span by keyboard: the chosen span, how to choose another, and its neighbours. */
interface Choosing {
  chosen: number
  onChoose: (span: number) => void
  neighbour: (span: number, key: string) => number | undefined
  zoomTo: (span: number) => void
}

/** Handles a key. False if the key has no function here. */
function pressed(event: KeyboardEvent, at: View, choosing: Choosing): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false
  const { chosen, onChoose, neighbour, zoomTo } = choosing
  if (event.shiftKey && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
    at.pan(event.key === 'ArrowLeft' ? -PAN_PART : PAN_PART)
    return true
  }
  switch (event.key) {
    case '+':
    case '=':
      at.step(true)
      return true
    case '-':
      at.step(false)
      return true
    case '0':
      at.fit()
      return true
    case 'Enter':
      zoomTo(chosen)
      return true
    case 'Escape':
      onChoose(-1)
      return true
  }
  const next = neighbour(chosen, event.key)
  if (next === undefined) return false
  onChoose(next)
  return true
}

interface DragActions {
  onMove: (deltaX: number, deltaY: number) => void
  /** The pointer was released where it was pressed. */
  onClick: (event: PointerEvent) => void
}

const DRAG_SLACK = 4

/** Distinguishes a drag from a click. */
function useDrag({ onMove, onClick }: DragActions) {
  const from = useRef<{ x: number; y: number; isDrag: boolean } | undefined>(undefined)
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return
      from.current = { x: event.clientX, y: event.clientY, isDrag: false }
      if (event.currentTarget instanceof Element) event.currentTarget.setPointerCapture(event.pointerId)
    },
    onPointerMove: (event: PointerEvent) => {
      const at = from.current
      if (at === undefined) return
      const [deltaX, deltaY] = [event.clientX - at.x, event.clientY - at.y]
      if (!at.isDrag && Math.hypot(deltaX, deltaY) < DRAG_SLACK) return
      from.current = { x: event.clientX, y: event.clientY, isDrag: true }
      onMove(deltaX, deltaY)
    },
    onPointerUp: (event: PointerEvent) => {
      const wasDrag = from.current?.isDrag
      from.current = undefined
      if (wasDrag === false) onClick(event)
    },
  }
}

/** Listens to the wheel on an element. Preact would listen passively, and the page would zoom too. */
function useWheel(of: { readonly current: HTMLElement | null }, onWheel: (event: WheelEvent) => void): void {
  const wheel = useRef(onWheel)
  wheel.current = onWheel
  useEffect(() => {
    const element = of.current
    const listen = (event: WheelEvent) => wheel.current(event)
    element?.addEventListener('wheel', listen, { passive: false })
    return () => element?.removeEventListener('wheel', listen)
  }, [of])
}
