import { randomUUID } from 'node:crypto'
import type { QueryService, Reply } from '../../api/query-service.ts'
import type { Asker } from '../../query/asker.ts'
import type { Question } from '../../query/question.ts'
import { CostlyAskers } from './costly-askers.ts'
import { ThreadOnDemand } from './thread-on-demand.ts'
import type { QueryThreadHooks } from './thread-query-service.ts'

export interface OnDemandSettings extends QueryThreadHooks {
  /** How long nobody asks before a thread is ended, in milliseconds; one minute unless given. */
  idleMs?: number
}

const NOBODY: Asker = { address: '', connection: 0 }

/**
 * Has questions answered by threads that are there while people ask: short answers by one, long ones by another, which gives
 * way to everything else. A question begins with the first, and goes to the second when it turns out long; those of
 * somebody whose questions were long of late go there at once. So nobody waits for the long answer of somebody else.
 */
export class QueriesOnDemand implements QueryService, AsyncDisposable {
  readonly #short: ThreadOnDemand
  readonly #long: ThreadOnDemand
  readonly #costly = new CostlyAskers(() => performance.now())
  #isStopped = false

  constructor(path: string, settings: OnDemandSettings = {}) {
    const salt = randomUUID()
    this.#short = new ThreadOnDemand({ path, salt, answers: 'short' }, settings)
    this.#long = new ThreadOnDemand({ path, salt, answers: 'any' }, settings)
  }

  /** Whether a thread is there, or being started. */
  get isRunning(): boolean {
    return this.#short.isRunning || this.#long.isRunning
  }

  async ask(
    question: Question,
    known?: readonly string[],
    gone?: AbortSignal,
    asker = NOBODY,
  ): Promise<Reply> {
    if (this.#isStopped) throw new Error('Causeway is shutting down')
    if (!this.#costly.isCostly(asker)) {
      const reply = await this.#short.ask(question, known, gone, asker)
      if (reply.kind === 'long' && reply.isCostly) this.#costly.tookLong(asker)
      else this.#costly.tookLittle(asker)
      if (reply.kind !== 'long') return reply
    }
    const reply = await this.#long.ask(question, known, gone, asker)
    if (reply.kind === 'long') throw new Error('the thread for long answers left one out')
    return reply
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    await Promise.all([this.#short.end(), this.#long.end()])
  }
}
