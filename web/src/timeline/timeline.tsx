import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Span } from '../../../src/query/answers/spans.ts'
import { duration } from '../text/duration.ts'
import { drawTimeline } from './draw-timeline.ts'
import { boxAt } from './lane-search.ts'
import { Overview } from './overview.tsx'
import { AXIS_HEIGHT, LANE_HEIGHT, xToTime, type Scene } from './scene.ts'
import type { TimelineModel } from './timeline-model.ts'
import { TimelineTools } from './timeline-tools.tsx'
import { useCanvas } from './use-canvas.ts'
import { useDrag } from './use-drag.ts'
import { around, panned, showing, wholeView, within, zoomed, type Viewport } from './viewport.ts'

interface TimelineProps {
  model: TimelineModel
  spans: readonly Span[]
  /** What a screen reader calls the picture, and how else its content can be had. */
  label: string
  chosen: number
  lit: Uint8Array | undefined
  onChoose: (span: number) => void
  /** The span to go to with an arrow key, if any. */
  neighbour: (span: number, key: string) => number | undefined
}

const ZOOM_STEP = 0.7
const MAX_HEIGHT = 'calc(100dvh - 250px)'
const GUTTER = 190
const NARROW_GUTTER = 96

/** Spans over time, to be zoomed with Ctrl and the wheel, with + and -, or with the overview, and dragged. */
export function Timeline({ model, spans, label, chosen, lit, onChoose, neighbour }: TimelineProps) {
  const [view, setView] = useState<Viewport>(() => wholeView(model))
  const [isWhole, setIsWhole] = useState(true)
  const [pointed, setPointed] = useState<{ span: number; x: number; y: number }>()
  const scroll = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const scene = useRef<Scene | undefined>(undefined)
  const tall = AXIS_HEIGHT + model.laneCount * LANE_HEIGHT + 4
  const boxOf = useMemo(() => boxesBySpan(model, spans.length), [model, spans])

  const { repaint } = useCanvas(scroll, canvas, ({ context, colours, width, height }) => {
    const gutter = model.groups.length === 0 ? 0 : width < 600 ? NARROW_GUTTER : GUTTER
    scene.current = {
      model,
      view,
      colours,
      width,
      height,
      gutter,
      chosen,
      lit,
      scrollTop: scroll.current?.scrollTop ?? 0,
      label: (span) => spans[span]?.name ?? '',
    }
    drawTimeline(context, scene.current)
  })
  const look = (next: (now: Viewport) => Viewport) => {
    setView((now) => within(next(now), model))
    setIsWhole(false)
  }
  const fit = () => {
    setView(wholeView(model))
    setIsWhole(true)
  }
  const zoom = (factor: number, aroundMs?: number) =>
    look((now) => zoomed(now, factor, aroundMs ?? (now.fromMs + now.toMs) / 2, model))

  useEffect(() => {
    if (isWhole) setView(wholeView(model))
  }, [model, isWhole])
  useEffect(repaint, [model, view, chosen, lit, repaint])
  useEffect(() => {
    const box = boxOf[chosen] ?? -1
    const at = scroll.current
    if (box < 0 || at === null) return
    setView((now) => showing(now, model.start[box] ?? 0, model.end[box] ?? 0, model))
    const top = (model.lane[box] ?? 0) * LANE_HEIGHT
    if (top < at.scrollTop) at.scrollTop = top
    const lowest = at.scrollTop + at.clientHeight - AXIS_HEIGHT - 2 * LANE_HEIGHT
    if (top > lowest) at.scrollTop += top - lowest
  }, [chosen, boxOf, model])

  const spanAt = (event: MouseEvent): number => {
    if (scene.current === undefined || canvas.current === null) return -1
    const { left, top } = canvas.current.getBoundingClientRect()
    const box = boxAt(scene.current, event.clientX - left, event.clientY - top)
    return box === -1 ? -1 : (model.span[box] ?? -1)
  }
  const zoomTo = (span: number) => {
    const box = boxOf[span] ?? -1
    if (box >= 0) look(() => around(model.start[box] ?? 0, model.end[box] ?? 0, model))
  }
  const drag = useDrag({
    onMove: (deltaX, deltaY) => {
      const now = scene.current
      if (now === undefined || scroll.current === null) return
      look((at) => panned(at, (-deltaX * (at.toMs - at.fromMs)) / Math.max(1, now.width - now.gutter), model))
      scroll.current.scrollTop -= deltaY
    },
    onClick: (event) => {
      const span = spanAt(event)
      if (span !== -1) onChoose(span)
    },
  })
  const onWheel = (event: WheelEvent) => {
    const now = scene.current
    if (now === undefined || canvas.current === null) return
    if (event.ctrlKey || event.metaKey) {
      const x = event.clientX - canvas.current.getBoundingClientRect().left
      zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008), xToTime(now, x))
    } else {
      const across = event.shiftKey ? event.deltaY : event.deltaX
      if (Math.abs(across) <= (event.shiftKey ? 0 : Math.abs(event.deltaY))) return
      look((at) => panned(at, (across * (at.toMs - at.fromMs)) / now.width, model))
    }
    event.preventDefault()
  }
  // Preact would listen passively, and the page would zoom along.
  const wheel = useRef(onWheel)
  wheel.current = onWheel
  useEffect(() => {
    const element = canvas.current
    const listen = (event: WheelEvent) => wheel.current(event)
    element?.addEventListener('wheel', listen, { passive: false })
    return () => element?.removeEventListener('wheel', listen)
  }, [])

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === '+' || event.key === '=') zoom(ZOOM_STEP)
    else if (event.key === '-') zoom(1 / ZOOM_STEP)
    else if (event.key === '0') fit()
    else if (event.key === 'Enter') zoomTo(chosen)
    else if (event.key === 'Escape') onChoose(-1)
    else if (event.shiftKey && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      const eighths = event.key === 'ArrowLeft' ? -1 : 1
      look((at) => panned(at, (eighths * (at.toMs - at.fromMs)) / 8, model))
    } else {
      const next = neighbour(chosen, event.key)
      if (next === undefined) return
      onChoose(next)
    }
    event.preventDefault()
  }

  return (
    <figure class="timeline">
      <TimelineTools
        onZoom={(isIn) => zoom(isIn ? ZOOM_STEP : 1 / ZOOM_STEP)}
        onFit={fit}
        view={view}
        isWhole={isWhole}
      />
      <Overview model={model} view={view} onLook={(next) => look(() => next)} />
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

function Pointed({ span, x, y }: { span: Span | undefined; x: number; y: number }) {
  if (span === undefined) return null
  const isRight = x > innerWidth - 320
  const place = isRight ? { right: `${innerWidth - x + 12}px` } : { left: `${x + 12}px` }
  return (
    <div class="pointed" aria-hidden="true" style={{ ...place, top: `${y + 14}px` }}>
      <strong>{span.name}</strong>
      <span>{span.service}</span>
      <span>
        {duration(span.durationMs)}, from {duration(span.offsetMs)}
        {span.critical === true && ', on the critical path'}
      </span>
    </div>
  )
}

function spoken({ name, service, durationMs, offsetMs, critical, status }: Span): string {
  const parts = [name, service, `takes ${duration(durationMs)}`, `begins at ${duration(offsetMs)}`]
  if (critical === true) parts.push('on the critical path')
  if (status === 2) parts.push('failed')
  return parts.join(', ')
}

function boxesBySpan(model: TimelineModel, spans: number): Int32Array {
  const boxes = new Int32Array(spans).fill(-1)
  for (let box = model.count - 1; box >= 0; box--) boxes[model.span[box] ?? 0] = box
  return boxes
}
