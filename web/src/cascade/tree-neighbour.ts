import type { SpanRows } from './span-rows.ts'

/** The span that an arrow key leads to: up to the cause, down to the first effect, sideways to siblings. */
export function neighbourInTree({ parents, sizes }: SpanRows, at: number, key: string): number | undefined {
  const count = parents.length
  if (count === 0) return undefined
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  if (!key.startsWith('Arrow')) return undefined
  if (at < 0) return 0
  const parent = parents[at] ?? -1
  switch (key) {
    case 'ArrowUp':
      return parent < 0 ? at : parent
    case 'ArrowDown':
      return (sizes[at] ?? 1) > 1 ? at + 1 : at
    case 'ArrowRight':
      return Math.min(count - 1, at + (sizes[at] ?? 1))
    default: {
      let sibling = at - 1
      while (sibling > parent && (parents[sibling] ?? -1) !== parent) sibling = parents[sibling] ?? -1
      return Math.max(0, sibling)
    }
  }
}
