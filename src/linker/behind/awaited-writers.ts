import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { ObjectVersion } from '../../model/ports/object-port.ts'
import type { LinkContext } from '../link-context.ts'
import type { Awaited } from './wait-behind.ts'

/** Writers below the observed version that are looked at, where nobody else wrote exactly that. */
const MOST_BELOW = 4

type Asked = Pick<LinkPorts, 'objects' | 'waiting' | 'spans'>

/**
 * Whether a span waits for the writers of exactly the versions it observed: until all were sent, or each has been
 * missed for `wait`. With batching exporters the observer comes first about half the time. Where the wait for one is over, or it
 * is of the span's own trace, whoever wrote the version before is the cause, and may wait itself.
 */
export function waitsForWriters(ctx: LinkContext, span: ArrivedSpan): Awaited | undefined {
  const { objects, waiting, clock, settings } = ctx
  if (settings.mode !== 'cascade' || !span.observes || span.parentId !== 0n) return undefined
  let missedUntilMs = 0
  let isBehind = false
  for (const version of objects.versions(span.row, 'observed')) {
    const writer = objects.writerOf(version)
    const isCause = writer !== undefined && mayCause(ctx, writer, span)
    if (isCause && !waiting.hasSpan(writer)) continue
    if (writer === undefined || isCause) {
      const untilMs = objects.awaitWriter(version, span.row) + settings.waitMs
      if (writer === undefined) missedUntilMs = Math.max(missedUntilMs, untilMs)
      isBehind ||= isCause
      if (isCause || untilMs > clock.activeMs) continue
    }
    const below = causeBelow(ctx, span, version)
    if (below === undefined || !waiting.hasSpan(below.row)) continue
    objects.awaitWriter({ ...version, version: below.version }, span.row)
    isBehind = true
  }
  return isBehind || missedUntilMs > clock.activeMs ? { missedUntilMs, isBehind } : undefined
}

/** The writers that a span waits for which are there, and wait themselves or are this one. */
export function* writersAhead(ctx: Asked, span: ArrivedSpan, self: number): Iterable<number> {
  for (const version of ctx.objects.versions(span.row, 'observed')) {
    const exact = ctx.objects.writerOf(version)
    const isCause = exact !== undefined && mayCause(ctx, exact, span)
    const writer = isCause ? exact : causeBelow(ctx, span, version)?.row
    if (writer !== undefined && (writer === self || ctx.waiting.hasSpan(writer))) yield writer
  }
}

/** Who wrote the highest version below one, of those that can be the span's cause. */
function causeBelow(
  ctx: Asked,
  span: ArrivedSpan,
  version: ObjectVersion,
): { row: number; version: bigint } | undefined {
  return ctx.objects.writersBelow(version, MOST_BELOW).find(({ row }) => mayCause(ctx, row, span))
}

/** A span of the same original trace is no cause, whatever it wrote. */
function mayCause({ spans }: Asked, writer: number, span: ArrivedSpan): boolean {
  return writer !== span.row && spans.span(writer)?.origin !== span.origin
}
