import type { ReplyText } from '../../api/query-service.ts'

/** Chunks that arrive from elsewhere, handed on one at a time as they are read. */
export class IncomingText implements ReplyText {
  readonly #chunks: string[] = []
  readonly #onRead: () => void
  readonly #onCancel: () => void
  #ended: { error?: Error } | undefined
  #wake: (() => void) | undefined

  /** `onRead` is called for each chunk taken, `onCancel` when no more will be. */
  constructor(onRead: () => void, onCancel: () => void) {
    this.#onRead = onRead
    this.#onCancel = onCancel
  }

  add(chunk: string): void {
    this.#chunks.push(chunk)
    this.#wake?.()
  }

  /** No more chunks come; with an error, reading rejects where they stop. */
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
