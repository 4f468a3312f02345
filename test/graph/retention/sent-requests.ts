import type { LinkedSignal } from '../../../src/model/otlp-requests.ts'
import { cpid, logsRequest, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { HOUR_MS, type LifeStep } from './life.ts'

interface Request {
  signal: LinkedSignal
  bytes: Buffer
}

export type Sending = Extract<LifeStep, { kind: 'span' | 'mergelog' | 'log' | 'again' | 'refused' }>

/** What the senders of one Causeway send, and have sent. Times are milliseconds since it began, at `startMs`. */
export class SentRequests {
  readonly #startMs: number
  readonly #sent: Request[] = []

  constructor(startMs: number) {
    this.#startMs = startMs
  }

  /** The request of a step; undefined when there is none to send again. */
  next(step: Sending, nowMs: number): Request | undefined {
    const request = this.#requestOf(step, nowMs)
    if (request !== undefined) this.#sent.push(request)
    return request
  }

  #requestOf(step: Sending, nowMs: number): Request | undefined {
    switch (step.kind) {
      case 'span': {
        const start = nowMs + (step.span.id % 100)
        return { signal: 'traces', bytes: spansRequest('controller', [{ ...step.span, start }]) }
      }
      case 'mergelog': {
        const mergelog = {
          new: cpid(step.at),
          sources: step.sources.map(cpid),
          time: this.#timeOf(step.time, nowMs),
          ...(step.object && { object: `apps/v1/deployments/default/web-${step.at}?uid=u` }),
        }
        return { signal: 'logs', bytes: mergelogsRequest('merger', [mergelog]) }
      }
      case 'log':
        return { signal: 'logs', bytes: logsRequest('controller', [{ time: nowMs, ...step.log }]) }
      case 'refused': {
        const mergelog = { new: cpid(90), sources: [cpid(90)], time: nowMs }
        return { signal: 'logs', bytes: mergelogsRequest('faulty', [mergelog]) }
      }
      case 'again': {
        const request = this.#sent[step.nth % Math.max(1, this.#sent.length)]
        if (request?.signal !== 'traces' || !step.batched) return request
        const other = spansRequest('other', [{ trace: 9, id: 900 + this.#sent.length, start: nowMs }])
        // The protobuf of two requests, one after the other, is a request with what both hold.
        return { signal: 'traces', bytes: Buffer.concat([request.bytes, other]) }
      }
    }
  }

  #timeOf(time: 'now' | 'none' | 'ahead', nowMs: number): number {
    if (time === 'none') return -this.#startMs
    return nowMs + (time === 'ahead' ? 30 * 24 * HOUR_MS : 0)
  }
}
