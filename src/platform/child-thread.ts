import { type Transferable, Worker } from 'node:worker_threads'

export interface ThreadSettings {
  /** As an operator reads it: `store` makes "the store thread". */
  readonly name: string
  /** The file that the thread runs. */
  readonly file: URL
  /** What it finds in `workerData`. */
  readonly data: unknown
  /** The most that its heap may take, in MiB; a thread that needs more ends. */
  readonly youngMib: number
  readonly oldMib: number
}

/** The message that each thread begins with, where it is waited for: it is at work, or cannot be and says what to do. */
interface Beginning {
  readonly kind: string
  readonly reason?: string
}

/** A thread of this process, from its start to its end. What it says before anybody listens is kept. */
export class ChildThread<To, From> {
  readonly #worker: Worker
  readonly #ended = Promise.withResolvers<string>()
  readonly #unheard: From[] = []
  #hear = (message: From): void => void this.#unheard.push(message)

  /** Runs a thread that is at work from its start on. */
  constructor({ file, data, youngMib, oldMib }: ThreadSettings) {
    this.#worker = new Worker(file, {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: youngMib, maxOldGenerationSizeMb: oldMib },
    })
    let thrown: string | undefined
    this.#worker.on('message', (message: From) => this.#hear(message))
    this.#worker.on('error', (error) => (thrown = whyOf(error)))
    this.#worker.on('exit', (code) => this.#ended.resolve(thrown ?? `exit code ${code}`))
  }

  /**
   * Runs a thread whose first message says whether it is ready, and resolves with that. Rejects with what to do when it
   * says `fatal`, and with what ended it when it says nothing.
   */
  static async start<To, From extends Beginning>(
    settings: ThreadSettings,
  ): Promise<{ thread: ChildThread<To, From>; ready: Extract<From, { kind: 'ready' }> }> {
    const thread = new ChildThread<To, From>(settings)
    const first = Promise.withResolvers<From>()
    thread.#hear = (message) => {
      thread.#hear = (later) => void thread.#unheard.push(later)
      first.resolve(message)
    }
    const begun = await Promise.race([first.promise, thread.ended])
    if (typeof begun === 'string')
      throw new Error(
        `the ${settings.name} thread ended before it was ready (${begun}); start Causeway again, and report this if it stays`,
      )
    if (isReady(begun)) return { thread, ready: begun }
    throw new Error(begun.reason ?? `the ${settings.name} thread began with "${begun.kind}"`)
  }

  /** Hears what it has said and what it says from now on. */
  listen(hear: (message: From) => void): void {
    for (const message of this.#unheard.splice(0)) hear(message)
    this.#hear = hear
  }

  post(message: To, transferred: readonly Transferable[] = []): void {
    this.#worker.postMessage(message, transferred)
  }

  /** Resolves when the thread is gone, with what ended it: what was thrown and where, or its exit code. */
  get ended(): Promise<string> {
    return this.#ended.promise
  }

  /** Ends it wherever it is. */
  terminate(): void {
    void this.#worker.terminate()
  }
}

function isReady<From extends Beginning>(message: From): message is Extract<From, { kind: 'ready' }> {
  return message.kind === 'ready'
}

/** What was thrown, and where. An error of another thread is put together anew, and is one by its looks alone. */
function whyOf(thrown: unknown): string {
  const { stack } = Object(thrown) as { stack?: unknown }
  const where = typeof stack === 'string' ? /^\s+at (.+)$/m.exec(stack)?.[1] : undefined
  return `${String(thrown)}${where === undefined ? '' : `, at ${where}`}`
}
