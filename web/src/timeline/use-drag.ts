import { useRef } from 'preact/hooks'

interface DragActions {
  onMove: (deltaX: number, deltaY: number) => void
  /** The pointer was released where it was pressed. */
  onClick: (event: PointerEvent) => void
}

const SLACK = 4

/** Distinguishes a drag from a click. */
export function useDrag({ onMove, onClick }: DragActions) {
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
      if (!at.isDrag && Math.hypot(deltaX, deltaY) < SLACK) return
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
