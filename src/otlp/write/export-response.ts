import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Signal } from '../../model/ingest.ts'
import { cutMessage } from '../read/cut-message.ts'

/** The two encodings of OTLP/HTTP; gRPC always uses protobuf. */
export type Encoding = 'protobuf' | 'json'

/** How much of a request was taken: `rejected` spans or log records were not, and `message` says why. */
export interface ExportResult {
  rejected: number
  message: string
}

const REJECTED = { traces: 'rejectedSpans', logs: 'rejectedLogRecords' } as const

/**
 * An Export{Trace,Logs}ServiceResponse (OTLP specification, Full Success and Partial Success): empty when nothing
 * was rejected and there is nothing to warn of. The message is cut so that the response stays small.
 */
export function encodeExportResponse(signal: Signal, encoding: Encoding, result: ExportResult): Uint8Array {
  const message = cutMessage(result.message)
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
