import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import type { AwaitedBodies } from './awaited-bodies.ts'
import type { BodyPace } from './body-pace.ts'
import { HTTP_CODINGS } from '../codings/codings.ts'
import { NO_ROOM, type Reservation } from '../admission/in-flight.ts'
import { REQUEST_BYTES } from '../admission/reading-turns.ts'
import type { Refusal } from '../otlp/reply.ts'
import { ownValue } from '../../model/own-value.ts'

/** The answer to a request that was not whole in time. */
const TOO_SLOW: Refusal = {
  kind: 'busy',
  retryAfterMs: 1000,
  cause: 'time',
  reason:
    "the request did not come whole in time; send it again, in smaller batches if the link is slow, or raise the receiver's read_timeout",
}

/** How a body is read. */
export interface Reading {
  maxBytes: number
  reservation: Reservation
  awaited: AwaitedBodies
  pace: BodyPace
}

/** A body read whole and decompressed, the reason why it was not, or word that the sender hung up. */
export type Body = { kind: 'whole'; bytes: Buffer } | Refusal | { kind: 'hungUp' }

/**
 * Reads a request's body, undoing its Content-Encoding as it comes. No more than `maxBytes` are held, compressed
 * or not, and all are counted in the reservation. The rest of a refused body is read and dropped, so that a sender
 * still busy writing gets to see the answer.
 */
export async function readBody(request: IncomingMessage, reading: Reading): Promise<Body> {
  const body = await bodyOf(request, reading)
  request.resume()
  return body
}

function bodyOf(request: IncomingMessage, reading: Reading): Body | Promise<Body> {
  const { maxBytes, reservation } = reading
  const tooLarge: Refusal = {
    kind: 'tooLarge',
    reason: `the request is larger than ${maxBytes} bytes; send smaller batches or raise the receiver's limit`,
  }
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > maxBytes) return tooLarge
  if (!reservation.fits(Math.max(1, declared))) return NO_ROOM
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
  { maxBytes, reservation, awaited, pace }: Reading,
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
    else if (!reservation.take(chunk.length)) stop(NO_ROOM)
    else chunks.push(chunk)
  }
  awaited.begin(connection, giveUp)
  reservation.onGiveWay(() => stop(NO_ROOM))
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
