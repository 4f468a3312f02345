import { CPID_ID, CPID_ORIGINAL_TRACE_ID } from '../model/attributes.ts'
import type { LogOutboxItem, LogOutboxReader } from '../model/ports/log-port.ts'
import { encodeAttribute } from '../otlp/write/encode-span.ts'
import { MalformedOtlp } from '../otlp/read/malformed.ts'
import { hasOwnAttribute, patchLog, traceIdOfLog } from '../otlp/write/patch-log.ts'
import type { OutgoingItems } from './drain.ts'
import { outgoing } from './outgoing.ts'

/**
 * The bytes of the log record a decision sends; the same whenever they are built. Undefined when it was pruned. One that
 * was damaged in the database goes as it is, as a span does.
 */
export function outgoingLog(item: LogOutboxItem): Buffer | undefined {
  try {
    return patched(item)
  } catch (error) {
    if (error instanceof MalformedOtlp) return item.raw
    throw error
  }
}

function patched({ raw, traceId, withoutSpanId, inherited }: LogOutboxItem): Buffer | undefined {
  if (raw === undefined || (traceId === undefined && inherited === undefined && !withoutSpanId)) return raw
  const attributes: Uint8Array[] = []
  // A record that another Causeway sent says already where it came from: a key may stand in it once.
  const isNamed = traceId === undefined || hasOwnAttribute(raw, CPID_ORIGINAL_TRACE_ID)
  const original = isNamed ? undefined : traceIdOfLog(raw)
  if (original !== undefined)
    attributes.push(encodeAttribute(CPID_ORIGINAL_TRACE_ID, original.toString('hex')))
  if (inherited !== undefined) attributes.push(encodeAttribute(CPID_ID, inherited))
  return patchLog(raw, { traceId, withoutSpanId, attributes })
}

/** What a drain of log records sends. */
export function outgoingLogs(outbox: LogOutboxReader): OutgoingItems {
  return {
    after: (position, limit) => outbox.after(position, limit).map((item) => outgoing(item, outgoingLog)),
    envelopes: (scope) => outbox.envelopes(scope),
  }
}
