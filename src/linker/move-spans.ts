import type { ReleasedStep, Trace } from '../model/linking-ports.ts'
import type { CpidNode } from '../model/merge-graph.ts'
import { changeInCascade, driversOf, driversOfChange, partWith } from './causes.ts'
import { ensureChangeSpan } from './change-spans.ts'
import type { LinkContext } from './link-context.ts'
import { listedRoots, openTracesOf } from './open-traces.ts'
import { placeSpan } from './place-span.ts'
import { hasShareFor, spanBytes } from './trace-room.ts'

/** The spans of a CPID that are being sent again, local parents before their children. */
export interface Moving {
  readonly cpid: number
  /** In the order in which they began. */
  readonly rows: readonly number[]
  /** How many of these have been visited. */
  at: number
  /** The rows that are neither sent again nor in `chain`. */
  readonly left: Set<number>
  /** Each is a local child of the next. */
  readonly chain: number[]
  /** The possible local parent of the last in the chain, or the first row of the next chain. */
  above: number | undefined
}

/** How many CPIDs are remembered to have been moved. */
const MOST_REMEMBERED = 4_096

/** How much of a CPID one step does. */
const MOST_AT_ONCE = 500

/**
 * Sends the linked spans of a CPID again, unless its traces are unchanged since the last time. The rest that there is no time for becomes a
 * step before all others, since spans of other CPIDs look for their parents and causes among these.
 */
export function moveSpans(ctx: LinkContext, step: Extract<ReleasedStep, { kind: 'moved' }>): void {
  const { cpid } = step
  const roots = listedRoots(ctx, cpid)
  if (ctx.moving?.cpid !== cpid) {
    const before = ctx.movedInto.get(cpid)
    if (before !== undefined && before === tracesNow(ctx, roots)) return
    ctx.moving = beginToMove(ctx, cpid, roots)
  }
  for (let done = 1; moveOn(ctx, ctx.moving, roots); done++) {
    if (done < MOST_AT_ONCE && ctx.mayGoOn()) continue
    ctx.first.push(step)
    return
  }
  ctx.moving = undefined
  if (ctx.movedInto.size >= MOST_REMEMBERED) ctx.movedInto.clear()
  const into = tracesNow(ctx, roots)
  if (into !== undefined) ctx.movedInto.set(cpid, into)
}

/** The newest traces of the roots of a CPID, which its spans go into; undefined while a root has none, which may be opened for them. */
function tracesNow({ traces }: LinkContext, roots: readonly CpidNode[]): string | undefined {
  const into = roots.map(({ id }) => traces.currentOf(id)?.id)
  return into.includes(undefined) ? undefined : into.join()
}

/** Sends the change span of a CPID into its open cascades that do not have it. */
function beginToMove(ctx: LinkContext, cpid: number, roots: readonly CpidNode[]): Moving {
  const rows = ctx.spans.rowsOfCpid(cpid)
  const firstNs = rows[0] === undefined ? undefined : ctx.spans.span(rows[0])?.startNs
  const now = firstNs ?? ctx.mergelogs.find(cpid)?.timeNs ?? 0n
  const input = { cpid, roots, drivers: driversOfChange(ctx, cpid, roots) }
  const hasChange = (trace: Trace): boolean => changeInCascade(ctx, trace, cpid) !== undefined
  for (const { trace, driven } of openTracesOf(ctx, input, now, 0, hasChange))
    ensureChangeSpan(ctx, trace, cpid, now, driven)
  return { cpid, rows, at: 0, left: new Set(rows), chain: [], above: undefined }
}

/** Climbs to the next local parent, or sends the topmost of the chain again; false when all has been sent. */
function moveOn(ctx: LinkContext, moving: Moving, roots: readonly CpidNode[]): boolean {
  const { cpid, rows, left, chain, above } = moving
  if (above !== undefined && left.delete(above)) {
    chain.push(above)
    moving.above = ctx.spans.span(above)?.parentRow
    return true
  }
  const top = chain.pop()
  moving.above = top === undefined ? rows[moving.at++] : undefined
  if (top === undefined) return moving.above !== undefined
  sendAgain(ctx, top, cpid, roots)
  return true
}

/** Sends a linked span of a CPID into its open cascades that do not have it. */
function sendAgain(ctx: LinkContext, row: number, cpid: number, roots: readonly CpidNode[]): void {
  const span = ctx.events.isLinked(row) && !ctx.waiting.hasSpan(row) ? ctx.spans.span(row) : undefined
  if (span === undefined) return
  const input = { cpid, roots, drivers: driversOf(ctx, span, roots) }
  const hasSpan = (trace: Trace): boolean => partWith(ctx, trace, row) !== undefined
  for (const { trace, driven } of openTracesOf(ctx, input, span.startNs, spanBytes(span), hasSpan)) {
    if (!hasShareFor(ctx, trace, span)) continue
    placeSpan(ctx, span, { trace, cpid, copy: true, driven, awaited: [] })
  }
}
