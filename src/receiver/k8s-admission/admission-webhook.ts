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

/** An answer does not wait for longer to know who asks. */
const KNOWN_WITHIN_MS = 1

/** A review that was answered, and when and with which trace it came. */
export interface AnsweredReview {
  /** Memory of its own. */
  readonly body: Uint8Array<ArrayBuffer>
  readonly seenNs: UnixNanos
  readonly traceparent: string
  /** Gives back what the body holds. */
  readonly release: () => void
}

interface AdmissionWebhookSettings extends WebhookCallerRules, HttpGuards {
  readonly maxBytes: number
  /** Of this webhook alone: what others send must not keep writes from being allowed. */
  readonly inFlight: InFlight
  readonly now: () => UnixNanos
  readonly handOver: (answered: AnsweredReview) => void
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

/** Undefined when that is not known yet. */
function soon(checking: Promise<CheckedCaller>): Promise<CheckedCaller | undefined> {
  return Promise.race([checking, sleep(KNOWN_WITHIN_MS, undefined)])
}

function allowed(uid: string): string {
  const response = { uid, allowed: true }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response })
}

/** Reading holds up all other reviews. API servers write the uid first, so that theirs need not be read. */
const MAX_READ_BYTES = 65_536

/** Where the uid does not come first, a review that is not large is read for it. */
function uidOf(whole: Uint8Array): string | undefined {
  try {
    const review = parseBounded(Buffer.from(whole.buffer))
    const uid = isObject(review) ? uidOfReview(review) : ''
    return uid === '' ? undefined : uid
  } catch {
    return undefined
  }
}

/** Within these first bytes an API server says what it asks by. */
const PREFIX_BYTES = 4_096
const HEAD = String.raw`\s*"(?:kind|apiVersion)"\s*:\s*"(?:AdmissionReview|admission\.k8s\.io\/v1)"\s*,`
const UID = new RegExp(
  String.raw`^\s*\{(?:${HEAD}){2}\s*"request"\s*:\s*\{\s*"uid"\s*:\s*"([ !#-[\]-~]{1,128})"`,
)

interface ReviewReading extends Pick<HttpGuards, 'awaited' | 'pace'> {
  readonly maxBytes: number
  /** What it may hold; undefined when nothing but its beginning is to be kept. */
  readonly reservation: Reservation | undefined
}

/** A review as far as it was kept. */
interface ReadReview {
  readonly prefix: string
  /** In memory of its own; undefined where it is too long, or came too slowly, or there is no room for it. */
  readonly whole: Uint8Array<ArrayBuffer> | undefined
}

/** The uid by which a review is answered, as API servers write it before all else; undefined where it stands elsewhere. */
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

/** Has the main thread check credentials: what counts guesses, and follows files, is there. */
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

  /** It has been found out. */
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
  /** Without what cannot be handed to another thread. */
  readonly listener: Omit<ListenerSettings, 'authenticator' | 'onTrouble'>
  readonly maxBytes: number
  /** Where credentials are asked for: which header carries them, and what is said to whoever shows none. */
  readonly credentials?: { readonly header: string; readonly challenge: string }
}

export type ToAdmission =
  /** What a credential is worth that was asked about. */
  | { kind: 'checked'; id: number; checked: Checked }
  /** A review is not held any more. */
  | { kind: 'released'; id: number }
  | { kind: 'stop' }

export type FromAdmission =
  | { kind: 'ready' }
  | { kind: 'fatal'; reason: string }
  /** A review that was answered; the bytes are handed over. */
  | {
      kind: 'answered'
      id: number
      body: Uint8Array<ArrayBuffer>
      seenNs: UnixNanos
      traceparent: string
    }
  | { kind: 'check'; id: number; value: string | undefined; peer: string | undefined }
  | { kind: 'unreadable'; reason: string }
  /** A review was answered and is not looked at. */
  | { kind: 'lost' }
  | { kind: 'turnedAway'; reason: string }
  | { kind: 'dropped'; reason: DropReason }
  | { kind: 'unread' }
  | { kind: 'trouble'; reason: string }
  /** So many are open now. */
  | { kind: 'connections'; count: number }
  | { kind: 'stopped' }
