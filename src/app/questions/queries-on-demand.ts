import type { QueryService, Reply } from '../../api/query-service.ts'
import type { Question } from '../../query/question.ts'
import { ThreadQueryService, type QueryThreadHooks } from './thread-query-service.ts'

const IDLE_MS = 60_000

export interface OnDemandSettings extends QueryThreadHooks {
  /** How long nobody asks before the thread is ended, in milliseconds; one minute unless given. */
  idleMs?: number
}

/**
 * Has questions answered by a thread that is there while people ask: its memory is free while nobody does. One that
 * failed is replaced for the next question.
 */
export class QueriesOnDemand implements QueryService, AsyncDisposable {
  readonly #path: string
  readonly #settings: OnDemandSettings
  #thread: Promise<ThreadQueryService> | undefined
  #idle: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(path: string, settings: OnDemandSettings = {}) {
    this.#path = path
    this.#settings = settings
  }

  /** Whether the thread is there, or being started. */
  get isRunning(): boolean {
    return this.#thread !== undefined
  }

  async ask(
    question: Question,
    known?: readonly string[],
    gone?: AbortSignal,
    asker?: string,
  ): Promise<Reply> {
    if (this.#isStopped) throw new Error('Causeway is shutting down')
    this.#waitForQuiet()
    const thread = await this.#running()
    return thread.ask(question, known, gone, asker)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#idle)
    await this.#end()
  }

  async #running(): Promise<ThreadQueryService> {
    const thread = await (this.#thread ??= this.#start())
    if (!thread.isGone) return thread
    if ((await this.#thread) === thread) this.#thread = this.#start()
    return (this.#thread ??= this.#start())
  }

  async #start(): Promise<ThreadQueryService> {
    try {
      return await ThreadQueryService.start(this.#path, this.#settings)
    } catch (error) {
      this.#thread = undefined
      throw error
    }
  }

  #waitForQuiet(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.#endWhenQuiet(), this.#settings.idleMs ?? IDLE_MS).unref()
  }

  async #endWhenQuiet(): Promise<void> {
    const thread = await this.#thread?.catch(() => undefined)
    if (thread?.isAnswering === true) this.#waitForQuiet()
    else await this.#end()
  }

  async #end(): Promise<void> {
    const ending = this.#thread
    // Whoever asks from now on gets a thread of its own.
    this.#thread = undefined
    const thread = await ending?.catch(() => undefined)
    await thread?.[Symbol.asyncDispose]()
  }
}
