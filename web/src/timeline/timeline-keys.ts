import type { View } from './use-view.ts'

const PAN_PART = 1 / 8

/** The choice of a span by keyboard: the chosen span, how to choose another, and its neighbours. */
interface Choosing {
  chosen: number
  onChoose: (span: number) => void
  neighbour: (span: number, key: string) => number | undefined
  zoomTo: (span: number) => void
}

/** Handles a key. False if the key has no function here. */
export function pressed(event: KeyboardEvent, at: View, choosing: Choosing): boolean {
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
