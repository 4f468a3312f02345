import type { ArrivedSpan, LinkStore, ObjectVersion, Trace } from '../model/link-port.ts'
import type { LinkContext } from './link-context.ts'

/** Jaeger's page fails near depth 3,000, and nobody reads beyond this. */
const MAX_DEPTH = 256
/** Writers of one object that are looked at, the one ending last first. */
const MAX_WRITERS = 64

/** A span that wrote what another observed, and the version through which the other is known to. */
export interface Cause {
  readonly writer: ArrivedSpan
  readonly version: ObjectVersion
}

/**
 * The causal parent of a span in a trace: among the spans there, from another original trace and not below it, the one
 * ending last that wrote an object which the span observed, at that resourceVersion or lower.
 */
export function causeIn({ store }: LinkContext, trace: Trace, span: ArrivedSpan): Cause | undefined {
  let cause: Cause | undefined
  for (const version of store.observedBy(span.row)) {
    const writer = lastWriter(store, trace, span, version)
    if (writer !== undefined && (cause === undefined || endsLater(writer, cause.writer)))
      cause = { writer, version }
  }
  return cause
}

/**
 * How long a span waits for the writers of exactly the versions it observed: until all were sent, or each has been
 * missed for `wait`. With batching exporters the observer comes first about half the time.
 */
export function waitsForWriters({ store, settings }: LinkContext, span: ArrivedSpan): number | undefined {
  if (settings.mode !== 'cascade' || !span.observes || span.parentId !== 0n) return undefined
  let until: number | undefined
  for (const version of store.observedBy(span.row)) {
    const writer = store.writerOf(version)
    if (writer !== undefined && !store.isWaiting(writer)) continue
    const since = store.awaitWriter(version, span.row)
    const due = since + settings.waitMs
    if (due > store.activeMs && (until === undefined || due > until)) until = due
  }
  return until
}

function lastWriter(
  store: LinkStore,
  trace: Trace,
  span: ArrivedSpan,
  version: ObjectVersion,
): ArrivedSpan | undefined {
  let looked = 0
  for (const row of store.writersIn(trace.id, version)) {
    if (looked++ >= MAX_WRITERS) return undefined
    const writer = row === span.row ? undefined : store.span(row)
    if (writer !== undefined && writer.origin !== span.origin && mayHoldBelow(store, trace, writer, span)) {
      return writer
    }
  }
  return undefined
}

/** True when the span can hang under the writer: the way up from it is short enough and does not pass the span. */
function mayHoldBelow(store: LinkStore, trace: Trace, writer: ArrivedSpan, span: ArrivedSpan): boolean {
  let at: ArrivedSpan | undefined = writer
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    if (at.row === span.row) return false
    const placed = store.placed(trace.id, at.row)
    if (placed === undefined) return true
    if (placed.cause === undefined && placed.parentId !== at.parentId) return true
    // A local parent that has not arrived may be the span itself.
    if (placed.cause === undefined && at.origin === span.origin && at.parentId === span.spanId) return false
    const above: number | undefined = placed.cause ?? at.parentRow
    at = above === undefined ? undefined : store.span(above)
    if (at === undefined) return true
  }
  return false
}

function endsLater(a: ArrivedSpan, b: ArrivedSpan): boolean {
  return a.endNs > b.endNs || (a.endNs === b.endNs && a.row > b.row)
}
