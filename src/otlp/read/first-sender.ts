import { CLUSTER_NAME, SERVICE_NAME } from '../../model/attributes.ts'
import { readAttribute } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

const RESOURCE_GROUPS = 1
const RESOURCE = 1
const ATTRIBUTES = 1

/** Who an OTLP request says it comes from. */
export interface Sender {
  service: string
  cluster: string
}

/**
 * The sender that the first resource of an OTLP request names, read from its first bytes; both are empty where it says
 * nothing, and for bytes that are no request.
 */
export function firstSender(request: Uint8Array): Sender {
  const found: Partial<Sender> = {}
  const bytes = Buffer.from(request.buffer, request.byteOffset, request.byteLength)
  const cursor = new WireCursor(bytes)
  try {
    if (!enter(cursor, RESOURCE_GROUPS) || !enter(cursor, RESOURCE)) return named(found)
    while (cursor.next()) {
      if (cursor.field !== ATTRIBUTES || cursor.wire !== 2) continue
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
  while (cursor.next()) {
    if (cursor.field !== field || cursor.wire !== 2) continue
    cursor.reset(cursor.start, cursor.end)
    return true
  }
  return false
}
