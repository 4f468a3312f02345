import { type SendOutcome } from '../model/send-outcome.ts'
import { shorten } from './shorten.ts'
import { lastBytes, lastInt, lastText, wireFields } from './wire-fields.ts'
import { MIB } from '../model/sizes.ts'

const PARTIAL_SUCCESS = 1
const REJECTED = 1
const ERROR_MESSAGE = 2

/** The largest reply read from a backend, in bytes (OTLP specification, "Message Size Limits"). */
export const MAX_REPLY_BYTES = 4 * MIB

/**
 * Reads an Export*ServiceResponse, which are the same for every signal (OTLP
 * specification, "Partial Success"). The backend has said yes, so an unreadable reply is still delivered.
 */
export function outcomeOfReply(reply: Uint8Array): SendOutcome {
  try {
    const partial = wireFields(lastBytes(wireFields(reply), PARTIAL_SUCCESS))
    return delivered(Number(lastInt(partial, REJECTED)), lastText(partial, ERROR_MESSAGE))
  } catch {
    return delivered(0, 'the backend accepted the request with an unreadable reply')
  }
}

/** A delivery of which `refused` spans were turned away; a count that no backend may send, below zero or beyond 2^53, is none. */
export function delivered(refused: number, message: string): SendOutcome {
  const isCount = Number.isSafeInteger(refused) && refused > 0
  return { kind: 'delivered', refused: isCount ? refused : 0, message: shorten(message) }
}
