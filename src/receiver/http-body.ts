import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { ownValue } from '../model/names-from-outside.ts'
import type { Refusal } from './answer-statuses.ts'
import { HTTP_CODINGS } from './compression.ts'
import { BUDGET_EXHAUSTED, REQUEST_BYTES, type Reservation } from './in-flight.ts'

/** The answer to a request that was not whole in time. */
const TOO_SLOW: Refusal = {
  kind: 'busy',
  retryAfterMs: 1000,
  cause: 'time',
  reason:
    "the request did not come whole in time; send it again, in smaller batches if the link is slow, or raise the receiver's read_timeout",
}

/** How a body is read. */
interface BodyReading {
  maxBytes: number
  reservation: Reservation
  awaited: AwaitedBodies
  pace: SlowBodyWatch
}

/** A body read whole and decompressed, the reason why it was not, or word that the sender hung up. */
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

/** The rest of a body that is not waited with. */
const SHORT_REST = 16 * 1024

function collect(
  request: IncomingMessage,
  decompressor: Transform | undefined,
  { maxBytes, reservation, awaited, pace }: BodyReading,
  tooLarge: Refusal,
): Promise<Body> {
  const { promise, resolve } = Promise.withResolvers<Body>()
  const connection = request.socket
  const chunks: Buffer[] = []
  let received = 0
  let kept = 0
  const stop = (body: Body): void => {
    request.off('data', count)
    if (decompressor !== undefined) request.unpipe(decompressor)
    decompressor?.destroy()
    plain.off('data', keep)
    // The listeners outlive a refused request for as long as its sender goes on sending.
    chunks.length = 0
    awaited.end(connection, giveUp)
    pace.end(paced)
    resolve(body)
  }
  const giveUp = (): void => stop(TOO_SLOW)
  const paced = pace.begin(giveUp)
  const expected = Number(request.headers['content-length'] ?? Infinity)
  const reading = {
    // What is short has come already, with requests behind it perhaps that are to be answered after it.
    stop: () => {
      if (expected - received > SHORT_REST) request.pause()
    },
    goOn: () => void request.resume(),
  }
  reservation.came(connection, REQUEST_BYTES, reading)
  const count = (chunk: Buffer): void => {
    received += chunk.length
    reservation.came(connection, chunk.length, reading)
    paced.came += chunk.length
    if (received > maxBytes) stop(tooLarge)
  }
  const keep = (chunk: Buffer): void => {
    kept += chunk.length
    if (kept > maxBytes) stop(tooLarge)
    else if (!reservation.take(chunk.length)) stop(BUDGET_EXHAUSTED)
    else chunks.push(chunk)
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
  plain.on('end', () => stop({ kind: 'whole', bytes: Buffer.concat(chunks, kept) }))
  return promise
}

/** How often bodies are looked at, in milliseconds. */
const LOOK_MS = 10_000
/** What has to come of a body from one look to the next. */
const MIN_BYTES = 1024

/** A body that is awaited. */
export interface PacedBody {
  /** Bytes that came since it was looked at last. */
  came: number
  isNew: boolean
  readonly giveUp: () => void
}

/**
 * Ends bodies of which hardly anything comes: less than a kilobyte in ten seconds is a sender that is gone, or one that holds
 * on to what others need.
 */
export class SlowBodyWatch implements Disposable {
  readonly #bodies = new Set<PacedBody>()
  readonly #timer: NodeJS.Timeout

  constructor(lookMs = LOOK_MS) {
    // What came while this process had no time is read before it is looked at.
    this.#timer = setInterval(() => setImmediate(() => this.look()), lookMs).unref()
  }

  /** Calls `giveUp` when too little comes. */
  begin(giveUp: () => void): PacedBody {
    const body = { came: 0, isNew: true, giveUp }
    this.#bodies.add(body)
    return body
  }

  end(body: PacedBody): void {
    this.#bodies.delete(body)
  }

  /** Looks at all bodies; those that began since it last did have until it does again. */
  look(): void {
    for (const body of this.#bodies) {
      const isTooSlow = !body.isNew && body.came < MIN_BYTES
      body.isNew = false
      body.came = 0
      if (!isTooSlow) continue
      this.#bodies.delete(body)
      body.giveUp()
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

/** The body that is on its way, by connection. A body may have come whole and not be read to its end when the next begins. */
export class AwaitedBodies {
  readonly #giveUps = new WeakMap<object, () => void>()

  /** Calls `giveUp` should the body be waited for no longer. */
  begin(connection: object, giveUp: () => void): void {
    this.#giveUps.set(connection, giveUp)
  }

  end(connection: object, giveUp: () => void): void {
    if (this.#giveUps.get(connection) === giveUp) this.#giveUps.delete(connection)
  }

  /** Whether there was a body to wait for no longer. */
  giveUp(connection: object): boolean {
    const giveUp = this.#giveUps.get(connection)
    giveUp?.()
    return giveUp !== undefined
  }
}
