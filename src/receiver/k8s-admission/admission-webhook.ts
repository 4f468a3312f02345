import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../../kubernetes/json-access.ts'
import { parseBounded } from '../../kubernetes/parse-bounded.ts'
import { uidOfReview } from '../../kubernetes/read-admission-review.ts'
import type { UnixNanos } from '../../model/clock.ts'
import type { InFlight } from '../admission/in-flight.ts'
import { answerJson, answerText } from '../http/answer-text.ts'
import { checkCaller, type CallerRules, type CheckedCaller } from '../http/check-caller.ts'
import type { HttpGuards } from '../http/serve-http.ts'
import { readReview, uidIn } from './read-review.ts'

/** An answer does not wait for longer to know who asks. */
const KNOWN_WITHIN_MS = 1

/** A review that was answered, and when and with which trace it came. */
export interface Answered {
  /** Memory of its own. */
  readonly body: Uint8Array<ArrayBuffer>
  readonly seenNs: UnixNanos
  readonly traceparent: string
  /** Gives back what the body holds. */
  readonly release: () => void
}

export interface AdmissionWebhookSettings extends CallerRules, HttpGuards {
  readonly maxBytes: number
  /** Of this webhook alone: what others send must not keep writes from being allowed. */
  readonly inFlight: InFlight
  readonly now: () => UnixNanos
  readonly handOver: (answered: Answered) => void
  readonly unreadable: (reason: string) => void
  /** A review was answered and is not looked at. */
  readonly lost: () => void
  readonly turnedAway: (reason: string) => void
}

/**
 * Answers AdmissionReviews (`admission.k8s.io/v1`): it allows everything, as soon as it has read what it is asked by. What is in a
 * review is looked at afterwards by others, and not at all when that would be too much. Where credentials are asked for and cannot
 * be checked at once, the answer does not wait either; the review then goes on once they are found to be right.
 */
export class AdmissionWebhook {
  readonly #settings: AdmissionWebhookSettings

  constructor(settings: AdmissionWebhookSettings) {
    this.#settings = settings
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { inFlight, maxBytes, awaited, pace, now, authenticator } = this.#settings
    const seenNs = now()
    const checking = checkCaller(request, this.#settings)
    const caller = await (authenticator === undefined ? checking : soon(checking))
    if (caller?.kind === 'refused') {
      if (caller.status === 401) this.#settings.turnedAway(caller.reason)
      if (caller.header !== undefined) response.setHeader(...caller.header)
      answerText(response, caller.status, caller.reason)
      return
    }
    const reservation = caller?.kind === 'busy' ? undefined : inFlight.open()
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
      this.#settings.unreadable('what came is no AdmissionReview with a uid')
      answerText(response, 400, 'the body is no AdmissionReview of admission.k8s.io/v1 with a uid')
      return
    }
    answerJson(response, 200, allowed(uid))
    if (whole === undefined) {
      release()
      this.#settings.lost()
      return
    }
    const { traceparent } = request.headers
    const answered = { body: whole, seenNs, traceparent: typeof traceparent === 'string' ? traceparent : '' }
    this.#handOver({ ...answered, release }, await checking)
  }

  /** What was answered goes on if whoever asked is known in the end. */
  #handOver(answered: Answered, caller: CheckedCaller): void {
    if (caller.kind === 'known') {
      this.#settings.handOver(answered)
      return
    }
    answered.release()
    if (caller.kind === 'busy') this.#settings.lost()
    else if (caller.status === 401) this.#settings.turnedAway(caller.reason)
  }
}

/** Undefined when that is not known yet. */
function soon(checking: Promise<CheckedCaller>): Promise<CheckedCaller | undefined> {
  return Promise.race([checking, sleep(KNOWN_WITHIN_MS, undefined)])
}

function allowed(uid: string): string {
  const response = { uid, allowed: true }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response })
}

/** Where the uid does not come first, the review is read for it. */
function uidOf(whole: Uint8Array): string | undefined {
  try {
    const review = parseBounded(Buffer.from(whole.buffer))
    const uid = isObject(review) ? uidOfReview(review) : ''
    return uid === '' ? undefined : uid
  } catch {
    return undefined
  }
}
