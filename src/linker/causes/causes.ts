import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import type { ObjectVersion } from '../../model/ports/object-port.ts'
import { partWith } from '../traces/cascade-parts.ts'
import type { LinkContext } from '../link-context.ts'

/** Jaeger's page fails near depth 3,000, and nobody reads beyond this. */
const MAX_DEPTH = 256
/** Writes of one object that are looked at, the highest version first. */
const MAX_WRITERS = 64

/** A span that wrote what another observed, and the version through which the other is known to. */
export interface Cause {
  readonly writer: ArrivedSpan
  /** The trace of the cascade in which the writer is: the observer's own where it is there too. */
  readonly trace: Trace
  readonly version: ObjectVersion
}

/**
 * The causal parent of a span in a trace: among the spans of its cascade, from another original trace and not below it, the one
 * that wrote the highest version, at or below the observed one, of an object which the span observed. Among several
 * objects, and among writers of one version, it is the one ending last.
 */
export function causeIn(ctx: LinkContext, trace: Trace, span: ArrivedSpan): Cause | undefined {
  let cause: Cause | undefined
  for (const version of highestOfEach(ctx.objects.versions(span.row, 'observed'))) {
    const found = newestWriter(ctx, trace, span, version)
    if (found !== undefined && (cause === undefined || endsLater(found.writer, cause.writer))) cause = found
  }
  return cause
}

/** Of an object that was observed at several versions, the highest. */
export function highestOfEach(observed: readonly ObjectVersion[]): Iterable<ObjectVersion> {
  if (observed.length < 2) return observed
  const highest = new Map<string, ObjectVersion>()
  for (const version of observed) {
    const key = `${version.object} ${version.uid ?? ''}`
    const other = highest.get(key)
    if (other === undefined || version.version > other.version) highest.set(key, version)
  }
  return highest.values()
}

function newestWriter(
  ctx: LinkContext,
  trace: Trace,
  span: ArrivedSpan,
  version: ObjectVersion,
): Cause | undefined {
  for (const row of ctx.objects.writersIn(trace.cascade, version, MAX_WRITERS)) {
    const writer = row === span.row ? undefined : ctx.spans.span(row)
    if (writer === undefined || writer.origin === span.origin) continue
    const part = partWith(ctx, trace, row)
    if (part !== undefined && canBeParentOf(ctx, part, writer, span)) return { writer, trace: part, version }
  }
  return undefined
}

/** True when the span can hang under the writer: the way up from it is short enough and does not pass the span. */
export function canBeParentOf(
  { outbox, spans }: Pick<LinkPorts, 'outbox' | 'spans'>,
  part: Trace,
  writer: ArrivedSpan,
  span: ArrivedSpan,
): boolean {
  let at: ArrivedSpan | undefined = writer
  let trace = part.id
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    if (at.row === span.row) return false
    const placed = outbox.placed(trace, at.row)
    if (placed === undefined) return true
    if (placed.cause === undefined && placed.parentId !== at.parentId) return true
    // A local parent that has not arrived may be the span itself.
    if (placed.cause === undefined && at.origin === span.origin && at.parentId === span.spanId) return false
    const above: number | undefined = placed.cause ?? at.parentRow
    trace = placed.causeTrace ?? trace
    at = above === undefined ? undefined : spans.span(above)
    if (at === undefined) return true
  }
  return false
}

/** Of two writers, which ends last. */
export function endsLater(a: ArrivedSpan, b: ArrivedSpan): boolean {
  return a.endNs > b.endNs || (a.endNs === b.endNs && a.row > b.row)
}
