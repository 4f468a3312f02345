import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** A table that may be wider than the page and can be scrolled with the keyboard. On a narrow screen each row becomes a card. */
export function TableScroll({ label, children }: { label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (box.current !== null) labelCells(box.current)
  })
  return (
    <div class="table-scroll" ref={box} role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  )
}

/** Labels the cells of a card, since cards have no column headings. */
function labelCells(box: HTMLElement): void {
  const heads = [...box.querySelectorAll('thead th')].map((head) => head.textContent)
  for (const row of box.querySelectorAll<HTMLTableRowElement>('tbody tr')) {
    for (const [at, cell] of [...row.cells].entries()) {
      const head = heads[at] ?? ''
      if (cell.dataset['column'] !== head) cell.dataset['column'] = head
    }
  }
}
