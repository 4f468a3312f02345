import type { ComponentChildren } from 'preact'

/** A table that may be wider than the page: the keys can scroll it. */
export function TableScroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="table-scroll" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  )
}
