import type { SpanView } from './fetch-plan.ts'
import type { Relation } from './syntax.ts'
import type { Place } from './trace-data.ts'

const isPlaced = (place: Place | undefined): place is Place =>
  place !== undefined && place.left > 0 && place.right > 0

/** Whether a span on the right stands so to one on the left. */
function stands(relation: Relation, left: SpanView, right: SpanView): boolean {
  const [a, b] = [left.place, right.place]
  switch (relation) {
    case 'descendant':
      return isPlaced(a) && isPlaced(b) && b.left > a.left && b.right < a.right
    case 'ancestor':
      return stands('descendant', right, left)
    case 'child':
      return a !== undefined && b !== undefined && a.left !== 0 && b.parent === a.left
    case 'parent':
      return stands('child', right, left)
    case 'sibling':
      return left !== right && a !== undefined && b !== undefined && a.parent !== 0 && a.parent === b.parent
  }
}

/**
 * Spans on the right that stand so to one on the left; with `none` those that do not, with `both` the ones on the left to which
 * they do as well.
 */
export function related(
  { relation, of }: { relation: Relation; of: 'right' | 'none' | 'both' },
  left: readonly SpanView[],
  right: readonly SpanView[],
): SpanView[] {
  const candidates = candidatesAmong(relation, left)
  if (of !== 'both') {
    const isWanted = of === 'right'
    return right.filter(
      (span) => candidates(span).some((other) => stands(relation, other, span)) === isWanted,
    )
  }
  const found = new Set<SpanView>()
  for (const span of right)
    for (const other of candidates(span))
      if (stands(relation, other, span)) {
        found.add(span)
        found.add(other)
      }
  return [...found]
}

/** Those on the left that may come in question for one on the right, so that nobody has to look at all of them. */
function candidatesAmong(
  relation: Relation,
  left: readonly SpanView[],
): (right: SpanView) => readonly SpanView[] {
  if (relation === 'descendant' || relation === 'ancestor') return enclosing(relation, left)
  const by = new Map<number, SpanView[]>()
  for (const span of left) {
    const key = relation === 'child' ? span.place?.left : span.place?.parent
    if (key === undefined) continue
    const same = by.get(key)
    if (same === undefined) by.set(key, [span])
    else same.push(span)
  }
  return ({ place }) => {
    const key = relation === 'parent' ? place?.left : place?.parent
    return (key === undefined ? undefined : by.get(key)) ?? []
  }
}

/** By where they begin: what is around a span began before it, what is inside begins before its end. */
function enclosing(
  relation: 'descendant' | 'ancestor',
  left: readonly SpanView[],
): (right: SpanView) => readonly SpanView[] {
  const placed = left.filter(({ place }) => isPlaced(place))
  const sorted = placed.toSorted((a, b) => (a.place?.left ?? 0) - (b.place?.left ?? 0))
  const firstFrom = (least: number): number => {
    let [from, to] = [0, sorted.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((sorted[middle]?.place?.left ?? 0) < least) from = middle + 1
      else to = middle
    }
    return from
  }
  if (relation === 'ancestor')
    return ({ place }) =>
      place === undefined ? [] : sorted.slice(firstFrom(place.left + 1), firstFrom(place.right))
  return ({ place }) => (place === undefined ? [] : sorted.slice(0, firstFrom(place.left)))
}
