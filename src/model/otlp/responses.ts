import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { RequestAnswer } from '../arrivals.ts'
import type { Signal } from '../otlp-requests.ts'

/** The two encodings of OTLP/HTTP; gRPC always uses protobuf. */
export type Encoding = 'protobuf' | 'json'

const REJECTED = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
} as const

/**
 * Encodes an Export{Trace,Logs,Metrics}ServiceResponse (OTLP specification, Full Success and Partial Success): empty if nothing was
 * rejected and there is no warning. A long message is truncated.
 */
export function encodeExportResponse(signal: Signal, encoding: Encoding, result: RequestAnswer): Uint8Array {
  const message = truncateMessage(result.message)
  const partial = result.rejected > 0 || message !== ''
  if (encoding === 'json') {
    const partialSuccess = { [REJECTED[signal]]: String(result.rejected), errorMessage: message }
    return Buffer.from(JSON.stringify(partial ? { partialSuccess } : {}))
  }
  const writer = new BinaryWriter()
  if (!partial) return writer.finish()
  writer.tag(1, WireType.LengthDelimited).fork()
  if (result.rejected > 0) writer.tag(1, WireType.Varint).int64(result.rejected)
  if (message !== '') writer.tag(2, WireType.LengthDelimited).string(message)
  return writer.join().finish()
}

/** The error response to a request: a gRPC status code, a message and, if the sender should retry later, the delay in milliseconds. */
export interface RpcStatus {
  code: number
  message: string
  retryAfterMs?: number
}

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

/** Encodes a google.rpc.Status. If there is a delay, its details have a RetryInfo (OTLP specification, Failures). */
export function encodeRpcStatus(encoding: Encoding, status: RpcStatus): Uint8Array {
  return encoding === 'json' ? jsonStatus(status) : protobufStatus(status)
}

function jsonStatus({ code, message, retryAfterMs }: RpcStatus): Uint8Array {
  const details =
    retryAfterMs === undefined
      ? {}
      : { details: [{ '@type': RETRY_INFO, retryDelay: `${retryAfterMs / 1000}s` }] }
  return Buffer.from(JSON.stringify({ code, message: truncateMessage(message), ...details }))
}

function protobufStatus({ code, message, retryAfterMs }: RpcStatus): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.Varint).int32(code)
  writer.tag(2, WireType.LengthDelimited).string(truncateMessage(message))
  if (retryAfterMs !== undefined) {
    writer.tag(3, WireType.LengthDelimited).fork()
    writer.tag(1, WireType.LengthDelimited).string(RETRY_INFO)
    writer.tag(2, WireType.LengthDelimited).bytes(retryInfo(retryAfterMs))
    writer.join()
  }
  return writer.finish()
}

function retryInfo(retryAfterMs: number): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.LengthDelimited).fork()
  writer.tag(1, WireType.Varint).int64(Math.trunc(retryAfterMs / 1000))
  writer.tag(2, WireType.Varint).int32(Math.round((retryAfterMs % 1000) * 1e6))
  return writer.join().finish()
}

const MAX_LENGTH = 1024

/**
 * Truncates a message to 1,024 UTF-16 units, so that it fits gRPC headers, which carry it percent-encoded and in base64. A lone surrogate
 * becomes U+FFFD.
 */
export function truncateMessage(message: string): string {
  const cut = message.length > MAX_LENGTH ? `${message.slice(0, MAX_LENGTH - 1)}…` : message
  return cut.toWellFormed()
}
