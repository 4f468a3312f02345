import { allBytes, lastInt, lastBytes, lastText, wireFields } from './wire-fields.ts'

/** What Causeway uses of a google.rpc.Status. */
export interface RpcStatus {
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
    const status = wireFields(bytes)
    const retryAfterMs = allBytes(status, DETAILS)
      .map(retryDelayMs)
      .find((ms) => ms !== undefined)
    const message = lastText(status, MESSAGE)
    return retryAfterMs === undefined ? { message } : { message, retryAfterMs }
  } catch {
    return undefined
  }
}

function retryDelayMs(detail: Uint8Array): number | undefined {
  const any = wireFields(detail)
  if (!lastText(any, TYPE_URL).endsWith('/google.rpc.RetryInfo')) return undefined
  const delay = wireFields(lastBytes(wireFields(lastBytes(any, VALUE)), RETRY_DELAY))
  const ms = Number(lastInt(delay, SECONDS)) * 1000 + Number(lastInt(delay, NANOS)) / 1_000_000
  return Math.max(0, Math.ceil(ms))
}
