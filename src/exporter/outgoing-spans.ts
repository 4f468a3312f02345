import type { OutboxReader } from '../model/outbox-port.ts'
import { outgoingSpan } from '../otlp/outgoing-span.ts'
import type { OutgoingItems } from './drain.ts'
import { outgoing } from './outgoing.ts'

/** What a drain of spans sends. */
export function outgoingSpans(outbox: OutboxReader): OutgoingItems {
  return {
    after: (position, limit) => outbox.after(position, limit).map((item) => outgoing(item, outgoingSpan)),
    envelopes: (scope) => outbox.envelopes(scope),
  }
}
