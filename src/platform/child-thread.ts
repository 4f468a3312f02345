import { type Transferable, Worker } from 'node:worker_threads'

export interface ThreadSettings {
  /** Its name for the operator: `store` makes "the store thread". */
  readonly name: string
  /** The file that the thread runs. */
  readonly file: URL
  /** Its `workerData`. */
  readonly data: unknown
  /** The limit of its heap in MiB; a thread that needs more ends. */
  readonly youngMib: number
  readonly oldMib: number
}

/** The first message of a thread: it is ready, or why it cannot start and what to do. */
interface Beginning {
  readonly kind: string
  readonly reason?: string
}

/** A thread of this process. Messages before the first listener are kept. */
export class ChildThread<To, From> {
  readonly #worker: Worker
  readonly #ended = Promise.withResolvers<string>()
  readonly #unhandled: From[] = []
  #onMessage = (message: From): void => void this.#unhandled.push(message)

  /** Starts a thread without waiting for it. */
  constructor({ file, data, youngMib, oldMib }: ThreadSettings) {
    this.#worker = new Worker(file, {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: youngMib, maxOldGenerationSizeMb: oldMib },
    })
    let thrown: string | undefined
    this.#worker.on('message', (message: From) => this.#onMessage(message))
    this.#worker.on('error', (error) => (thrown = whyOf(error)))
    this.#worker.on('exit', (code) => this.#ended.resolve(thrown ?? `exit code ${code}`))
  }

  /**
   * Runs a thread whose first message says whether it is ready, and resolves with that. Rejects with what to do when it
   * says `fatal`, and with why the thread ended when it sends nothing.
   */
  static async start<To, From extends Beginning>(
    settings: ThreadSettings,
  ): Promise<{ thread: ChildThread<To, From>; ready: Extract<From, { kind: 'ready' }> }> {
    const thread = new ChildThread<To, From>(settings)
    const first = Promise.withResolvers<From>()
    thread.#onMessage = (message) => {
      thread.#onMessage = (later) => void thread.#unhandled.push(later)
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

  /** Sets the listener, and passes it the earlier messages first. */
  listen(listener: (message: From) => void): void {
    for (const message of this.#unhandled.splice(0)) listener(message)
    this.#onMessage = listener
  }

  post(message: To, transferred: readonly Transferable[] = []): void {
    this.#worker.postMessage(message, transferred)
  }

  /** Resolves when the thread is gone, with what ended it: what was thrown and where, or its exit code. */
  get ended(): Promise<string> {
    return this.#ended.promise
  }

  terminate(): void {
    void this.#worker.terminate()
  }
}

function isReady<From extends Beginning>(message: From): message is Extract<From, { kind: 'ready' }> {
  return message.kind === 'ready'
}

/** The error and its stack. An error of another thread is a copy, so instanceof may fail. */
function whyOf(thrown: unknown): string {
  const { stack } = Object(thrown) as { stack?: unknown }
  const where = typeof stack === 'string' ? /^\s+at (.+)$/m.exec(stack)?.[1] : undefined
  return `${String(thrown)}${where === undefined ? '' : `, at ${where}`}`
}
