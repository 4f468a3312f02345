import { CPID_UNDECODABLE } from '../model/attributes.ts'
import { MalformedOtlp } from '../otlp/read/malformed.ts'
import { jsonOfProtobuf, type JsonObject } from '../otlp/json/protobuf-to-json.ts'
import { WireCursor } from '../otlp/read/wire-cursor.ts'

/** Fields of Span and LogRecord that hold no messages. */
const PLAIN_FIELDS = { spans: [1, 2, 3, 4, 5, 6, 7, 8, 16], logs: [1, 2, 3, 8, 9, 10, 11, 12] }
const MESSAGE = { spans: 'Span', logs: 'LogRecord' } as const
/** What an envelope holds beside the list that goes into it. */
const HELD = { ResourceSpans: 'resource', ResourceLogs: 'resource', ScopeSpans: 'scope', ScopeLogs: 'scope' }

/**
 * A stored span or log record as OTLP/JSON. Ingest does not look into every attribute, so that something inside may be
 * no protobuf; then the ids, name and times are shown, and all its bytes in the attribute `cpid.undecodable`.
 */
export function recordJson(signal: 'spans' | 'logs', raw: Buffer): JsonObject {
  return unlessMalformed(
    () => jsonOfProtobuf(MESSAGE[signal], raw),
    () => ({
      // A tag or length in more bytes than it needs is taken on arrival, and may be refused by this decoder.
      ...unlessMalformed(
        () => jsonOfProtobuf(MESSAGE[signal], fieldsOf(raw, PLAIN_FIELDS[signal])),
        () => ({}),
      ),
      attributes: undecodable(raw),
    }),
  )
}

/** A stored resource or scope as OTLP/JSON, with what is no protobuf shown as in a record. */
export function envelopeJson(message: keyof typeof HELD, envelope: Buffer): JsonObject {
  return unlessMalformed(
    () => jsonOfProtobuf(message, envelope),
    () => ({ [HELD[message]]: { attributes: undecodable(envelope) } }),
  )
}

/** What the work gives, or the other where what is stored turns out to be no protobuf. */
function unlessMalformed<T>(work: () => T, otherwise: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof MalformedOtlp) return otherwise()
    throw error
  }
}

function undecodable(bytes: Buffer): JsonObject[] {
  return [{ key: CPID_UNDECODABLE, value: { bytesValue: bytes.toString('base64') } }]
}

/** As far as the bytes can be read. */
function fieldsOf(raw: Buffer, numbers: readonly number[]): Buffer {
  const parts: Buffer[] = []
  const cursor = new WireCursor(raw)
  const isNext = (): boolean =>
    unlessMalformed(
      () => cursor.next(),
      () => false,
    )
  while (isNext()) {
    if (numbers.includes(cursor.field)) parts.push(raw.subarray(cursor.tagAt, cursor.pos))
  }
  return Buffer.concat(parts)
}
