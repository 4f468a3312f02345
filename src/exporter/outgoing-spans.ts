import type { OutboxReader } from '../model/ports/outbox-port.ts'
import { outgoingSpan } from '../otlp/write/outgoing-span.ts'
import type { OutgoingItems } from './drain.ts'
import { outgoing } from './outgoing.ts'

/** What a drain of spans sends. */
export function outgoingSpans(outbox: OutboxReader): OutgoingItems {
  return {
    after: (position, limit) => outbox.after(position, limit).map((item) => outgoing(item, outgoingSpan)),
    envelopes: (scope) => outbox.envelopes(scope),
  }
}
