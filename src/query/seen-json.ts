import type { SeenWrite } from '../model/seen-write.ts'
import type { Span } from './answers/spans.ts'

/** What is said of a write that was seen from outside; nothing of any other. */
export function seenJson(seen: SeenWrite | undefined): Pick<Span, 'user' | 'cause' | 'gap'> {
  if (seen === undefined) return {}
  const { user, cause, gap } = seen
  return { ...(user !== undefined && { user }), cause, ...(gap && { gap }) }
}
