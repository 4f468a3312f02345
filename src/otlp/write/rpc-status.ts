import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { cutMessage } from '../read/cut-message.ts'
import type { Encoding } from './export-response.ts'

/**
 * What a refused request is answered with: a gRPC status code, a message for people and, when the sender should
 * wait before it tries again, for how many milliseconds.
 */
export interface RpcStatus {
  code: number
  message: string
  retryAfterMs?: number
}

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

/** A google.rpc.Status, with a RetryInfo among its details when there is a delay (OTLP specification, Failures). */
export function encodeRpcStatus(encoding: Encoding, status: RpcStatus): Uint8Array {
  return encoding === 'json' ? jsonStatus(status) : protobufStatus(status)
}

function jsonStatus({ code, message, retryAfterMs }: RpcStatus): Uint8Array {
  const details =
    retryAfterMs === undefined
      ? {}
      : { details: [{ '@type': RETRY_INFO, retryDelay: `${retryAfterMs / 1000}s` }] }
  return Buffer.from(JSON.stringify({ code, message: cutMessage(message), ...details }))
}

function protobufStatus({ code, message, retryAfterMs }: RpcStatus): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.Varint).int32(code)
  writer.tag(2, WireType.LengthDelimited).string(cutMessage(message))
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
