import { UnreadAnswer, type QueryService, type Reply } from '../../api/query-service.ts'
import type { StorageFault } from '../../model/storage-fault.ts'
import type { Asker } from '../../query/asker.ts'
import type { Question } from '../../query/question.ts'
import { ChildThread } from '../../threads/child-thread.ts'
import { IncomingText } from './incoming-text.ts'
import { WholeText } from './whole-text.ts'
import type { FromQuery, QueryThreadData, ToQuery } from '../../threads/query-messages.ts'

/** A reply, or that the answer is a long one and this thread gives short ones alone. */
export type ThreadReply = Reply | { kind: 'long' }

interface Asked {
  readonly reply: PromiseWithResolvers<ThreadReply>
  readonly text: IncomingText
}

export interface QueryThreadHooks {
  /** Told when a question shows that the database is damaged. */
  onFault?: (fault: StorageFault) => void
  /** Told why the thread ended by itself. */
  onEnded?: (reason: string) => void
}

/** Asks the query thread. Disposing stops the thread; what was asked and not answered in full then fails. */
export class ThreadQueryService implements QueryService, AsyncDisposable {
  readonly #thread: ChildThread<ToQuery, FromQuery>
  readonly #asked = new Map<number, Asked>()
  #lastId = 0
  #gone: Error | undefined
  #isStopping = false

  private constructor(thread: ChildThread<ToQuery, FromQuery>, { onFault, onEnded }: QueryThreadHooks) {
    this.#thread = thread
    thread.listen((message) => {
      if (message.kind === 'storage') onFault?.(message.fault)
      else this.#hear(message)
    })
    void thread.ended.then((why) => {
      this.#gone = new Error('the query thread has ended')
      this.#failAll(this.#gone)
      if (!this.#isStopping)
        onEnded?.(`the query thread ended by itself (${why}); the next question starts another`)
    })
  }

  /** Starts the thread; rejects with what to do when the database cannot be opened. */
  static async start(data: QueryThreadData, hooks: QueryThreadHooks = {}): Promise<ThreadQueryService> {
    const { thread } = await ChildThread.start<ToQuery, FromQuery>({
      name: 'query',
      file: new URL('./query-thread.ts', import.meta.url),
      data,
      youngMib: 8,
      oldMib: 2048,
    })
    return new ThreadQueryService(thread, hooks)
  }

  /** Whether the thread has ended, by itself or because of a failure. */
  get isGone(): boolean {
    return this.#gone !== undefined
  }

  /** Whether anybody waits for an answer, or reads one. */
  get isAnswering(): boolean {
    return this.#asked.size > 0
  }

  async ask(
    question: Question,
    known?: readonly string[],
    gone?: AbortSignal,
    asker?: Asker,
  ): Promise<Reply> {
    const reply = await this.askThread(question, known, gone, asker)
    if (reply.kind === 'long') throw new Error('a thread for short answers alone was asked for a long one')
    return reply
  }

  /** As `ask`; a thread that gives short answers alone may reply that the answer is long. */
  async askThread(
    question: Question,
    known: readonly string[] = [],
    gone?: AbortSignal,
    asker?: Asker,
  ): Promise<ThreadReply> {
    if (this.#gone !== undefined) throw this.#gone
    gone?.throwIfAborted()
    const id = ++this.#lastId
    const reply = Promise.withResolvers<ThreadReply>()
    const text = new IncomingText(
      () => this.#post({ kind: 'read', id }),
      () => this.#cancel(id),
    )
    // What cannot be handed over is not waited for.
    this.#post({ kind: 'ask', id, question, known, asker })
    this.#asked.set(id, { reply, text })
    const giveUp = (): void => {
      this.#cancel(id)
      reply.reject(gone?.reason)
    }
    gone?.addEventListener('abort', giveUp)
    try {
      return await reply.promise
    } finally {
      gone?.removeEventListener('abort', giveUp)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true
    this.#post({ kind: 'stop' })
    await this.#thread.ended
  }

  #post(message: ToQuery): void {
    this.#thread.post(message)
  }

  #cancel(id: number): void {
    this.#asked.delete(id)
    this.#post({ kind: 'cancel', id })
  }

  #hear(message: Exclude<FromQuery, { kind: 'storage' }>): void {
    if (message.kind === 'ready' || message.kind === 'fatal') return
    const asked = this.#asked.get(message.id)
    if (asked === undefined) return
    switch (message.kind) {
      case 'found':
        asked.reply.resolve({ kind: 'found', text: asked.text, etag: message.etag })
        return
      case 'whole':
        this.#asked.delete(message.id)
        asked.reply.resolve({
          kind: 'found',
          text: new WholeText(message.text),
          etag: message.etag,
        })
        return
      case 'notModified':
        this.#asked.delete(message.id)
        asked.reply.resolve({ kind: 'notModified', etag: message.etag })
        return
      case 'refused':
        this.#asked.delete(message.id)
        asked.reply.resolve({ kind: message.refusal })
        return
      case 'long':
        this.#asked.delete(message.id)
        asked.reply.resolve({ kind: 'long' })
        return
      case 'chunk':
        asked.text.add(message.text)
        return
      case 'end':
        this.#asked.delete(message.id)
        asked.text.end()
        return
      case 'unread':
        this.#asked.delete(message.id)
        asked.text.end(new UnreadAnswer())
        return
      case 'failed': {
        this.#asked.delete(message.id)
        const error = new Error(message.reason)
        asked.reply.reject(error)
        asked.text.end(error)
      }
    }
  }

  #failAll(error: Error): void {
    for (const { reply, text } of this.#asked.values()) {
      reply.reject(error)
      text.end(error)
    }
    this.#asked.clear()
  }
}
