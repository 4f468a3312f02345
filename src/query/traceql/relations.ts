import type { SpanView } from './fetch-plan.ts'
import type { Relation } from './syntax.ts'
import type { Place } from './trace-data.ts'

type StandsToOne = (span: SpanView) => boolean

const INVERSE: Readonly<Record<Relation, Relation>> = {
  descendant: 'ancestor',
  ancestor: 'descendant',
  child: 'parent',
  parent: 'child',
  sibling: 'sibling',
}

/**
 * Spans on the right that have this relation to a span on the left. With `none`, those that do not. With `both`, also the matching spans
 * on the left.
 */
export function related(
  { relation, of }: { relation: Relation; of: 'right' | 'none' | 'both' },
  left: readonly SpanView[],
  right: readonly SpanView[],
): SpanView[] {
  const standsToLeft = standsTo(relation, left)
  if (of === 'none') return right.filter((span) => !standsToLeft(span))
  const found = right.filter(standsToLeft)
  if (of === 'right') return found
  return [...new Set([...found, ...left.filter(standsTo(INVERSE[relation], right))])]
}

/** Whether a span has the relation to one of many, without visiting all of them. */
function standsTo(relation: Relation, many: readonly SpanView[]): StandsToOne {
  switch (relation) {
    case 'descendant':
      return isBelowOne(many)
    case 'ancestor':
      return isAboveOne(many)
    case 'child': {
      const lefts = new Set(many.map(({ place }) => place?.left ?? 0))
      return ({ place }) => place !== undefined && place.parent > 0 && lefts.has(place.parent)
    }
    case 'parent': {
      const parents = new Set(many.map(({ place }) => place?.parent ?? 0))
      return ({ place }) => place !== undefined && place.left > 0 && parents.has(place.left)
    }
    case 'sibling': {
      const counts = new Map<number, number>()
      for (const { place } of many)
        if (place !== undefined) counts.set(place.parent, (counts.get(place.parent) ?? 0) + 1)
      const among = new Set(many)
      return (span) => {
        const { place } = span
        if (place === undefined || place.parent === 0) return false
        // A span is not its own sibling.
        return (counts.get(place.parent) ?? 0) > (among.has(span) ? 1 : 0)
      }
    }
  }
}

const isPlaced = (place: Place | undefined): place is Place =>
  place !== undefined && place.left > 0 && place.right > 0

const placesByLeft = (many: readonly SpanView[]): Place[] =>
  many.flatMap(({ place }) => (isPlaced(place) ? [place] : [])).sort((a, b) => a.left - b.left)

/** Spans contain each other or are disjoint. Of the spans that begin before a span, the one that ends last contains it if any does. */
function isBelowOne(many: readonly SpanView[]): StandsToOne {
  const places = placesByLeft(many)
  let last = 0
  const ends = places.map(({ right }) => (last = Math.max(last, right)))
  return ({ place }) => isPlaced(place) && (ends[firstFrom(places, place.left) - 1] ?? 0) > place.right
}

function isAboveOne(many: readonly SpanView[]): StandsToOne {
  const places = placesByLeft(many)
  return ({ place }) =>
    isPlaced(place) && (places[firstFrom(places, place.left + 1)]?.left ?? Infinity) < place.right
}

/** The index of the first place at or after a number. */
function firstFrom(places: readonly Place[], least: number): number {
  let [from, to] = [0, places.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((places[middle]?.left ?? 0) < least) from = middle + 1
    else to = middle
  }
  return from
}
