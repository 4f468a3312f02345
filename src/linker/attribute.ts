import { SPAN_NAMES_REQUEST } from '../model/arrivals.ts'
import type { ArrivedSpan } from '../model/ports/linking/spans.ts'
import { AWAITED_AFTER_FORWARD, AWAITED_FOR_CPID } from '../model/ports/linking/waiting.ts'
import { topmostWaiting } from './behind/topmost-waiting.ts'
import type { Waited } from './behind/wait-behind.ts'
import { nearestAbove, type Above } from './causes/nearest-above.ts'
import { awaitChange } from './entering.ts'
import { joiningByOther, joiningByRequest, type Joining } from './joins/find-join.ts'
import type { LinkContext } from './link-context.ts'
import { mayJoin } from './may-join.ts'
import { sendOrWait } from './send-or-wait.ts'
import { forwardUnattributed } from './send-span.ts'

/** How many spans that name no request stand between two of one that do: filters. */
const MAX_NESTED = 16
const NOTHING = { cpid: undefined, origin: undefined, parentId: undefined, behindUntilMs: undefined }

interface Taken {
  readonly cpid: number
  readonly joined: boolean
}

/**
 * Finds the CPID of a span that carries none: its nearest ancestor's, once that has arrived, or that of what the span says it
 * belongs to. `waited` is as what it has waited for one of these.
 */
export function attribute(ctx: LinkContext, span: ArrivedSpan, waited?: Waited): void {
  // What comes after a parent that has a CPID need not wait for it; what came before goes after it.
  const above = waited === undefined ? knownOf(aboveOf(ctx, span)) : aboveOf(ctx, span)
  if (waitsForParent(ctx, span, above, waited?.waiting.behindUntilMs)) return
  attributeNow(ctx, span, knownOf(above), waited)
}

/** A span has waited for its parent as long as it may, and so have those that wait for the span. */
export function giveUp(ctx: LinkContext, row: number): void {
  const span = ctx.spans.span(row)
  if (span === undefined || span.cpid !== undefined || !ctx.waiting.remove(row)) return
  ctx.joins.stopAwaiting(row)
  const waiting = { ...NOTHING, arrival: row, kind: 'join' } as const
  attributeNow(ctx, span, knownOf(aboveOf(ctx, span)), { waiting, dueMs: ctx.clock.activeMs })
}

function aboveOf(ctx: LinkContext, span: ArrivedSpan): Above {
  return span.malformed ? 'none' : nearestAbove(ctx, span)
}

/** What is known when nothing above is waited for: a parent that waits may have a CPID. */
function knownOf(above: Above): Above {
  const parent = above !== 'none' && above.kind === 'awaited' ? above.parent : undefined
  return parent?.cpid === undefined ? above : { kind: 'cpid', cpid: parent.cpid, joined: parent.joined }
}

function attributeNow(ctx: LinkContext, span: ArrivedSpan, above: Above, waited: Waited | undefined): void {
  if (span.names !== 0 && !span.malformed && joins(ctx, span, above, waited)) return
  if (above !== 'none' && above.kind === 'cpid' && mayJoin(ctx, span, above.cpid))
    takeCpid(ctx, span, above, waited?.dueMs)
  else {
    if (above !== 'none' && above.kind === 'awaited')
      ctx.parents.add(span.origin, above.parentId, AWAITED_AFTER_FORWARD, undefined, true)
    forwardUnattributed(ctx, span)
  }
}

/** `dueMs` is until when the span has waited for it, where it has. */
function takeCpid(ctx: LinkContext, span: ArrivedSpan, { cpid, joined }: Taken, dueMs?: number): void {
  ctx.spans.inheritCpid(span, cpid, joined)
  awaitChange(ctx, span, cpid)
  sendOrWait(ctx, span, cpid, dueMs)
}

/**
 * A parent that has not come is waited for until it has been missed for `wait`. One that is there is waited for as long as it
 * waits itself, and at most twice `wait` in all: then the topmost span that waits above goes, and those below follow it.
 */
function waitsForParent(
  ctx: LinkContext,
  span: ArrivedSpan,
  above: Above,
  behindUntilMs: number | undefined,
): boolean {
  if (above === 'none' || above.kind === 'cpid') return false
  const { parents, clock, settings, waiting, steps } = ctx
  const { origin } = span
  const { parentId, row } = above
  const sinceMs = (row === undefined ? parents.since(origin, parentId) : undefined) ?? clock.activeMs
  const mostMs = behindUntilMs ?? sinceMs + 2 * settings.waitMs
  const until = row === undefined ? Math.min(sinceMs + settings.waitMs, mostMs) : mostMs
  if (until <= clock.activeMs) {
    const top = topmostWaiting(ctx, span)
    if (top.row === span.row) return false
    steps.push({ kind: 'given up', row: top.row })
  }
  parents.add(origin, parentId, AWAITED_FOR_CPID, undefined, true)
  const orphan = { arrival: span.row, kind: 'orphan', cpid: undefined, origin, parentId } as const
  waiting.add({ ...orphan, behindUntilMs: mostMs }, until)
  return true
}

/**
 * Joins what the span says it belongs to, or waits for that, once its parent is no longer waited for; false where there is
 * nothing of it. What is below a span that has joined goes with it.
 */
function joins(ctx: LinkContext, span: ArrivedSpan, above: Above, waited: Waited | undefined): boolean {
  const hasCpid = above !== 'none' && above.kind === 'cpid'
  if (hasCpid && above.joined) return false
  const { activeMs } = ctx.clock
  // It has been waited for the parent as long as for anything, and what a request's span did not find is not there for those below it.
  const mayWait = hasCpid || (above === 'none' && !isBelowRequest(ctx, span))
  const dueMs = waited?.waiting.kind === 'join' ? waited.dueMs : undefined
  const until = mayWait ? (dueMs ?? activeMs + ctx.settings.waitMs) : activeMs
  if (take(ctx, span, joiningByRequest(ctx, span), until)) return true
  // A request's span may go on with its caller's trace; what else has a parent belongs there.
  return !hasCpid && take(ctx, span, joiningByOther(ctx, span), span.parentId === 0n ? until : activeMs)
}

function isBelowRequest({ spans }: LinkContext, span: ArrivedSpan): boolean {
  let at: ArrivedSpan | undefined = span
  for (let depth = 0; depth < MAX_NESTED && at?.parentRow !== undefined; depth++) {
    at = spans.span(at.parentRow)
    if (at !== undefined && (at.names & SPAN_NAMES_REQUEST) !== 0) return true
  }
  return false
}

function take(ctx: LinkContext, span: ArrivedSpan, joining: Joining | undefined, until: number): boolean {
  if (joining?.kind === 'found') {
    ctx.joins.add(span, joining.target.row)
    takeCpid(ctx, span, { cpid: joining.cpid, joined: true })
    return true
  }
  if (joining === undefined || until <= ctx.clock.activeMs) return false
  ctx.joins.await(span.row, joining.keys)
  ctx.waiting.add({ arrival: span.row, kind: 'join', ...NOTHING }, until)
  return true
}
