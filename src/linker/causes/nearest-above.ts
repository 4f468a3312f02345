import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'

/** Where a span without a CPID may get one; `row` is of an ancestor that was stored, and waits itself or is about to be linked. */
export type Above =
  | 'none'
  | { kind: 'cpid'; cpid: number; joined: boolean }
  | { kind: 'awaited'; parentId: bigint; row: number | undefined; parent: ArrivedSpan | undefined }

/**
 * The CPID of the nearest ancestor that has one, or the ancestor that has to arrive first. An ancestor that was
 * forwarded without a CPID had none above it; one whose own `cpid.id` is malformed is looked past.
 */
export function nearestAbove(
  { events, spans, waiting }: Pick<LinkPorts, 'events' | 'spans' | 'waiting'>,
  span: ArrivedSpan,
): Above {
  const seen = new Set<number>()
  let at = span
  while (at.parentId !== 0n && !seen.has(at.row)) {
    seen.add(at.row)
    const { parentId, parentRow: row } = at
    const parent = row !== undefined && events.isLinked(row) ? spans.span(row) : undefined
    if (parent === undefined || waiting.hasSpan(parent.row)) return { kind: 'awaited', parentId, row, parent }
    if (parent.cpid !== undefined) return { kind: 'cpid', cpid: parent.cpid, joined: parent.joined }
    if (!parent.malformed) return 'none'
    at = parent
  }
  return 'none'
}
