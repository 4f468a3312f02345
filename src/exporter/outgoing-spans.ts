import type { OutboxReader } from '../model/outbox-port.ts'
import { outgoingSpan } from '../otlp/outgoing-span.ts'
import type { OutgoingItems } from './drain.ts'

/** What a drain of spans sends. */
export function outgoingSpans(outbox: OutboxReader): OutgoingItems {
  return {
    after: (position, limit) =>
      outbox.after(position, limit).map((item) => ({
        decision: item.decision,
        scope: item.scope,
        bytes: outgoingSpan(item),
      })),
    envelopes: (scope) => outbox.envelopes(scope),
  }
}
