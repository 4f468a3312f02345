import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core'
import type { RefObject } from 'preact'
import type { Span } from '../../../src/query/answer-schemas.ts'
import { go, hrefWith } from '../app/address.ts'
import { colourOf } from '../parts/service-colour.ts'
import { ServiceMark } from '../parts/service-mark.tsx'
import { duration } from '../text/duration.ts'
import { type DrawnSpan, FAILED, type SpanRows } from './span-rows.ts'

interface SpanTableProps {
  rows: SpanRows
  /** If given, only these are shown. */
  lit: Uint8Array | undefined
  search: URLSearchParams
  chosen: number
  onChoose: (span: number) => void
}

const ROW_HEIGHT = 26
const DEEPEST_INDENT = 20

/** The spans as a table, in tree order or by one of their times. Only visible rows are in the page. */
export function SpanTable({ rows, lit, search, chosen, onChoose }: SpanTableProps) {
  const scroll = useRef<HTMLDivElement>(null)
  const asked = search.get('sort')
  const sort = useMemo(() => sortOf(asked), [asked])
  const shown = useMemo(() => {
    const all = rows.spans.map((_span, at) => at)
    const wanted = lit === undefined ? all : all.filter((at) => lit[at] === 1)
    return sortedSpans(rows, wanted, sort)
  }, [rows, lit, sort])
  const { items, height, scrollTo } = useVirtualRows(scroll, shown.length, ROW_HEIGHT)
  const wholeMs = rows.spans.reduce(
    (most, { offsetMs, durationMs }) => Math.max(most, offsetMs + durationMs),
    0,
  )
  const hasUsers = useMemo(() => rows.spans.some(({ user }) => user !== undefined), [rows])
  const chosenRow = shown.indexOf(chosen)
  const sortedBy = useRef(asked)
  useEffect(() => {
    // A new order is shown from its beginning.
    if (sortedBy.current !== asked) scrollTo(0)
    else if (chosenRow >= 0) scrollTo(chosenRow)
    sortedBy.current = asked
  }, [chosenRow, asked])

  return (
    <div
      class={hasUsers ? 'span-table with-users' : 'span-table'}
      ref={scroll}
      tabIndex={0}
      role="table"
      aria-label="Spans by cause"
      aria-rowcount={shown.length + 1}
    >
      <div class="span-row head" role="row" aria-rowindex={1}>
        <span role="columnheader" aria-sort={sort === undefined ? 'other' : 'none'}>
          <button
            type="button"
            class="quiet"
            title="Sort as a tree, by cause"
            onClick={() => go(hrefWith({ sort: null }), { replace: true })}
          >
            Span
          </button>
        </span>
        <span role="columnheader">Service</span>
        {hasUsers && <span role="columnheader">User</span>}
        <span role="columnheader">Marks</span>
        {[...SORTABLE_TIMES].map(([by, { heading }]) => (
          <TimeHeading key={by} by={by} heading={heading} sort={sort} />
        ))}
        <span role="columnheader" class="when">
          In time
        </span>
      </div>
      <div role="rowgroup" style={{ height: `${height}px`, position: 'relative' }}>
        {items.map(({ index, start }) => {
          const at = shown[index] ?? 0
          const span = rows.spans[at]
          if (span === undefined) return null
          return (
            <div
              key={at}
              class={at === chosen ? 'span-row chosen' : 'span-row'}
              role="row"
              aria-rowindex={index + 2}
              style={{ transform: `translateY(${start}px)` }}
            >
              <SpanCells
                span={span}
                indent={sort === undefined ? span.depth : 0}
                wholeMs={wholeMs}
                hasUsers={hasUsers}
                onChoose={() => onChoose(at)}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface TimeHeadingProps {
  by: string
  heading: string
  sort: SpanSort | undefined
}

/** The heading of a column of times, which sorts by it; once more, the other way round. */
function TimeHeading({ by, heading, sort }: TimeHeadingProps) {
  const isSorted = sort?.by === by
  const direction = isSorted && sort.isDescending ? 'descending' : 'ascending'
  return (
    <span role="columnheader" class="number" aria-sort={isSorted ? direction : 'none'}>
      <button
        type="button"
        class="quiet"
        onClick={() => go(hrefWith({ sort: nextSort(sort, by) }), { replace: true })}
      >
        {heading}
      </button>
    </span>
  )
}

interface SpanCellsProps {
  span: DrawnSpan
  indent: number
  wholeMs: number
  hasUsers: boolean
  onChoose: () => void
}

function SpanCells({ span, indent, wholeMs, hasUsers, onChoose }: SpanCellsProps) {
  const marks = marksOf(span).filter((mark) => mark !== 'failed')
  const { name, service, cluster, depth, offsetMs, durationMs, selfMs, waitMs } = span
  const told = span.told ?? span
  return (
    <>
      <span role="cell" class="indented" style={{ '--depth': Math.min(indent, DEEPEST_INDENT) }}>
        <button type="button" class="quiet" title={`${name}, ${depth} deep`} onClick={onChoose}>
          {name}
        </button>
      </span>
      <span role="cell">
        <ServiceMark service={service} cluster={cluster} />
      </span>
      {hasUsers && (
        <span role="cell" class="user" title={span.user}>
          {span.user}
        </span>
      )}
      <span role="cell">
        {span.status === FAILED && <strong class="warning">failed</strong>}
        {span.status === FAILED && marks.length > 0 && ', '}
        {marks.join(', ')}
      </span>
      <span role="cell" class="number">
        {duration(told.offsetMs)}
      </span>
      <span role="cell" class="number">
        {duration(told.durationMs)}
      </span>
      <span role="cell" class="number">
        {duration(selfMs)}
      </span>
      <span role="cell" class="number">
        {waitMs === undefined ? '' : duration(waitMs)}
      </span>
      <span role="cell" class="when" aria-hidden="true">
        <span
          style={{
            left: `${wholeMs === 0 ? 0 : (100 * offsetMs) / wholeMs}%`,
            width: `${wholeMs === 0 ? 0 : (100 * durationMs) / wholeMs}%`,
            backgroundColor: colourOf(service),
          }}
        />
      </span>
    </>
  )
}

/** The special properties of a span, in words. */
export function marksOf(span: Span): string[] {
  const { critical, status, copy, activity, synthetic, parentMissing, beingPlaced, cause, gap } = span
  const marks: string[] = []
  if (beingPlaced === true) marks.push('being placed')
  if (cause !== undefined) marks.push(cause)
  if (gap === true) marks.push('gap')
  if (activity === false) marks.push('another change')
  if (critical === true) marks.push('critical')
  if (status === FAILED) marks.push('failed')
  if (copy) marks.push('copy')
  if (synthetic) marks.push('by Causeway')
  if (parentMissing) marks.push('parent missing')
  return marks
}

interface SortableTime {
  readonly heading: string
  readonly of: (span: DrawnSpan) => number | undefined
}

/** The times of spans that a table can be sorted by. What the sender told counts, even if it is drawn elsewhere. */
const SORTABLE_TIMES: ReadonlyMap<string, SortableTime> = new Map<string, SortableTime>([
  ['start', { heading: 'Start', of: ({ told, offsetMs }) => told?.offsetMs ?? offsetMs }],
  ['duration', { heading: 'Duration', of: ({ told, durationMs }) => told?.durationMs ?? durationMs }],
  ['itself', { heading: 'Itself', of: ({ selfMs }) => selfMs }],
  ['waited', { heading: 'Waited', of: ({ waitMs }) => waitMs }],
])

interface SpanSort {
  /** A key of `SORTABLE_TIMES`. */
  readonly by: string
  readonly isDescending: boolean
}

/** How the parameter `sort` of the address sorts; undefined in tree order. A minus before the name means descending. */
function sortOf(parameter: string | null): SpanSort | undefined {
  const isDescending = parameter?.startsWith('-') === true
  const by = parameter?.slice(isDescending ? 1 : 0) ?? ''
  return SORTABLE_TIMES.has(by) ? { by, isDescending } : undefined
}

/** The parameter for a click on the heading `by`: earliest or longest first, then the reverse. */
function nextSort(sort: SpanSort | undefined, by: string): string {
  const isDescending = sort?.by === by ? !sort.isDescending : by !== 'start'
  return isDescending ? `-${by}` : by
}

/** These positions of spans in the wanted order. Spans without the time are last, and equal ones in tree order. */
function sortedSpans(
  { spans }: SpanRows,
  positions: readonly number[],
  sort: SpanSort | undefined,
): readonly number[] {
  const column = sort && SORTABLE_TIMES.get(sort.by)
  if (column === undefined) return positions
  const sign = sort?.isDescending === true ? -1 : 1
  const keys = Float64Array.from(spans, (span) => sign * (column.of(span) ?? sign * Infinity))
  return [...positions].sort((a, b) => {
    const [keyA, keyB] = [keys[a] ?? 0, keys[b] ?? 0]
    return keyA === keyB ? 0 : keyA - keyB
  })
}

interface VirtualRows {
  items: readonly VirtualItem[]
  /** The height of all rows in pixels. */
  height: number
  scrollTo: (row: number) => void
}

/** The visible rows of a long list, all of the given height. */
function useVirtualRows(
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
