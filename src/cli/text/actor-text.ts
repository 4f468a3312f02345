import type { LinkedSpan } from '../../model/ports/query-port.ts'
import { plain } from './show.ts'

/** Who did the work of a span: its service, and before it the person who used it. */
export function writerText({ seen, service }: Pick<LinkedSpan, 'seen' | 'service'>): string {
  return seen?.cause === 'operator' ? actorText(seen.user, service) : plain(service)
}

/** A user and by what service: `alice (kubectl)`. */
export function actorText(actor: string | undefined, service: string | undefined): string {
  if (actor === undefined || actor === service) return plain(service)
  return service === undefined ? plain(actor) : `${plain(actor)} (${plain(service)})`
}
