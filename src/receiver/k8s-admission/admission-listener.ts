import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../model/error-text.ts'
import { ChildThread } from '../../threads/child-thread.ts'
import type { Authenticator } from '../../trust/authenticator.ts'
import type { AdmissionThreadData, FromAdmission, ToAdmission } from './admission-messages.ts'

/** After a thread has ended by itself, the next one is started so much later. */
const AGAIN_MS = 1_000

type AdmissionThread = ChildThread<ToAdmission, FromAdmission>
/** What it hears of a thread besides what it sees to itself. */
export type AdmissionEvent = Exclude<
  FromAdmission,
  { kind: 'ready' | 'fatal' | 'check' | 'connections' | 'stopped' }
>

export interface AdmissionListenerSettings extends AdmissionThreadData {
  /** The id of the receiver. */
  readonly receiver: string
  readonly authenticator: Authenticator | undefined
  /** Is told what comes, and gives back each review that it was told of by calling `release`. */
  readonly hear: (message: AdmissionEvent, release: () => void) => void
  readonly onTrouble: (reason: string) => void
}

/**
 * Listens for reviews on a thread of its own, so that an answer waits for nothing that this process does besides. A thread that
 * ends by itself is followed by another. Disposing lets what is under way finish.
 */
export class AdmissionListener implements AsyncDisposable {
  readonly #settings: AdmissionListenerSettings
  readonly #stop = new AbortController()
  #thread: AdmissionThread
  #connections = 0
  /** Until no thread is left. */
  readonly #life: Promise<void>

  private constructor(thread: AdmissionThread, settings: AdmissionListenerSettings) {
    this.#settings = settings
    this.#thread = thread
    this.#life = this.#live()
  }

  /** Rejects with what to do when it cannot listen. */
  static async start(settings: AdmissionListenerSettings): Promise<AdmissionListener> {
    return new AdmissionListener(await startThread(settings), settings)
  }

  /** How many connections were open a moment ago. */
  get connections(): number {
    return this.#connections
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#thread.post({ kind: 'stop' })
    await this.#life
  }

  async #live(): Promise<void> {
    const { receiver, onTrouble } = this.#settings
    const { signal } = this.#stop
    for (;;) {
      const thread = this.#thread
      thread.listen((message) => this.#hear(thread, message))
      const why = await thread.ended
      this.#connections = 0
      if (signal.aborted) return
      onTrouble(
        `${receiver}: the thread that answers admissions ended by itself (${why}); another is started`,
      )
      const next = await this.#next()
      if (next === undefined) return
      this.#thread = next
    }
  }

  /** Undefined once it is to stop. */
  async #next(): Promise<AdmissionThread | undefined> {
    const { onTrouble } = this.#settings
    const { signal } = this.#stop
    for (;;) {
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return undefined
      try {
        const next = await startThread(this.#settings)
        if (this.#isStopping()) next.post({ kind: 'stop' })
        return next
      } catch (error) {
        onTrouble(errorText(error))
      }
    }
  }

  #isStopping(): boolean {
    return this.#stop.signal.aborted
  }

  #hear(thread: AdmissionThread, message: FromAdmission): void {
    switch (message.kind) {
      case 'ready':
      case 'fatal':
        return
      case 'check':
        void this.#check(thread, message)
        return
      case 'connections':
        this.#connections = message.count
        return
      case 'stopped':
        // Nothing is left for it to do.
        thread.terminate()
        return
      case 'answered':
        this.#settings.hear(message, () => thread.post({ kind: 'released', id: message.id }))
        return
      case 'unreadable':
      case 'lost':
      case 'turnedAway':
      case 'dropped':
      case 'unread':
      case 'trouble':
        this.#settings.hear(message, () => undefined)
    }
  }

  async #check(
    thread: AdmissionThread,
    { id, value, peer }: Extract<FromAdmission, { kind: 'check' }>,
  ): Promise<void> {
    const checked = await this.#settings.authenticator?.check(value, peer)
    if (checked !== undefined) thread.post({ kind: 'checked', id, checked })
  }
}

async function startThread({
  listener,
  maxBytes,
  credentials,
}: AdmissionThreadData): Promise<AdmissionThread> {
  const data: AdmissionThreadData = { listener, maxBytes, ...(credentials && { credentials }) }
  const { thread } = await ChildThread.start<ToAdmission, FromAdmission>({
    name: 'admission',
    file: new URL('./admission-thread.ts', import.meta.url),
    data,
    youngMib: 4,
    oldMib: 256,
  })
  return thread
}
