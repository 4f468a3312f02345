import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { bufferOf } from '../model/otlp/protobuf-wire.ts'
import type { SendOutcome } from '../model/outbox.ts'
import { MIB } from '../model/time-and-size.ts'

const PARTIAL_SUCCESS = 1
const REJECTED = 1
const ERROR_MESSAGE = 2

/** The largest reply read from a backend, in bytes (OTLP specification, "Message Size Limits"). */
export const MAX_REPLY_BYTES = 4 * MIB

/** The outcome for a success whose reply cannot be read. */
export const UNREADABLE_REPLY: SendOutcome = {
  kind: 'delivered',
  refused: 0,
  message: 'the backend accepted the request with an unreadable reply',
}

/**
 * Reads an Export*ServiceResponse, which are the same for every signal (OTLP
 * specification, "Partial Success"). The status was a success, so an unreadable reply counts as delivered.
 */
export function outcomeOfReply(reply: Uint8Array): SendOutcome {
  // Nearly every reply is empty.
  if (reply.length === 0) return { kind: 'delivered', refused: 0, message: '' }
  try {
    const partial = lastBytes(reply, PARTIAL_SUCCESS)
    return delivered(Number(lastInt(partial, REJECTED)), lastText(partial, ERROR_MESSAGE))
  } catch {
    return UNREADABLE_REPLY
  }
}

/** A delivery of which `refused` spans were rejected; an invalid count, below zero or beyond 2^53, is ignored. */
export function delivered(refused: number, message: string): SendOutcome {
  const isCount = Number.isSafeInteger(refused) && refused > 0
  return { kind: 'delivered', refused: isCount ? refused : 0, message: shorten(message) }
}

/** The used part of a google.rpc.Status. */
interface RpcStatus {
  message: string
  /** The delay of a RetryInfo detail, in milliseconds; absent without one. */
  retryAfterMs?: number
}

const MESSAGE = 2
const DETAILS = 3
const TYPE_URL = 1
const VALUE = 2
const RETRY_DELAY = 1
const SECONDS = 1
const NANOS = 2

/** Reads a serialized google.rpc.Status; undefined when the bytes are not one. */
export function readRpcStatus(bytes: Uint8Array): RpcStatus | undefined {
  try {
    let retryAfterMs: number | undefined
    for (const { no, value } of wireFields(bytes))
      if (no === DETAILS && typeof value !== 'bigint') retryAfterMs ??= retryDelayMs(value)
    const message = lastText(bytes, MESSAGE)
    return retryAfterMs === undefined ? { message } : { message, retryAfterMs }
  } catch {
    return undefined
  }
}

function retryDelayMs(detail: Uint8Array): number | undefined {
  if (!lastText(detail, TYPE_URL).endsWith('/google.rpc.RetryInfo')) return undefined
  const delay = lastBytes(lastBytes(detail, VALUE), RETRY_DELAY)
  const ms = Number(lastInt(delay, SECONDS)) * 1000 + Number(lastInt(delay, NANOS)) / 1_000_000
  return Math.max(0, Math.ceil(ms))
}

/** One field of a protobuf message: numbers as their raw unsigned bits, everything else as a view of its bytes. */
interface WireField {
  no: number
  value: bigint | Uint8Array
}

/**
 * Reads the top level of a protobuf message; throws when the bytes are not one. Groups are skipped. One field at a time: a backend may
 * put millions of empty ones into its answer.
 */
function* wireFields(message: Uint8Array): Generator<WireField> {
  const reader = new BinaryReader(message)
  while (reader.pos < reader.len) {
    const [no, type] = reader.tag()
    switch (type) {
      case WireType.Varint:
        yield { no, value: BigInt(reader.uint64()) }
        break
      case WireType.Bit64:
        yield { no, value: BigInt(reader.fixed64()) }
        break
      case WireType.Bit32:
        yield { no, value: BigInt(reader.fixed32()) }
        break
      case WireType.LengthDelimited:
        yield { no, value: reader.bytes() }
        break
      case WireType.StartGroup:
      case WireType.EndGroup:
        reader.skip(type, no)
    }
  }
}

/** The last value of a bytes, string or message field, as proto3 has it; empty when absent. */
function lastBytes(message: Uint8Array, no: number): Uint8Array {
  let last: Uint8Array = new Uint8Array()
  for (const field of wireFields(message))
    if (field.no === no && typeof field.value !== 'bigint') last = field.value
  return last
}

/** The last value of a string field; empty when absent. */
function lastText(message: Uint8Array, no: number): string {
  return textOf(lastBytes(message, no))
}

/** The last value of an int32, int64 or enum field; 0 when absent. */
function lastInt(message: Uint8Array, no: number): bigint {
  let last = 0n
  for (const field of wireFields(message))
    if (field.no === no && typeof field.value === 'bigint') last = BigInt.asIntN(64, field.value)
  return last
}

/** UTF-8 text of bytes; what is not UTF-8 becomes the replacement character. */
export function textOf(bytes: Uint8Array): string {
  return bufferOf(bytes).toString('utf8')
}

const LONGEST = 1000

/** Shortens text from a backend for log lines and stored reasons. */
export function shorten(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`
}
