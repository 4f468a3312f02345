import { randomUUID } from 'node:crypto'
import type { StorageFault } from '../../model/faults.ts'
import { ChildThread } from '../../platform/child-thread.ts'
import type { ArchiveAddress } from '../archive/archive-client.ts'
import {
  type AnswerText,
  type Asker,
  BadQuestion,
  isArchived,
  type QueryService,
  type Question,
  type Reply,
  UnreadAnswer,
} from '../question.ts'
import type { FromQuery, QueryThreadData, ToQuery } from './query-messages.ts'

interface OnDemandSettings extends QueryThreadHooks {
  /** The archive to query as well. */
  archive?: ArchiveAddress
  /** How long a thread may be idle before it ends, in milliseconds; one minute by default. */
  idleMs?: number
}

const NOBODY: Asker = { address: '', connection: 0 }

/**
 * Answers questions in threads that run only while there are questions: one for short answers, and one with low priority for long ones. A
 * question goes to the second if the first replies that its answer is long. So no client waits for the long answer of another.
 */
export class QueryThreads implements QueryService, AsyncDisposable {
  readonly #short: ThreadOnDemand
  readonly #long: ThreadOnDemand
  readonly #archive: ThreadOnDemand | undefined
  #isStopped = false

  constructor(path: string, settings: OnDemandSettings = {}) {
    const salt = randomUUID()
    this.#short = new ThreadOnDemand({ path, salt, answers: 'short' }, settings)
    const onShort = (question: Question, { connection }: Asker): void =>
      this.#short.tell({ kind: 'short', question, connection })
    this.#long = new ThreadOnDemand({ path, salt, answers: 'any' }, { ...settings, onShort })
    const { archive } = settings
    this.#archive = archive && new ThreadOnDemand({ path, salt, answers: 'archive', archive }, settings)
  }

  /** Whether a thread runs or is starting. */
  get isRunning(): boolean {
    return this.#short.isRunning || this.#long.isRunning || this.#archive?.isRunning === true
  }

  async ask(
    question: Question,
    known?: readonly string[],
    gone?: AbortSignal,
    asker = NOBODY,
  ): Promise<Reply> {
    if (this.#isStopped) throw new Error('Causeway is shutting down')
    if (this.#archive !== undefined && isArchived(question)) {
      const reply = await this.#archive.ask(question, known, gone, asker)
      if (reply.kind !== 'long') return reply
      // The etag is that of the answer without `partial`, so it is not used.
      if (reply.partial !== undefined)
        return withNote(await this.#askHere(question, [], gone, asker), reply.partial)
    }
    return await this.#askHere(question, known, gone, asker)
  }

  async #askHere(
    question: Question,
    known: readonly string[] | undefined,
    gone: AbortSignal | undefined,
    asker: Asker,
  ): Promise<Reply> {
    const short = await this.#short.ask(question, known, gone, asker)
    if (short.kind !== 'long') return short
    const reply = await this.#long.ask(question, known, gone, asker)
    if (reply.kind === 'long') throw new Error('the thread for long answers left one out')
    return reply
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    await Promise.all([this.#short.end(), this.#long.end(), this.#archive?.end()])
  }
}

const IDLE_MS = 60_000

/** A thread that ends when idle, to free its memory. A failed one is replaced at the next question. */
class ThreadOnDemand {
  readonly #data: QueryThreadData
  readonly #settings: OnDemandSettings
  #thread: Promise<QueryThreadClient> | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(data: QueryThreadData, settings: OnDemandSettings) {
    this.#data = data
    this.#settings = settings
  }

  /** Whether the thread runs or is starting. */
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

  /** Posts a message to the thread if it runs. */
  tell(message: ToQuery): void {
    void this.#thread?.then(
      (thread) => thread.tell(message),
      () => undefined,
    )
  }

  async end(): Promise<void> {
    clearTimeout(this.#idle)
    const ending = this.#thread
    // The next question starts a new thread.
    this.#thread = undefined
    const thread = await ending?.catch(() => undefined)
    await thread?.[Symbol.asyncDispose]()
  }

  async #running(): Promise<QueryThreadClient> {
    const running = (this.#thread ??= this.#start())
    const thread = await running
    if (!thread.isGone) return thread
    // Another question may already have started a new one.
    if (this.#thread === running) this.#thread = undefined
    return (this.#thread ??= this.#start())
  }

  async #start(): Promise<QueryThreadClient> {
    try {
      return await QueryThreadClient.start(this.#data, this.#settings)
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

/** A reply. `long`: another thread has to answer; `partial` says what the archive's thread found missing. */
type ThreadReply = Reply | { kind: 'long'; partial?: string }

interface Asked {
  readonly question: Question
  readonly asker: Asker
  readonly reply: PromiseWithResolvers<ThreadReply>
  readonly text: IncomingText
}

interface QueryThreadHooks {
  /** Called when a question shows that the database is damaged. */
  onFault?: (fault: StorageFault) => void
  /** Called with the reason when the thread ended unexpectedly. */
  onEnded?: (reason: string) => void
  /** Called for each question that the thread for long answers answered in little time. */
  onShort?: (question: Question, asker: Asker) => void
}

/** Sends questions to a query thread. Disposing stops the thread; unfinished answers then fail. */
export class QueryThreadClient implements QueryService, AsyncDisposable {
  readonly #thread: ChildThread<ToQuery, FromQuery>
  readonly #asked = new Map<number, Asked>()
  readonly #onShort: QueryThreadHooks['onShort']
  #lastId = 0
  #gone: Error | undefined
  #isStopping = false

  private constructor(
    thread: ChildThread<ToQuery, FromQuery>,
    { onFault, onEnded, onShort }: QueryThreadHooks,
  ) {
    this.#thread = thread
    this.#onShort = onShort
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

  /** Starts the thread. If the database cannot be opened, rejects with an error that says what to do. */
  static async start(data: QueryThreadData, hooks: QueryThreadHooks = {}): Promise<QueryThreadClient> {
    const { thread } = await ChildThread.start<ToQuery, FromQuery>({
      name: 'query',
      file: new URL('./query-thread.ts', import.meta.url),
      data,
      youngMib: 8,
      oldMib: 2048,
    })
    return new QueryThreadClient(thread, hooks)
  }

  /** Whether the thread has ended, on its own or by a failure. */
  get isGone(): boolean {
    return this.#gone !== undefined
  }

  /** Whether an answer is awaited or being read. */
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

  /** Like `ask`; a thread for short answers may also reply that the answer is long. */
  async askThread(
    question: Question,
    known: readonly string[] = [],
    gone?: AbortSignal,
    asker = NOBODY,
  ): Promise<ThreadReply> {
    if (this.#gone !== undefined) throw this.#gone
    gone?.throwIfAborted()
    const id = ++this.#lastId
    const reply = Promise.withResolvers<ThreadReply>()
    const text = new IncomingText(
      () => this.tell({ kind: 'read', id }),
      () => this.#cancel(id),
    )
    // `tell` comes first: if it throws, there is no answer to wait for.
    this.tell({ kind: 'ask', id, question, known, asker })
    this.#asked.set(id, { question, asker, reply, text })
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
    this.tell({ kind: 'stop' })
    await this.#thread.ended
  }

  tell(message: ToQuery): void {
    this.#thread.post(message)
  }

  #cancel(id: number): void {
    this.#asked.delete(id)
    this.tell({ kind: 'cancel', id })
  }

  #hear(message: Exclude<FromQuery, { kind: 'storage' }>): void {
    if (message.kind === 'ready' || message.kind === 'fatal') return
    const asked = this.#asked.get(message.id)
    if (asked === undefined) return
    if ('isShort' in message) this.#onShort?.(asked.question, asked.asker)
    // After `found` chunks follow; all other messages complete the answer.
    if (message.kind !== 'found' && message.kind !== 'chunk') this.#asked.delete(message.id)
    switch (message.kind) {
      case 'found':
        asked.reply.resolve({ kind: 'found', text: asked.text, etag: message.etag })
        return
      case 'whole':
        asked.reply.resolve({ kind: 'found', text: new WholeText(message.text), etag: message.etag })
        return
      case 'notModified':
        asked.reply.resolve({ kind: 'notModified', etag: message.etag })
        return
      case 'refused':
        asked.reply.resolve({ kind: message.refusal })
        return
      case 'long':
        asked.reply.resolve(message)
        return
      case 'chunk':
        asked.text.add(message.text)
        return
      case 'end':
        asked.text.end()
        return
      case 'unread':
        asked.text.end(new UnreadAnswer())
        return
      case 'failed': {
        const error = message.isBad === true ? new BadQuestion(message.reason) : new Error(message.reason)
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

/** Chunks from the thread, passed on as they are read. */
class IncomingText implements AnswerText {
  readonly #chunks: string[] = []
  readonly #onRead: () => void
  readonly #onCancel: () => void
  #ended: { error?: Error } | undefined
  #wake: (() => void) | undefined

  /** `onRead` is called for each chunk read, `onCancel` when no more will be read. */
  constructor(onRead: () => void, onCancel: () => void) {
    this.#onRead = onRead
    this.#onCancel = onCancel
  }

  add(chunk: string): void {
    this.#chunks.push(chunk)
    this.#wake?.()
  }

  /** Ends the text. With an error, reading rejects after the chunks that have arrived. */
  end(error?: Error): void {
    this.#ended ??= error === undefined ? {} : { error }
    this.#wake?.()
  }

  cancel(): void {
    if (this.#ended === undefined) this.#onCancel()
    this.#chunks.length = 0
    this.end()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift()
        if (chunk !== undefined) {
          this.#onRead()
          yield chunk
        } else if (this.#ended === undefined) await this.#arrival()
        else if (this.#ended.error === undefined) return
        else throw this.#ended.error
      }
    } finally {
      this.cancel()
    }
  }

  #arrival(): Promise<undefined> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#wake = () => {
      this.#wake = undefined
      resolve(undefined)
    }
    return promise
  }
}

/** An answer that arrived in one message. */
class WholeText implements AnswerText {
  readonly whole: string

  constructor(text: string) {
    this.whole = text
  }

  cancel(): void {
    // The text is finished already.
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- there is nothing to wait for
  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    yield this.whole
  }
}

function withNote(reply: Reply, partial: string): Reply {
  if (reply.kind !== 'found') return reply
  const { text } = reply
  const { whole } = text
  const note = `,"partial":${JSON.stringify(partial)}}`
  const noted = whole === undefined ? new NotedText(text, note) : new WholeText(whole.slice(0, -1) + note)
  return { kind: 'found', text: noted, etag: undefined }
}

/** A JSON object whose last brace is replaced by a further field. */
class NotedText implements AnswerText {
  readonly #text: AnswerText
  readonly #note: string

  constructor(text: AnswerText, note: string) {
    this.#text = text
    this.#note = note
  }

  cancel(): void {
    this.#text.cancel()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    let last = ''
    for await (const chunk of this.#text) {
      if (last !== '') yield last
      if (chunk !== '') last = chunk
    }
    yield last.slice(0, -1) + this.#note
  }
}
