import type { Asker } from '../../query/asker.ts'
import type { Question } from '../../query/question.ts'
import type { QueryThreadData } from '../../threads/query-messages.ts'
import type { OnDemandSettings } from './queries-on-demand.ts'
import { ThreadQueryService, type ThreadReply } from './thread-query-service.ts'

const IDLE_MS = 60_000

/** A thread that answers questions while people ask: its memory is free while nobody does. One that failed is replaced for the next question. */
export class ThreadOnDemand {
  readonly #data: QueryThreadData
  readonly #settings: OnDemandSettings
  #thread: Promise<ThreadQueryService> | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(data: QueryThreadData, settings: OnDemandSettings) {
    this.#data = data
    this.#settings = settings
  }

  /** Whether the thread is there, or being started. */
  get isRunning(): boolean {
    return this.#thread !== undefined
  }

  async ask(
    question: Question,
    known: readonly string[] | undefined,
    gone: AbortSignal | undefined,
    asker: Asker,
  ): Promise<ThreadReply> {
    this.#waitForQuiet()
    const thread = await this.#running()
    return thread.askThread(question, known, gone, asker)
  }

  async end(): Promise<void> {
    clearTimeout(this.#idle)
    const ending = this.#thread
    // Whoever asks from now on gets a thread of its own.
    this.#thread = undefined
    const thread = await ending?.catch(() => undefined)
    await thread?.[Symbol.asyncDispose]()
  }

  async #running(): Promise<ThreadQueryService> {
    const running = (this.#thread ??= this.#start())
    const thread = await running
    if (!thread.isGone) return thread
    // Another question may have replaced it already.
    if (this.#thread === running) this.#thread = undefined
    return (this.#thread ??= this.#start())
  }

  async #start(): Promise<ThreadQueryService> {
    try {
      return await ThreadQueryService.start(this.#data, this.#settings)
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
    else await this.end()
  }
}
