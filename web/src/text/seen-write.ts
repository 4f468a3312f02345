import type { Span } from '../../../src/query/answer-schemas.ts'

type Write = Pick<Span, 'user' | 'service' | 'cause' | 'gap'>

/** Why a write was made, in a sentence. */
export const CAUSES = {
  operator: 'An operator made this write.',
  self: 'A controller began this change by itself: at a certain time, because of a measurement, or because something stopped.',
  exact:
    'The request names the versions that this write follows from, or they are the only ones with the content that it copies.',
  inferred: 'This write follows from the newest versions that its writer could have read.',
} as const

export const BEGAN = 'A change began with this write.'
export const REPORTED =
  'The controller itself reported the change that this write belongs to, and what it had read.'

export const GAP = 'Versions of the object before this one were not observed.'

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
