/**
 * Hues of much the same lightness: 3:1 on both grounds, 4.5:1 under the ink that labels stand in. The first ones differ
 * most, also for eyes that miss red or green.
 */
export const COLOURS = [
  '#3a93e6',
  '#d67b19',
  '#1ea662',
  '#be67b7',
  '#a39005',
  '#01a0ad',
  '#d46050',
  '#8976dc',
  '#779b1e',
  '#d86383',
  '#01a38f',
  '#6f8bed',
] as const

/** What labels on any of the colours are written in, in either scheme. */
export const INK = '#10151a'

const KEY = 'causeway-colours'
/** So many services keep their colour from one visit to the next. */
const KEPT = 200

const indexes = new Map<string, number>(kept())

/**
 * The number of a service's colour. It follows from the name, moved on to a free one where two services of a page would
 * share it while others are left.
 */
export function colourIndex(service: string): number {
  const known = indexes.get(service)
  if (known !== undefined) return known
  const taken = new Set(indexes.values())
  let index = hash(service) % COLOURS.length
  for (let step = 0; step < COLOURS.length && taken.has(index); step++) index = (index + 1) % COLOURS.length
  indexes.set(service, index)
  localStorage.setItem(KEY, JSON.stringify([...indexes].slice(-KEPT)))
  return index
}

export function colourOf(service: string): string {
  return COLOURS[colourIndex(service)] ?? COLOURS[0]
}

function kept(): [string, number][] {
  try {
    const list = JSON.parse(localStorage.getItem(KEY) ?? '[]') as unknown
    if (!Array.isArray(list)) return []
    return list.filter(
      (entry): entry is [string, number] =>
        Array.isArray(entry) &&
        typeof entry[0] === 'string' &&
        Number.isInteger(entry[1]) &&
        entry[1] < COLOURS.length,
    )
  } catch {
    return []
  }
}

function hash(text: string): number {
  let value = 2166136261
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619) >>> 0
  return value
}
