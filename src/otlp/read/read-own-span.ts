import { CPID_ID, CPID_TIME } from '../../model/attributes.ts'
import type { UnixNanos } from '../../model/clock.ts'
import { parseCpid, type Cpid } from '../../model/cpid.ts'
import { MalformedOtlp } from './malformed.ts'
import { readAttribute } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

/** What a list shows of a span of Causeway's own making. */
export interface OwnSpan {
  readonly spanId: bigint
  readonly name: string
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  readonly kind: number
  readonly cpid: Cpid | undefined
  /** When what it stands for happened, in RFC 3339, wherever it is stamped. */
  readonly time: string | undefined
}

/** Reads what `encodeSpan` wrote; as far as it can be read, where the database is damaged. */
export function readOwnSpan(span: Buffer): OwnSpan {
  const own = { spanId: 0n, name: '', startNs: 0n, endNs: 0n, kind: 0, cpid: undefined, time: undefined }
  try {
    readInto(own, span)
  } catch (error) {
    if (!(error instanceof MalformedOtlp)) throw error
  }
  return own
}

function readInto(own: { -readonly [Key in keyof OwnSpan]: OwnSpan[Key] }, span: Buffer): void {
  const cursor = new WireCursor(span)
  while (cursor.next()) {
    if (cursor.field === 2 && cursor.end - cursor.start === 8) own.spanId = span.readBigInt64BE(cursor.start)
    else if (cursor.field === 5) own.name = cursor.text()
    else if (cursor.field === 6) own.kind = cursor.int32('kind')
    else if (cursor.field === 7) own.startNs = cursor.nanos('startTimeUnixNano')
    else if (cursor.field === 8) own.endNs = cursor.nanos('endTimeUnixNano')
    else if (cursor.field === 9 && (own.cpid === undefined || own.time === undefined)) {
      const { key, value } = readAttribute(span, cursor.start, cursor.end)
      if (key === CPID_ID && typeof value === 'string') own.cpid = parseCpid(value)
      if (key === CPID_TIME && typeof value === 'string') own.time = value
    }
  }
}
