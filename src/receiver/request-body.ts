import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { ownValue } from '../model/untrusted-names.ts'
import type { Refusal } from './answer-statuses.ts'
import { HTTP_CODINGS } from './compression.ts'
import { BUDGET_EXHAUSTED, CHUNK_BYTES, REQUEST_BYTES, type Reservation } from './in-flight.ts'

/** The answer to a request that was not complete in time. */
const TOO_SLOW: Refusal = {
  kind: 'busy',
  retryAfterMs: 1000,
  cause: 'time',
  reason:
    "the request did not come whole in time; send it again, in smaller batches if the link is slow, or raise the receiver's read_timeout",
}

/** What limits the reading of a body. */
interface BodyReading {
  maxBytes: number
  reservation: Reservation
  awaited: PendingBodies
  pace: SlowBodyWatch
}

/** A complete, decompressed body, the reason for a refusal, or `hungUp` when the sender closed the connection. */
type Body = { kind: 'whole'; bytes: Buffer } | Refusal | { kind: 'hungUp' }

/**
 * Reads a request's body, undoing its Content-Encoding as it comes. No more than `maxBytes` are held, compressed
 * or not, and all are counted in the reservation. The rest of a refused body is read and dropped, so that a sender
 * still busy writing gets to see the answer.
 */
export async function readBody(request: IncomingMessage, reading: BodyReading): Promise<Body> {
  const body = await bodyOf(request, reading)
  request.resume()
  return body
}

function bodyOf(request: IncomingMessage, reading: BodyReading): Body | Promise<Body> {
  const { maxBytes, reservation } = reading
  const tooLarge: Refusal = {
    kind: 'tooLarge',
    reason: `the request is larger than ${maxBytes} bytes; send smaller batches or raise the receiver's limit`,
  }
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > maxBytes) return tooLarge
  if (!reservation.fits(Math.max(1, declared))) return BUDGET_EXHAUSTED
  const coding = (request.headers['content-encoding'] ?? '').trim().toLowerCase()
  if (coding === '' || coding === 'identity') return collect(request, undefined, reading, tooLarge)
  const decompressor = ownValue(HTTP_CODINGS, coding)
  if (decompressor !== undefined) return collect(request, decompressor(), reading, tooLarge)
  const known = Object.keys(HTTP_CODINGS).join(', ')
  return { kind: 'malformed', reason: `unsupported Content-Encoding: ${coding}; use none or one of ${known}` }
}

/** A remainder of a body this short is read without a pause. */
const SHORT_REST = 16 * 1024

function collect(
  request: IncomingMessage,
  decompressor: Transform | undefined,
  { maxBytes, reservation, awaited, pace }: BodyReading,
  tooLarge: Refusal,
): Promise<Body> {
  const { promise, resolve } = Promise.withResolvers<Body>()
  const connection = request.socket
  const chunks = new KeptChunks()
  let received = 0
  let kept = 0
  const stop = (body: Body): void => {
    request.off('data', count)
    if (decompressor !== undefined) request.unpipe(decompressor)
    decompressor?.destroy()
    plain.off('data', keep)
    // The listeners outlive a refused request for as long as its sender goes on sending.
    chunks.clear()
    awaited.end(connection, giveUp)
    pace.end(paced)
    resolve(body)
  }
  const giveUp = (): void => stop(TOO_SLOW)
  const paced = pace.begin(giveUp)
  const expected = Number(request.headers['content-length'] ?? Infinity)
  const reading = {
    // A short remainder has arrived already, perhaps with pipelined requests behind it.
    pause: () => {
      if (expected - received > SHORT_REST) request.pause()
    },
    resume: () => void request.resume(),
  }
  reservation.countReceived(connection, REQUEST_BYTES, reading)
  const count = (chunk: Buffer): void => {
    received += chunk.length
    reservation.countReceived(connection, chunk.length + CHUNK_BYTES, reading)
    paced.receivedBytes += chunk.length
    if (received > maxBytes) stop(tooLarge)
  }
  const keep = (chunk: Buffer): void => {
    kept += chunk.length
    if (kept > maxBytes) stop(tooLarge)
    else if (!reservation.take(chunk.length)) stop(BUDGET_EXHAUSTED)
    else chunks.add(chunk)
  }
  awaited.begin(connection, giveUp)
  reservation.onGiveWay(() => stop(BUDGET_EXHAUSTED))
  request.on('error', () => stop({ kind: 'hungUp' }))
  request.on('close', () => {
    if (!request.complete) stop({ kind: 'hungUp' })
  })
  request.on('data', count)
  decompressor?.on('error', (error) =>
    stop({ kind: 'malformed', reason: `the compressed body is corrupt: ${error.message}` }),
  )
  const plain = decompressor === undefined ? request : request.pipe(decompressor)
  plain.on('data', keep)
  plain.on('end', () => stop({ kind: 'whole', bytes: Buffer.concat(chunks.all(), kept) }))
  return promise
}

/** How often bodies are checked, in milliseconds. */
const LOOK_MS = 10_000
/** What a body must deliver between two checks. */
const MIN_BYTES = 1024

/** A body whose pace is watched. */
export interface PacedBody {
  /** Since the last check. */
  receivedBytes: number
  isNew: boolean
  readonly giveUp: () => void
}

/**
 * Refuses bodies that arrive too slowly. Less than a kilobyte in ten seconds is a sender that is gone, or one that occupies
 * room that others need.
 */
export class SlowBodyWatch implements Disposable {
  readonly #bodies = new Set<PacedBody>()
  readonly #timer: NodeJS.Timeout

  constructor(lookMs = LOOK_MS) {
    // Bytes that arrived while this thread was busy are read first.
    this.#timer = setInterval(() => setImmediate(() => this.check()), lookMs).unref()
  }

  /** Calls `giveUp` when too little arrives. */
  begin(giveUp: () => void): PacedBody {
    const body = { receivedBytes: 0, isNew: true, giveUp }
    this.#bodies.add(body)
    return body
  }

  end(body: PacedBody): void {
    this.#bodies.delete(body)
  }

  /** Checks all bodies but those that began since the last check. */
  check(): void {
    for (const body of this.#bodies) {
      const isTooSlow = !body.isNew && body.receivedBytes < MIN_BYTES
      body.isNew = false
      body.receivedBytes = 0
      if (!isTooSlow) continue
      this.#bodies.delete(body)
      body.giveUp()
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

/** The body that is being read on each connection. A complete one may still be in a buffer when the next begins. */
export class PendingBodies {
  readonly #giveUps = new WeakMap<object, () => void>()

  /** `giveUp` ends the wait for this body. */
  begin(connection: object, giveUp: () => void): void {
    this.#giveUps.set(connection, giveUp)
  }

  end(connection: object, giveUp: () => void): void {
    if (this.#giveUps.get(connection) === giveUp) this.#giveUps.delete(connection)
  }

  /** Ends the wait for the body of a connection; false when there is none. */
  giveUp(connection: object): boolean {
    const giveUp = this.#giveUps.get(connection)
    giveUp?.()
    return giveUp !== undefined
  }
}

const SMALL_BYTES = 1024
const BLOCK_BYTES = 4096

/** Keeps the chunks of a body. Small ones are copied together: apart, each would hold a hundred times its bytes. */
export class KeptChunks {
  readonly #kept: Buffer[] = []
  #block = Buffer.alloc(0)
  #used = 0

  add(chunk: Buffer): void {
    if (chunk.length >= SMALL_BYTES) {
      this.#closeBlock()
      this.#kept.push(chunk)
      return
    }
    if (this.#used + chunk.length > this.#block.length) {
      this.#closeBlock()
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    }
    this.#used += chunk.copy(this.#block, this.#used)
  }

  /** Removes and returns the chunks that need no further merging. */
  takeLarge(): Buffer[] {
    return this.#kept.splice(0)
  }

  /** All remaining chunks, in order. */
  all(): readonly Buffer[] {
    this.#closeBlock()
    return this.#kept
  }

  clear(): void {
    this.#kept.length = 0
    this.#block = Buffer.alloc(0)
    this.#used = 0
  }

  #closeBlock(): void {
    if (this.#used === 0) return
    this.#kept.push(this.#block.subarray(0, this.#used))
    this.#block = this.#block.subarray(this.#used)
    this.#used = 0
  }
}
