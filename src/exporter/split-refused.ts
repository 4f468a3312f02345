import { type Transport } from '../model/send-outcome.ts'

/**
 * What became of a batch, in items.
 * - done: every item was delivered or refused for good; `reasons` are the first few different reasons and
 *   warnings that the backend gave.
 * - unfinished: some items have no verdict; send the whole batch again later, in which the delivered repeat.
 */
export type SplitOutcome =
  | { kind: 'done'; delivered: number; refused: number; reasons: string[] }
  | { kind: 'unfinished'; reason: string; afterMs?: number }

export interface SplitTools<Item> {
  /** Builds the request of some items, each of which must be one span or one log record in it. */
  encode: (items: readonly Item[]) => Uint8Array
  transport: Transport
  signal: AbortSignal
  /** Called for each refusal that is final; log it as `DROPPING` of failure-log.ts. */
  onDrop?: (dropped: { items: number; reason: string }) => void
}

const MAX_REASONS = 10

/**
 * Sends a batch and, where a smaller one might fare better, halves it, so that only items which the backend
 * refuses by themselves are passed over. Parts are sent one after another, in order.
 */
export async function sendSplitting<Item>(
  items: readonly Item[],
  { encode, transport, signal, onDrop }: SplitTools<Item>,
): Promise<SplitOutcome> {
  const reasons = new Set<string>()
  let delivered = 0
  let refused = 0
  const note = (reason: string): void => {
    if (reason !== '' && reasons.size < MAX_REASONS) reasons.add(reason)
  }
  const drop = (count: number, reason: string): void => {
    refused += count
    note(reason)
    onDrop?.({ items: count, reason })
  }

  const waiting = items.length === 0 ? [] : [items]
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const outcome = await transport.send(encode(part), signal)
    switch (outcome.kind) {
      case 'delivered': {
        const lost = Math.min(outcome.refused, part.length)
        delivered += part.length - lost
        if (lost > 0) drop(lost, outcome.message)
        else note(outcome.message)
        break
      }
      case 'retry': {
        const { reason, afterMs } = outcome
        return afterMs === undefined
          ? { kind: 'unfinished', reason }
          : { kind: 'unfinished', reason, afterMs }
      }
      case 'refused':
        if (outcome.splittable && part.length > 1) {
          const middle = Math.ceil(part.length / 2)
          waiting.push(part.slice(middle), part.slice(0, middle))
        } else {
          drop(part.length, outcome.reason)
        }
    }
  }
  return { kind: 'done', delivered, refused, reasons: [...reasons] }
}
