import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

interface Message {
  kind: string
}

/** A process of the bench beside Causeway; it begins with `ready` and ends when disposed of or with the bench. */
export class HelperProcess<In extends Message, Out extends Message> implements Disposable {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #wanted = new Map<string, (message: Out) => void>()
  /** What was said since it was last told something, before anybody listened. */
  readonly #said = new Map<string, Out>()
  #fail: (reason: Error) => void = () => undefined

  /** Forks `file` of the folder of `from`, of this one unless given. */
  constructor(file: string, from = import.meta.url) {
    this.#name = file
    this.#child = fork(fileURLToPath(new URL(file, from)), { execArgv: [] })
    this.#child.on('message', (message: Out) => {
      if (message.kind === 'failed') this.#fail(new Error(`${file}: ${JSON.stringify(message)}`))
      const hear = this.#wanted.get(message.kind)
      this.#wanted.delete(message.kind)
      if (hear === undefined) this.#said.set(message.kind, message)
      else hear(message)
    })
    this.#child.on('exit', (code) => this.#fail(new Error(`${file} ended with ${String(code)}`)))
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  tell(message: In): void {
    this.#said.clear()
    this.#child.send(message)
  }

  /** The next message of this kind; rejects when the process fails or the time is up. */
  async hear<Kind extends Out['kind']>(kind: Kind, withinMs = 30_000): Promise<Extract<Out, { kind: Kind }>> {
    const said = this.#said.get(kind)
    this.#said.delete(kind)
    if (said !== undefined) return said as Extract<Out, { kind: Kind }>
    const { promise, resolve, reject } = Promise.withResolvers<Out>()
    this.#wanted.set(kind, resolve)
    this.#fail = reject
    const timer = setTimeout(() => {
      reject(new Error(`${this.#name} did not say "${kind}" within ${withinMs / 1000} s`))
    }, withinMs)
    timer.unref()
    try {
      return (await promise) as Extract<Out, { kind: Kind }>
    } finally {
      clearTimeout(timer)
    }
  }

  [Symbol.dispose](): void {
    this.#fail = () => undefined
    this.#child.kill()
  }
}
