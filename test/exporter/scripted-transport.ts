import type { SendOutcome, Transport } from '../../src/model/outbox.ts'

export const DELIVERED: SendOutcome = { kind: 'delivered', refused: 0, message: '' }
export const retry = (afterMs?: number): SendOutcome =>
  afterMs === undefined ? { kind: 'retry', reason: 'down' } : { kind: 'retry', afterMs, reason: 'down' }
export const refused = (splittable: boolean): SendOutcome => ({ kind: 'refused', splittable, reason: 'bad' })

interface Scripted extends Transport {
  sent: Uint8Array[]
  closed: number
}

/** A transport that answers from a function of the request and how many came before it. */
export function scripted(answer: (request: Uint8Array, before: number) => SendOutcome): Scripted {
  return {
    sent: [],
    closed: 0,
    send(request) {
      this.sent.push(request)
      return Promise.resolve(answer(request, this.sent.length - 1))
    },
    [Symbol.asyncDispose]() {
      this.closed += 1
      return Promise.resolve()
    },
  }
}
