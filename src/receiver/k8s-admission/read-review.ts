import type { IncomingMessage } from 'node:http'
import type { Reservation } from '../admission/in-flight.ts'
import type { HttpGuards } from '../http/serve-http.ts'

/** Within these first bytes an API server says what it asks by. */
const PREFIX_BYTES = 4_096
const HEAD = String.raw`\s*"(?:kind|apiVersion)"\s*:\s*"(?:AdmissionReview|admission\.k8s\.io\/v1)"\s*,`
const UID = new RegExp(String.raw`^\s*\{(?:${HEAD}){2}\s*"request"\s*:\s*\{\s*"uid"\s*:\s*"([^"\\]{1,128})"`)

export interface ReviewReading extends Pick<HttpGuards, 'awaited' | 'pace'> {
  readonly maxBytes: number
  /** What it may hold; undefined when nothing but its beginning is to be kept. */
  readonly reservation: Reservation | undefined
}

/** A review as far as it was kept. */
export interface ReadReview {
  readonly prefix: string
  /** In memory of its own; undefined where it is too long, or came too slowly, or there is no room for it. */
  readonly whole: Uint8Array<ArrayBuffer> | undefined
}

/** The uid by which a review is answered, as API servers write it before all else; undefined where it stands elsewhere. */
export function uidIn(prefix: string): string | undefined {
  return UID.exec(prefix)?.[1]
}

/** Reads a review to its end, however long it is; undefined when the caller hung up. */
export function readReview(
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
    paced.came += chunk.length
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
