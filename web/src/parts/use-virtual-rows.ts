import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from '@tanstack/virtual-core'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'

interface VirtualRows {
  items: readonly VirtualItem[]
  /** The height of all rows in pixels. */
  height: number
  scrollTo: (row: number) => void
}

/** The visible rows of a long list, all of the given height. */
export function useVirtualRows(
  scroll: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
): VirtualRows {
  const [, redraw] = useState(0)
  const options = {
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowHeight,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    overscan: 12,
    onChange: () => redraw((times) => times + 1),
  }
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options))
  virtualizer.setOptions(options)
  useEffect(() => virtualizer._didMount(), [virtualizer])
  useLayoutEffect(() => virtualizer._willUpdate())
  return {
    items: virtualizer.getVirtualItems(),
    height: virtualizer.getTotalSize(),
    scrollTo: (row) => virtualizer.scrollToIndex(row, { align: 'auto' }),
  }
}
