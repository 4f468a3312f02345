import { randomUUID } from 'node:crypto'
import type { QueryService, Reply } from '../../api/query-service.ts'
import type { Asker } from '../../query/asker.ts'
import type { Question } from '../../query/question.ts'
import { ThreadOnDemand } from './thread-on-demand.ts'
import type { QueryThreadHooks } from './thread-query-service.ts'

export interface OnDemandSettings extends QueryThreadHooks {
  /** How long nobody asks before a thread is ended, in milliseconds; one minute unless given. */
  idleMs?: number
}

const NOBODY: Asker = { address: '', connection: 0 }

/**
 * Has questions answered by threads that are there while people ask: short answers by one, long ones by another, which gives
 * way to everything else. A question goes to the first, and then to the second when that says that it is long. So nobody waits
 * for the long answer of somebody else.
 */
export class QueriesOnDemand implements QueryService, AsyncDisposable {
  readonly #short: ThreadOnDemand
  readonly #long: ThreadOnDemand
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
    const short = await this.#short.ask(question, known, gone, asker)
    if (short.kind !== 'long') return short
    const reply = await this.#long.ask(question, known, gone, asker)
    if (reply.kind === 'long') throw new Error('the thread for long answers left one out')
    return reply
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    await Promise.all([this.#short.end(), this.#long.end()])
  }
}
