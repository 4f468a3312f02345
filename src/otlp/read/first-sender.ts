import { CLUSTER_NAME, SERVICE_NAME } from '../../model/attributes.ts'
import { maySayWho, readAttribute } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

const RESOURCE_GROUPS = 1
const RESOURCE = 1
const ATTRIBUTES = 1
/** So many fields are looked at, and so much of an attribute: other requests wait meanwhile. */
const MOST_FIELDS = 1_000
const MOST_ATTRIBUTE_BYTES = 8_192

/** Who an OTLP request says it comes from. */
export interface Sender {
  service: string
  cluster: string
}

/**
 * The sender that the first resource of an OTLP request names among its first fields; both are empty where it says nothing there,
 * and for bytes that are no request.
 */
export function firstSender(request: Uint8Array): Sender {
  const found: Partial<Sender> = {}
  const bytes = Buffer.from(request.buffer, request.byteOffset, request.byteLength)
  const cursor = new WireCursor(bytes)
  try {
    if (!enter(cursor, RESOURCE_GROUPS) || !enter(cursor, RESOURCE)) return named(found)
    for (let looked = 0; looked < MOST_FIELDS && cursor.next(); looked++) {
      if (cursor.field !== ATTRIBUTES || cursor.wire !== 2) continue
      if (cursor.end - cursor.start > MOST_ATTRIBUTE_BYTES) continue
      if (!maySayWho(bytes, cursor.start, cursor.end)) continue
      const { key, value } = readAttribute(bytes, cursor.start, cursor.end)
      const text = typeof value === 'string' ? value : ''
      if (key === SERVICE_NAME) found.service ??= text
      else if (key === CLUSTER_NAME) found.cluster ??= text
    }
  } catch {
    // Whoever decodes the request says what is wrong with it.
  }
  return named(found)
}

function named({ service = '', cluster = '' }: Partial<Sender>): Sender {
  return { service, cluster }
}

/** Goes into the first field of this number that is a message; false when there is none. */
function enter(cursor: WireCursor, field: number): boolean {
  for (let looked = 0; looked < MOST_FIELDS && cursor.next(); looked++) {
    if (cursor.field !== field || cursor.wire !== 2) continue
    cursor.reset(cursor.start, cursor.end)
    return true
  }
  return false
}
