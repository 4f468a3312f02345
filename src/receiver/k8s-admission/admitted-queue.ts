import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../../kubernetes/json-access.ts'
import { parseBounded } from '../../kubernetes/parse-bounded.ts'
import { readAdmissionReview } from '../../kubernetes/read-admission-review.ts'
import { errorText } from '../../model/error-text.ts'
import type { AdmittedRequest, Skipped } from '../../model/kubernetes/observation.ts'
import type { SourceObserver } from '../clusters/source-observer.ts'
import type { StreamReporter } from '../clusters/stream-reporter.ts'
import type { Answered } from './admission-webhook.ts'

/** So many are told at a time. */
const BATCH = 200
/** More do not wait: by the time that they would be told, their writes are decided. */
const MAX_WAITING = 5_000
const RETRY_MS = 500

/** Reads and tells what was answered before, one after the other, so that nobody who asks waits for it. */
export class AdmittedQueue implements AsyncDisposable {
  readonly #receiver: string
  readonly #teller: Pick<StreamReporter, 'tell'>
  readonly #observer: SourceObserver
  readonly #stop = new AbortController()
  #answered: Answered[] = []
  #observations: AdmittedRequest[] = []
  #skipped: Partial<Record<Skipped, number>> = {}
  #working: Promise<void> | undefined

  constructor(receiver: string, teller: Pick<StreamReporter, 'tell'>, observer: SourceObserver) {
    this.#receiver = receiver
    this.#teller = teller
    this.#observer = observer
  }

  add(answered: Answered): void {
    if (this.#answered.length >= MAX_WAITING) {
      answered.release()
      this.#observer.lost(this.#receiver, 1)
      return
    }
    this.#answered.push(answered)
    this.#working ??= this.#work().finally(() => (this.#working = undefined))
  }

  /** Tells what there is once more, and then drops it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#answered.length + this.#observations.length > 0) {
      const some = this.#answered.splice(0, BATCH)
      for (const answered of some) {
        // Whoever asks meanwhile is answered first.
        await nextTurn()
        this.#read(answered)
        answered.release()
      }
      await this.#tell()
    }
  }

  #read({ body, seenNs, traceparent }: Answered): void {
    try {
      const review = parseBounded(Buffer.from(body.buffer))
      const read = isObject(review) ? readAdmissionReview(review, { seenNs, traceparent }) : 'no_object'
      if (typeof read === 'string') this.#skipped[read] = (this.#skipped[read] ?? 0) + 1
      else this.#observations.push(read)
    } catch (error) {
      this.#observer.unreadable(this.#receiver, 1, `a review cannot be read: ${errorText(error)}`)
    }
  }

  async #tell(): Promise<void> {
    const [observations, skipped] = [this.#observations, this.#skipped]
    this.#observations = []
    this.#skipped = {}
    const outcome = await this.#teller.tell({ observations, skipped })
    if (outcome.kind === 'stored') return
    const { signal } = this.#stop
    this.#keep(observations, signal.aborted ? 0 : MAX_WAITING)
    this.#skipped = skipped
    const afterMs = outcome.kind === 'busy' ? outcome.retryAfterMs : RETRY_MS
    await sleep(afterMs, undefined, { signal }).catch(() => undefined)
  }

  /** For the next time, the newest ones. */
  #keep(observations: AdmittedRequest[], most: number): void {
    const kept = most === 0 ? [] : observations.slice(-most)
    if (kept.length < observations.length)
      this.#observer.lost(this.#receiver, observations.length - kept.length)
    this.#observations = kept
  }
}
