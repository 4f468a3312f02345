import { randomUUID } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { QueryService, Reply } from '../api/query-service.ts'
import type { StorageFault } from '../model/storage-fault.ts'
import type { Question } from '../query/question.ts'
import { IncomingText } from './incoming-text.ts'
import { WholeText } from './whole-text.ts'
import type { FromQuery, QueryThreadData, ToQuery } from './query-messages.ts'

interface Asked {
  readonly reply: PromiseWithResolvers<Reply>
  readonly text: IncomingText
}

/** Asks the query thread. Disposing stops the thread; what was asked and not answered in full then fails. */
export class ThreadQueryService implements QueryService, AsyncDisposable {
  readonly #worker: Worker
  readonly #asked = new Map<number, Asked>()
  readonly #exited = Promise.withResolvers<undefined>()
  #lastId = 0
  #gone: Error | undefined

  private constructor(worker: Worker, onFault: (fault: StorageFault) => void) {
    this.#worker = worker
    worker.on('message', (message: FromQuery) => {
      if (message.kind === 'storage') onFault(message.fault)
      else this.#hear(message)
    })
    worker.on('error', (error) => this.#end(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => {
      this.#end(new Error('the query thread has ended'))
      this.#exited.resolve(undefined)
    })
  }

  /**
   * Starts the thread; rejects with what to do when the database cannot be opened. `onFault` is told when a question shows
   * that it is damaged.
   */
  static async start(
    path: string,
    onFault: (fault: StorageFault) => void = () => undefined,
  ): Promise<ThreadQueryService> {
    const workerData: QueryThreadData = { path, salt: randomUUID() }
    const worker = new Worker(new URL('./query-thread.ts', import.meta.url), {
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 2048 },
    })
    const started = Promise.withResolvers<undefined>()
    worker.once('error', (error) => started.reject(error instanceof Error ? error : new Error(String(error))))
    worker.once('message', (message: FromQuery) => {
      if (message.kind === 'fatal') started.reject(new Error(message.reason))
      else started.resolve(undefined)
    })
    await started.promise
    return new ThreadQueryService(worker, onFault)
  }

  /** Whether the thread has ended, by itself or because of a failure. */
  get isGone(): boolean {
    return this.#gone !== undefined
  }

  /** Whether anybody waits for an answer, or reads one. */
  get isAnswering(): boolean {
    return this.#asked.size > 0
  }

  ask(question: Question, known: readonly string[] = []): Promise<Reply> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone)
    const id = ++this.#lastId
    const reply = Promise.withResolvers<Reply>()
    const text = new IncomingText(
      () => this.#post({ kind: 'read', id }),
      () => this.#cancel(id),
    )
    this.#asked.set(id, { reply, text })
    this.#post({ kind: 'ask', id, question, known })
    return reply.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#gone === undefined) this.#post({ kind: 'stop' })
    await this.#exited.promise
  }

  #post(message: ToQuery): void {
    this.#worker.postMessage(message)
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
      case 'chunk':
        asked.text.add(message.text)
        return
      case 'end':
        this.#asked.delete(message.id)
        asked.text.end()
        return
      case 'failed': {
        this.#asked.delete(message.id)
        const error = new Error(message.reason)
        asked.reply.reject(error)
        asked.text.end(error)
      }
    }
  }

  #end(error: Error): void {
    this.#gone ??= error
    for (const { reply, text } of this.#asked.values()) {
      reply.reject(this.#gone)
      text.end(this.#gone)
    }
    this.#asked.clear()
  }
}
