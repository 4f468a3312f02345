import { MalformedOtlp } from '../otlp/malformed.ts'
import { jsonOfProtobuf, type JsonObject } from '../otlp/protobuf-to-json.ts'
import { WireCursor } from '../otlp/wire-cursor.ts'

/** Fields of Span and LogRecord that hold no messages. */
const PLAIN_FIELDS = { spans: [1, 2, 3, 4, 5, 6, 7, 8, 16], logs: [1, 2, 3, 8, 9, 10, 11, 12] }
const MESSAGE = { spans: 'Span', logs: 'LogRecord' } as const
const UNDECODABLE = 'cpid.undecodable'

/**
 * A stored span or log record as OTLP/JSON. Ingest does not look into every attribute, so that something inside may be
 * no protobuf; then the ids, name and times are shown, and all its bytes in the attribute `cpid.undecodable`.
 */
export function recordJson(signal: 'spans' | 'logs', raw: Buffer): JsonObject {
  try {
    return jsonOfProtobuf(MESSAGE[signal], raw)
  } catch (error) {
    if (!(error instanceof MalformedOtlp)) throw error
    const plain = jsonOfProtobuf(MESSAGE[signal], fieldsOf(raw, PLAIN_FIELDS[signal]))
    const bytes = { key: UNDECODABLE, value: { bytesValue: raw.toString('base64') } }
    return { ...plain, attributes: [bytes] }
  }
}

function fieldsOf(raw: Buffer, numbers: readonly number[]): Buffer {
  const parts: Buffer[] = []
  const cursor = new WireCursor(raw)
  while (cursor.next()) {
    if (numbers.includes(cursor.field)) parts.push(raw.subarray(cursor.tagAt, cursor.pos))
  }
  return Buffer.concat(parts)
}
