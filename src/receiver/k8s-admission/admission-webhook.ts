import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject, parseBounded } from '../../kube/objects/object-json.ts'
import { uidOfReview } from '../../kube/objects/observations.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import type { DropReason } from '../../platform/connections.ts'
import type { Authenticator, Checked } from '../../platform/credentials.ts'
import {
  answerJson,
  answerText,
  type CheckedCaller,
  checkWebhookCaller,
  type HttpGuards,
  type WebhookCallerRules,
} from '../http-server.ts'
import type { InFlight, Reservation } from '../in-flight.ts'
import type { ListenerSettings } from '../listener.ts'

/** How long an answer waits for the credential check. */
const KNOWN_WITHIN_MS = 1

/** An answered review, with the time and the traceparent of its request. */
export interface AnsweredReview {
  /** In a buffer of its own, so that it can be transferred. */
  readonly body: Uint8Array<ArrayBuffer>
  readonly seenNs: UnixNanos
  readonly traceparent: string
  /** Frees the bytes of the body in the budget. */
  readonly release: () => void
}

interface AdmissionWebhookSettings extends WebhookCallerRules, HttpGuards {
  readonly maxBytes: number
  /** Used by this webhook alone: the load of other receivers must not delay admission. */
  readonly inFlight: InFlight
  readonly now: () => UnixNanos
  readonly handOver: (answered: AnsweredReview) => void
  readonly unreadable: (reason: string) => void
  /** A review was answered and dropped without being processed. */
  readonly lost: () => void
  readonly turnedAway: (reason: string) => void
}

/**
 * Answers AdmissionReviews (`admission.k8s.io/v1`): it allows every request as soon as it has read the review. Reviews are processed
 * afterwards, and dropped when there are too many. If auth is on and the credential cannot be checked at once, the answer does not
 * wait; the review is processed once the credential is found valid.
 */
export class AdmissionWebhook {
  readonly #settings: AdmissionWebhookSettings

  constructor(settings: AdmissionWebhookSettings) {
    this.#settings = settings
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { inFlight, maxBytes, awaited, pace, now, authenticator } = this.#settings
    const seenNs = now()
    const checking = checkWebhookCaller(request, this.#settings)
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
    reservation?.markRead()
    if (review === undefined) {
      release()
      return
    }
    const { prefix, whole } = review
    const uid = uidIn(prefix) ?? (whole && whole.length <= MAX_READ_BYTES ? uidOf(whole) : undefined)
    if (uid === undefined) {
      release()
      this.#settings.unreadable('the body is no AdmissionReview with a uid')
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

  /** Hands over an answered review if the credential of its caller is valid. */
  #handOver(answered: AnsweredReview, caller: CheckedCaller): void {
    if (caller.kind === 'known') {
      this.#settings.handOver(answered)
      return
    }
    answered.release()
    if (caller.kind === 'busy') this.#settings.lost()
    else if (caller.status === 401) this.#settings.turnedAway(caller.reason)
  }
}

/** The result of the check; undefined when it takes longer than KNOWN_WITHIN_MS. */
function soon(checking: Promise<CheckedCaller>): Promise<CheckedCaller | undefined> {
  return Promise.race([checking, sleep(KNOWN_WITHIN_MS, undefined)])
}

function allowed(uid: string): string {
  const response = { uid, allowed: true }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response })
}

/** The largest review that is parsed for its uid: parsing blocks all others. API servers write the uid first, which needs no parsing. */
const MAX_READ_BYTES = 65_536

/** Parses a small review whose uid does not come first; undefined without a uid. */
function uidOf(whole: Uint8Array): string | undefined {
  try {
    const review = parseBounded(Buffer.from(whole.buffer))
    const uid = isObject(review) ? uidOfReview(review) : ''
    return uid === '' ? undefined : uid
  } catch {
    return undefined
  }
}

/** API servers write the uid within these first bytes. */
const PREFIX_BYTES = 4_096
const HEAD = String.raw`\s*"(?:kind|apiVersion)"\s*:\s*"(?:AdmissionReview|admission\.k8s\.io\/v1)"\s*,`
const UID = new RegExp(
  String.raw`^\s*\{(?:${HEAD}){2}\s*"request"\s*:\s*\{\s*"uid"\s*:\s*"([ !#-[\]-~]{1,128})"`,
)

interface ReviewReading extends Pick<HttpGuards, 'awaited' | 'pace'> {
  readonly maxBytes: number
  /** Counts its bytes; undefined when only its prefix is kept. */
  readonly reservation: Reservation | undefined
}

/** The kept part of a review. */
interface ReadReview {
  readonly prefix: string
  /** In a buffer of its own; undefined when it was too long or too slow, or the budget had no room. */
  readonly whole: Uint8Array<ArrayBuffer> | undefined
}

/** The uid, if it comes first as API servers write it; undefined otherwise. */
function uidIn(prefix: string): string | undefined {
  return UID.exec(prefix)?.[1]
}

/** Reads a review to its end, however long it is; undefined when the caller hung up. */
function readReview(
  request: IncomingMessage,
  { maxBytes, reservation, awaited, pace }: ReviewReading,
): Promise<ReadReview | undefined> {
  const { promise, resolve } = Promise.withResolvers<ReadReview | undefined>()
  const connection = request.socket
  let chunks: Buffer[] = []
  let [prefix, length] = ['', 0]
  let isKept = reservation !== undefined
  const stop = (isWhole: boolean): void => {
    awaited.end(connection, giveUp)
    pace.end(paced)
    resolve({ prefix, whole: isWhole && isKept ? joined(chunks, length) : undefined })
  }
  const giveUp = (): void => stop(false)
  const drop = (): void => {
    isKept = false
    chunks = []
  }
  const paced = pace.begin(giveUp)
  awaited.begin(connection, giveUp)
  reservation?.onGiveWay(drop)
  request.on('data', (chunk: Buffer) => {
    paced.receivedBytes += chunk.length
    if (prefix.length < PREFIX_BYTES) prefix += chunk.toString('latin1', 0, PREFIX_BYTES - prefix.length)
    if (!isKept) return
    length += chunk.length
    if (length > maxBytes || reservation?.take(chunk.length) !== true) drop()
    else chunks.push(chunk)
  })
  request.on('end', () => stop(true))
  request.on('error', () => resolve(undefined))
  request.on('close', () => {
    if (!request.complete) resolve(undefined)
  })
  return promise
}

function joined(chunks: readonly Buffer[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/** Asks the main thread to check credentials: it limits failed attempts and rereads the credential files. */
export class MainThreadAuthenticator implements Authenticator {
  readonly header: string
  readonly challenge: string
  readonly #ask: (question: Extract<FromAdmission, { kind: 'check' }>) => void
  readonly #asked = new Map<number, (checked: Checked) => void>()
  #lastId = 0

  constructor(
    { header, challenge }: NonNullable<AdmissionThreadData['credentials']>,
    ask: (question: Extract<FromAdmission, { kind: 'check' }>) => void,
  ) {
    this.header = header
    this.challenge = challenge
    this.#ask = ask
  }

  check(value: string | undefined, peer?: string): Promise<Checked> {
    const { promise, resolve } = Promise.withResolvers<Checked>()
    const id = ++this.#lastId
    this.#asked.set(id, resolve)
    this.#ask({ kind: 'check', id, value, peer })
    return promise
  }

  /** Delivers the result of a check. */
  answer(id: number, checked: Checked): void {
    this.#asked.get(id)?.(checked)
    this.#asked.delete(id)
  }

  [Symbol.dispose](): void {
    this.#asked.clear()
  }
}

/** What an admission thread is started with. */
export interface AdmissionThreadData {
  /** Without the members that cannot be cloned into another thread. */
  readonly listener: Omit<ListenerSettings, 'authenticator' | 'onTrouble'>
  readonly maxBytes: number
  /** Set when auth is on: the header with the credential, and the challenge for callers without one. */
  readonly credentials?: { readonly header: string; readonly challenge: string }
}

export type ToAdmission =
  /** The result of a credential check. */
  | { kind: 'checked'; id: number; checked: Checked }
  /** The main thread no longer holds a review. */
  | { kind: 'released'; id: number }
  | { kind: 'stop' }

export type FromAdmission =
  | { kind: 'ready' }
  | { kind: 'fatal'; reason: string }
  /** An answered review; its bytes are transferred. */
  | {
      kind: 'answered'
      id: number
      body: Uint8Array<ArrayBuffer>
      seenNs: UnixNanos
      traceparent: string
    }
  | { kind: 'check'; id: number; value: string | undefined; peer: string | undefined }
  | { kind: 'unreadable'; reason: string }
  /** A review was answered and dropped without being processed. */
  | { kind: 'lost' }
  | { kind: 'turnedAway'; reason: string }
  | { kind: 'dropped'; reason: DropReason }
  | { kind: 'unread' }
  | { kind: 'trouble'; reason: string }
  /** The number of open connections. */
  | { kind: 'connections'; count: number }
  | { kind: 'stopped' }
