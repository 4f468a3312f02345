import { CPID_ID } from '../model/attributes.ts'
import type { UnixNanos } from '../model/clock.ts'
import { parseCpid, type Cpid } from '../model/cpid.ts'
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
}

/** Reads what `encodeSpan` wrote. */
export function readOwnSpan(span: Buffer): OwnSpan {
  const cursor = new WireCursor(span)
  let [spanId, startNs, endNs] = [0n, 0n, 0n]
  let name = ''
  let kind = 0
  let cpid: Cpid | undefined
  while (cursor.next()) {
    if (cursor.field === 2) spanId = span.readBigInt64BE(cursor.start)
    else if (cursor.field === 5) name = cursor.text()
    else if (cursor.field === 6) kind = cursor.value
    else if (cursor.field === 7) startNs = cursor.nanos('startTimeUnixNano')
    else if (cursor.field === 8) endNs = cursor.nanos('endTimeUnixNano')
    else if (cursor.field === 9 && cpid === undefined) {
      const { key, value } = readAttribute(span, cursor.start, cursor.end)
      if (key === CPID_ID && typeof value === 'string') cpid = parseCpid(value)
    }
  }
  return { spanId, name, startNs, endNs, kind, cpid }
}
