import { duration } from '../text/duration.ts'
import type { Viewport } from './viewport.ts'

interface TimelineToolsProps {
  onZoom: (isIn: boolean) => void
  onFit: () => void
  view: Viewport
  isWhole: boolean
}

export function TimelineTools({ onZoom, onFit, view, isWhole }: TimelineToolsProps) {
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
