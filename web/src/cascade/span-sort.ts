import type { DrawnSpan, SpanRows } from './span-rows.ts'

interface SortableTime {
  readonly heading: string
  readonly of: (span: DrawnSpan) => number | undefined
}

/** The times of spans that a table can be sorted by. What the sender told counts, even if it is drawn elsewhere. */
export const SORTABLE_TIMES: ReadonlyMap<string, SortableTime> = new Map<string, SortableTime>([
  ['start', { heading: 'Start', of: ({ told, offsetMs }) => told?.offsetMs ?? offsetMs }],
  ['duration', { heading: 'Duration', of: ({ told, durationMs }) => told?.durationMs ?? durationMs }],
  ['itself', { heading: 'Itself', of: ({ selfMs }) => selfMs }],
  ['waited', { heading: 'Waited', of: ({ waitMs }) => waitMs }],
])

export interface SpanSort {
  /** A key of `SORTABLE_TIMES`. */
  readonly by: string
  readonly isDescending: boolean
}

/** How the parameter `sort` of the address sorts; undefined in tree order. A minus before the name means descending. */
export function sortOf(parameter: string | null): SpanSort | undefined {
  const isDescending = parameter?.startsWith('-') === true
  const by = parameter?.slice(isDescending ? 1 : 0) ?? ''
  return SORTABLE_TIMES.has(by) ? { by, isDescending } : undefined
}

/** The parameter for a click on the heading `by`: earliest or longest first, then the reverse. */
export function nextSort(sort: SpanSort | undefined, by: string): string {
  const isDescending = sort?.by === by ? !sort.isDescending : by !== 'start'
  return isDescending ? `-${by}` : by
}

/** These positions of spans in the wanted order. Spans without the time are last, and equal ones in tree order. */
export function sortedSpans(
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
