import type { Span } from '../../../src/query/answer-schemas.ts'

type Write = Pick<Span, 'user' | 'service' | 'cause' | 'gap'>

/** Why a write was made, in a sentence. */
export const CAUSES = {
  operator: 'An operator did it.',
  self: 'A controller began it by itself: by a clock, a measurement, or because something did not happen any more.',
  exact: 'The versions it follows from are named by the request, or are the only ones with that content.',
  inferred: 'It follows from the newest versions that there were when it was made.',
} as const

export const BEGAN = 'A change began with this write.'
export const TOLD = 'The controller reports itself which change this belongs to, and what it had read.'

export const GAP = 'Versions of the object before this one were not seen.'

const BEGUN: Readonly<Partial<Record<NonNullable<Write['cause']>, string>>> = {
  operator: 'begun by an operator',
  self: 'begun by itself',
}

/** Who wrote, and what is uncertain about it. Empty for a span that does not describe a write. */
export function seenWords({ user, cause, gap }: Write): string[] {
  if (cause === undefined) return []
  const words: string[] = [BEGUN[cause] ?? cause]
  if (user !== undefined) words.unshift(`by ${user}`)
  if (gap === true) words.push('versions before it were not seen')
  return words
}

/** The name of a write, preceded by the person who made it, and followed by the cluster if that is another one. */
export function writeLabel(span: Write & Pick<Span, 'name' | 'cluster'>): string {
  const { user, cause, name, cluster } = span
  const what = cluster === undefined ? name : `${name} in ${cluster}`
  return cause === 'operator' && user !== undefined ? `${user}: ${what}` : what
}
