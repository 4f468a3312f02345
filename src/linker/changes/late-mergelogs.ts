import type { CpidNode } from '../../model/ports/graph-port.ts'
import type { ChangeSpan } from '../../model/ports/linking/changes.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import { ensureChangeSpan, sendMergedInto } from './change-spans.ts'
import type { LinkContext } from '../link-context.ts'
import { placeSpan } from '../place-span.ts'
import { settle } from '../traces/settling.ts'
import { hasShareFor } from '../traces/guests.ts'
import { drives, driversOf, driversOfChange } from '../drives/drivers.ts'
import { changeInCascade, partWith } from '../traces/cascade-parts.ts'
import { listedRoots, openTracesOf } from '../traces/trace-openings.ts'
import { spanBytes } from '../traces/trace-room.ts'

/**
 * A CPID that had counted as a root turns out to have sources. What was sent into its provisional traces is sent
 * again into the traces now right and still open; the provisional traces say where it went on, and settle.
 */
export function relinkProvisional(
  ctx: LinkContext,
  node: CpidNode,
  provisional: readonly Trace[],
  to: { trace: Trace; change: ChangeSpan; node: CpidNode },
): void {
  if (ctx.settings.mode !== 'cascade') return
  const old = new Set(provisional.map((trace) => trace.id))
  for (const trace of provisional) {
    for (const cpid of ctx.changes.cpidsIn(trace.id)) resendSpansOf(ctx, cpid, old)
  }
  for (const trace of provisional) {
    sendMergedInto(ctx, { trace, parentId: trace.rootSpan, source: node }, to)
    settle(ctx, trace)
  }
}

/** Sends the linked spans of a CPID into its open cascades that they are not in, parents before children. */
function resendSpansOf(ctx: LinkContext, cpid: number, except: ReadonlySet<number>): void {
  const spans = ctx.spans
    .ofCpid(cpid)
    .filter((span) => ctx.events.isLinked(span.row) && !ctx.waiting.hasSpan(span.row))
    .sort((a, b) => (a.startNs < b.startNs ? -1 : a.startNs > b.startNs ? 1 : a.row - b.row))
  const now = spans[0]?.startNs ?? ctx.mergelogs.find(cpid)?.timeNs ?? 0n
  const roots = listedRoots(ctx, cpid)
  const ofChange = driversOfChange(ctx, cpid, roots)
  const hasChange = (trace: Trace): boolean =>
    except.has(trace.id) || changeInCascade(ctx, trace, cpid) !== undefined
  for (const trace of openTracesOf(ctx, { cpid, roots, drivers: ofChange }, now, 0, hasChange))
    ensureChangeSpan(ctx, trace, cpid, now, drives(ofChange, trace))
  for (const span of parentsFirst(spans)) {
    const drivers = driversOf(ctx, span, roots)
    const hasSpan = (trace: Trace): boolean =>
      except.has(trace.id) || partWith(ctx, trace, span.row) !== undefined
    for (const trace of openTracesOf(ctx, { cpid, roots, drivers }, span.startNs, spanBytes(span), hasSpan)) {
      if (!hasShareFor(ctx, trace, span)) continue
      placeSpan(ctx, span, { trace, cpid, copy: true, driven: drives(drivers, trace), awaited: [] })
    }
  }
}

/** Orders spans so that a local parent among them comes before its children. */
export function parentsFirst(spans: readonly ArrivedSpan[]): ArrivedSpan[] {
  const byRow = new Map(spans.map((span) => [span.row, span]))
  const done = new Set<number>()
  const ordered: ArrivedSpan[] = []
  for (const span of spans) {
    const chain: ArrivedSpan[] = []
    const climbing = new Set<number>()
    for (
      let at: ArrivedSpan | undefined = span;
      at !== undefined && !done.has(at.row) && !climbing.has(at.row);
      at = at.parentRow === undefined ? undefined : byRow.get(at.parentRow)
    ) {
      chain.push(at)
      climbing.add(at.row)
    }
    for (const above of chain.reverse()) {
      done.add(above.row)
      ordered.push(above)
    }
  }
  return ordered
}
