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

/** Services of most clusters, whose colours differ. */
const USUAL = [
  ...['kubectl', 'deployment-controller', 'replicaset-controller', 'kubelet', 'kube-scheduler'],
  ...['endpointslice-controller', 'statefulset-controller', 'job-controller', 'daemon-set-controller'],
]
const OF_USUAL = new Map(USUAL.map((service, at) => [service, at]))

/** The number of a service's colour: by its name alone, so that it is the same in all views, browsers and pictures. */
export function colourIndex(service: string): number {
  return OF_USUAL.get(service) ?? hash(service) % COLOURS.length
}

export function colourOf(service: string): string {
  return COLOURS[colourIndex(service)] ?? COLOURS[0]
}

function hash(text: string): number {
  let value = 2166136261
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619) >>> 0
  return value
}
