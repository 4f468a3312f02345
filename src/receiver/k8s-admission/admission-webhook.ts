import type { IncomingMessage, ServerResponse } from 'node:http'
import { isObject, type Json } from '../../kubernetes/json-access.ts'
import { uidOfReview } from '../../kubernetes/read-admission-review.ts'
import type { UnixNanos } from '../../model/clock.ts'
import type { InFlight } from '../admission/in-flight.ts'
import { answerJson, answerText } from '../http/answer-text.ts'
import { checkCaller, type CallerRules } from '../http/check-caller.ts'
import type { HttpGuards } from '../http/serve-http.ts'
import type { SourceObserver } from '../clusters/source-observer.ts'
import type { AdmittedQueue } from './admitted-queue.ts'
import { readReview, uidIn } from './read-review.ts'

export interface AdmissionWebhookSettings extends CallerRules, HttpGuards {
  readonly receiver: string
  readonly maxBytes: number
  /** Of this webhook alone: what others send must not keep writes from being allowed. */
  readonly inFlight: InFlight
  readonly memory: { readonly isRefusing: boolean }
  readonly queue: AdmittedQueue
  readonly observer: SourceObserver
  readonly now: () => UnixNanos
  readonly turnedAway: (reason: string) => void
}

/**
 * Answers AdmissionReviews (`admission.k8s.io/v1`): it allows everything, as soon as it has read what it is asked by. What is in a
 * review is looked at afterwards, and not at all when that would be too much.
 */
export class AdmissionWebhook {
  readonly #settings: AdmissionWebhookSettings

  constructor(settings: AdmissionWebhookSettings) {
    this.#settings = settings
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { receiver, memory, inFlight, maxBytes, awaited, pace, queue, observer, now } = this.#settings
    const seenNs = now()
    const caller = await checkCaller(request, this.#settings)
    if (caller.kind === 'refused') {
      if (caller.status === 401) this.#settings.turnedAway(caller.reason)
      if (caller.header !== undefined) response.setHeader(...caller.header)
      answerText(response, caller.status, caller.reason)
      return
    }
    const isRecorded = caller.kind === 'known' && !memory.isRefusing
    const reservation = isRecorded ? inFlight.open() : undefined
    const release = (): void => reservation?.[Symbol.dispose]()
    const review = await readReview(request, { maxBytes, reservation, awaited, pace })
    reservation?.isRead()
    if (review === undefined) {
      release()
      return
    }
    const { prefix, whole } = review
    const uid = uidIn(prefix) ?? (whole && uidOf(whole))
    if (uid === undefined) {
      release()
      observer.unreadable(receiver, 1, 'what came is no AdmissionReview with a uid')
      answerText(response, 400, 'the body is no AdmissionReview of admission.k8s.io/v1 with a uid')
      return
    }
    answerJson(response, 200, allowed(uid))
    if (whole === undefined) {
      release()
      observer.lost(receiver, 1)
      return
    }
    const { traceparent } = request.headers
    queue.add({
      body: whole,
      seenNs,
      traceparent: typeof traceparent === 'string' ? traceparent : '',
      release,
    })
  }
}

function allowed(uid: string): string {
  const response = { uid, allowed: true }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response })
}

/** Where the uid does not come first, the review is read for it. */
function uidOf(whole: Buffer): string | undefined {
  try {
    const review = JSON.parse(whole.toString('utf8')) as Json
    const uid = isObject(review) ? uidOfReview(review) : ''
    return uid === '' ? undefined : uid
  } catch {
    return undefined
  }
}
