import { WRITE_CAUSES, type SeenWrite } from '../../model/seen-write.ts'
import { CPID_AUDIT_ID, CPID_GAP, CPID_TRACEPARENT, USER_NAME } from '../../model/attributes.ts'
import { readTraceparent } from '../../model/kubernetes/traceparent.ts'
import { readAttribute, type TextValue } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

const ATTRIBUTES = 9
const KEY = 1
const VALUE = 2
const BOOL = 2
/** No name of a user that a Kubernetes cluster knows is longer. */
const MAX_NAME = 256
const MAX_AUDIT_ID = 64

/** What a span says of the write that it tells of; undefined where its cause is none that Causeway knows. */
export function readSeenWrite(span: Buffer, cause: TextValue): SeenWrite | undefined {
  const known = WRITE_CAUSES.find((one) => one === cause)
  if (known === undefined) return undefined
  let user: string | undefined
  let gap: boolean | undefined
  let auditId: string | undefined
  let traceparent: string | undefined
  const cursor = new WireCursor(span)
  while (cursor.next()) {
    if (cursor.field !== ATTRIBUTES || cursor.wire !== 2) continue
    const { key, value } = readAttribute(span, cursor.start, cursor.end)
    if (key === USER_NAME && typeof value === 'string') user ??= value
    else if (key === CPID_AUDIT_ID && typeof value === 'string') auditId ??= value
    else if (key === CPID_TRACEPARENT && typeof value === 'string') traceparent ??= value
    else if (key === CPID_GAP) gap ??= readBoolean(span, cursor.start, cursor.end)
  }
  const admittedTrace = readTraceparent(traceparent ?? '')?.traceId
  return {
    user: user === '' ? undefined : user?.slice(0, MAX_NAME),
    cause: known,
    gap: gap === true,
    ...(isAuditId(auditId) && { auditId }),
    ...(admittedTrace !== undefined && { admittedTrace }),
  }
}

/** API servers take no longer one from a client. */
const isAuditId = (text: string | undefined): text is string =>
  text !== undefined && text !== '' && text.length <= MAX_AUDIT_ID

/** The value of a KeyValue that is a truth value; false for any other. */
function readBoolean(bytes: Buffer, start: number, end: number): boolean {
  const cursor = new WireCursor(bytes, start, end)
  const inner = new WireCursor(bytes)
  let value = false
  while (cursor.next()) {
    if (cursor.field === KEY || cursor.field !== VALUE || cursor.wire !== 2) continue
    inner.reset(cursor.start, cursor.end)
    while (inner.next()) value = inner.field === BOOL && inner.wire === 0 && inner.int32('bool_value') !== 0
  }
  return value
}
