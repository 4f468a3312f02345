import { useEffect, useState } from 'preact/hooks'
import { go, hrefWith } from '../app/address.ts'
import type { TimelineModel } from './timeline-model.ts'
import { around, panned, showing, wholeView, within, zoomed, type Viewport } from './viewport.ts'

const ZOOM_STEP = 0.7
/** The address is updated once the view has not changed for this long. */
const ADDRESS_AFTER_MS = 250

/** The visible time, and the ways to change it. */
export interface View {
  readonly view: Viewport
  /** All of the trace is visible, and stays so when it grows. */
  readonly isWhole: boolean
  look: (next: (now: Viewport) => Viewport) => void
  fit: () => void
  /** Zooms by a step, around the middle. */
  step: (isIn: boolean) => void
  zoom: (factor: number, aroundMs: number) => void
  /** Moves by a part of the visible time; to the right if positive. */
  pan: (part: number) => void
  /** Zooms to one box of the model. */
  goTo: (box: number) => void
  /** Moves only as far as needed to show a box. */
  show: (box: number) => void
}

export function useView(model: TimelineModel): View {
  const [view, setView] = useState<Viewport>(() => viewInAddress(model) ?? wholeView(model))
  const [isWhole, setIsWhole] = useState(() => viewInAddress(model) === undefined)
  useEffect(() => {
    if (isWhole) setView(wholeView(model))
  }, [model, isWhole])
  useEffect(() => {
    const zoom = isWhole ? null : `${view.fromMs.toFixed(3)}to${view.toMs.toFixed(3)}`
    const timer = setTimeout(() => go(hrefWith({ zoom }), { replace: true }), ADDRESS_AFTER_MS)
    return () => clearTimeout(timer)
  }, [view, isWhole])
  const look = (next: (now: Viewport) => Viewport) => {
    setView((now) => within(next(now), model))
    setIsWhole(false)
  }
  const boundsOf = (box: number) => [model.start[box] ?? 0, model.end[box] ?? 0] as const
  return {
    view,
    isWhole,
    look,
    fit: () => {
      setView(wholeView(model))
      setIsWhole(true)
    },
    step: (isIn) =>
      look((now) => zoomed(now, isIn ? ZOOM_STEP : 1 / ZOOM_STEP, (now.fromMs + now.toMs) / 2, model)),
    zoom: (factor, aroundMs) => look((now) => zoomed(now, factor, aroundMs, model)),
    pan: (part) => look((now) => panned(now, part * (now.toMs - now.fromMs), model)),
    goTo: (box) => look(() => around(...boundsOf(box), model)),
    show: (box) => setView((now) => showing(now, ...boundsOf(box), model)),
  }
}

/** The time range in the address, in milliseconds from the start; undefined if there is none. */
function viewInAddress(model: TimelineModel): Viewport | undefined {
  const text = new URLSearchParams(location.search).get('zoom') ?? ''
  const [fromMs = NaN, toMs = NaN] = text.split('to').map(Number)
  return toMs > fromMs ? within({ fromMs, toMs }, model) : undefined
}
