import { isMarkedAsEvicted } from '../evictions.ts'
import type { UnixNanos } from '../../model/clock.ts'
import { printIn } from '../../model/kubernetes/object-facts.ts'
import type { AuditedRequest, WatchedVersion } from '../../model/kubernetes/observation.ts'
import type { Request } from '../../model/kubernetes/write.ts'

/** How much the clock of the API server may be ahead of that by which the watch's versions are timed. */
export const CLOCKS_DIFFER_NS = 1_000_000_000n

/** Whether a request whose answer names no version may have made one that a watch told of. */
export function mayHaveMade(
  { object, request, gone }: AuditedRequest,
  version: WatchedVersion,
  hasMarked: boolean,
): boolean {
  if (request.startNs > version.seenNs + CLOCKS_DIFFER_NS) return false
  if (object.uid !== '' && object.uid !== version.object.uid) return false
  if (isMark(request, version)) return !hasMarked
  if (request.verb === 'delete' && gone) return version.gone || printIn(version.facts, 'atOnce') === 'true'
  if (request.verb === 'delete' || request.subresource === 'eviction')
    return version.gone || version.facts.deleting
  return request.subresource === 'binding' ? isJustBound(version) : !version.gone
}

export function isMark({ subresource }: Request, { gone, facts }: WatchedVersion): boolean {
  return subresource === 'eviction' && !gone && !facts.deleting && isMarkedAsEvicted(facts)
}

/** It has a node, and nothing yet of what comes of having one: a binding whose version nobody saw made no later one. */
function isJustBound({ gone, facts }: WatchedVersion): boolean {
  return !gone && !facts.deleting && facts.prints.node !== '' && printIn(facts, 'slice') === ''
}

/** Audit knows times and versions; admission has the trace. Without audit, a write was done when its version was seen. */
export function requestOf(
  audited: Request | undefined,
  admitted: Request | undefined,
  seenNs: UnixNanos,
): Request | undefined {
  if (admitted === undefined) return audited
  const { traceparent } = admitted
  if (audited !== undefined) return traceparent === undefined ? audited : { ...audited, traceparent }
  return { ...admitted, endNs: seenNs > admitted.startNs ? seenNs : admitted.startNs }
}
