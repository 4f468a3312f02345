/**
 * Hues of similar lightness: contrast 3:1 on both backgrounds, and 4.5:1 below label text. The first ones differ most, also for readers
 * with red-green colour blindness.
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

/** The text colour of labels on any of the colours, in either theme. */
export const INK = '#10151a'

const KEY = 'causeway-colours'
/** Services of most clusters. They have the same colour for every reader. */
const USUAL = [
  ...['kubectl', 'deployment-controller', 'replicaset-controller', 'kubelet', 'kube-scheduler'],
  ...['endpointslice-controller', 'statefulset-controller', 'job-controller', 'daemon-set-controller'],
]
/** The most services whose colour is kept between visits. */
const KEPT = 200

const indexes = new Map<string, number>(USUAL.map((service, at) => [service, at]))

/**
 * The number of a service's colour, the same in all views and tabs. It is derived from the name. If another service has that colour, the
 * next free one is used while there are any.
 */
export function colourIndex(service: string): number {
  const known = indexes.get(service)
  if (known !== undefined) return known
  // Another tab may have assigned it.
  for (const [name, index] of kept()) if (!indexes.has(name)) indexes.set(name, index)
  const met = indexes.get(service)
  if (met !== undefined) return met
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
