import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { onColoursChanged } from '../app/theme.ts'
import { canvasColours, type CanvasColours } from './canvas-colours.ts'

/** What a canvas is drawn with. Sizes are in CSS pixels. */
export interface CanvasPaint {
  context: CanvasRenderingContext2D
  colours: CanvasColours
  width: number
  height: number
}

/**
 * Keeps a canvas sharp and as large as the element around it. Repaints it, at most once per frame, when `repaint` is called and when the
 * size or the colours change.
 */
export function useCanvas(
  box: RefObject<HTMLElement | null>,
  canvas: RefObject<HTMLCanvasElement | null>,
  paint: (paint: CanvasPaint) => void,
): { repaint: () => void } {
  const latest = useRef(paint)
  latest.current = paint
  const repaint = useRef<() => void>(() => undefined)

  useEffect(() => {
    const around = box.current
    const element = canvas.current
    const context = element?.getContext('2d', { alpha: false })
    if (!around || !element || !context) return
    let colours = canvasColours(around)
    let frame = 0
    const draw = () => {
      frame = 0
      const { clientWidth: width, clientHeight: height } = around
      const ratio = devicePixelRatio
      if (element.width !== Math.round(width * ratio)) element.width = Math.round(width * ratio)
      if (element.height !== Math.round(height * ratio)) element.height = Math.round(height * ratio)
      element.style.width = `${width}px`
      element.style.height = `${height}px`
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      latest.current({ context, colours, width, height })
    }
    repaint.current = () => {
      if (frame === 0) frame = requestAnimationFrame(draw)
    }
    const observer = new ResizeObserver(() => repaint.current())
    observer.observe(around)
    const stopColours = onColoursChanged(() => {
      colours = canvasColours(around)
      repaint.current()
    })
    repaint.current()
    return () => {
      cancelAnimationFrame(frame)
      observer.disconnect()
      stopColours()
    }
  }, [box, canvas])

  return { repaint: () => repaint.current() }
}
