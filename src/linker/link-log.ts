import type { ArrivedLog, ArrivedSpan, Trace } from '../model/linking-ports.ts'
import type { CpidNode } from '../model/merge-graph.ts'
import type { LinkContext } from './link-context.ts'
import { firstEpisodeOf, keepsRootOpen, listedRoots } from './open-traces.ts'
import { traceIdOf } from './synthetic-spans.ts'
import { waitsUntil } from './waiting.ts'

/** The span that a log record names: not arrived, arrived but not sent yet, or sent. */
type SpanState = { kind: 'none' | 'missing' | 'waiting' } | { kind: 'sent'; span: ArrivedSpan }

export function handleLog(ctx: LinkContext, log: ArrivedLog): void {
  if (log.repeated) {
    ctx.logs.removeRepeated(log.row)
    ctx.counts.duplicateLogs++
  } else if (ctx.settings.logs) linkLog(ctx, log)
}

export function lookAtLogAgain(ctx: LinkContext, row: number): void {
  if (!ctx.logs.stopWaiting(row)) return
  const log = ctx.logs.log(row)
  if (log !== undefined) linkLog(ctx, log)
}

/**
 * Decides with which trace id a log record is sent, once and in ingest order (ADR-010). Log records do not open a trace or keep
 * one open, and each is sent once, whatever comes later.
 */
function linkLog(ctx: LinkContext, log: ArrivedLog): void {
  const { settings, graph, clock } = ctx
  const { cpid } = log
  if (cpid === undefined) {
    inherit(ctx, log)
    return
  }
  if (settings.mode === 'passthrough' || graph.maybeNode(cpid) === undefined) {
    sendAsItCame(ctx, log)
    return
  }
  // First, so that a missing span counts as missing from now on.
  const state = spanOf(ctx, log)
  const until = waitsForSpan(ctx, log, state)
  const explained = settings.mode === 'cascade' ? waitsUntil(ctx, cpid) : undefined
  if (explained !== undefined) ctx.logs.wait(log, 'cpid', explained)
  else if (until > clock.activeMs) ctx.logs.wait(log, 'span', until)
  else send(ctx, log, cpid, state)
}

/** A record without a CPID takes that of its span. */
function inherit(ctx: LinkContext, log: ArrivedLog): void {
  const state = log.malformed ? ({ kind: 'none' } as const) : spanOf(ctx, log)
  const until = waitsForSpan(ctx, log, state)
  if (until > ctx.clock.activeMs) ctx.logs.wait(log, 'span', until)
  else if (state.kind !== 'sent' || state.span.cpid === undefined) sendAsItCame(ctx, log)
  else send(ctx, log, state.span.cpid, state)
}

function spanOf(
  { spans, events, waiting }: Pick<LinkContext, 'spans' | 'events' | 'waiting'>,
  { traceId, spanId }: ArrivedLog,
): SpanState {
  if (traceId === undefined || spanId === 0n) return { kind: 'none' }
  const row = spans.find(traceId, spanId)
  if (row === undefined || !events.isLinked(row)) return { kind: 'missing' }
  if (waiting.hasSpan(row)) return { kind: 'waiting' }
  const span = spans.span(row)
  return span === undefined ? { kind: 'missing' } : { kind: 'sent', span }
}

/** Until when a record waits for its span, in up time; in the past if it need not wait. */
function waitsForSpan(
  { logs, clock, settings }: LinkContext,
  { traceId, spanId }: ArrivedLog,
  state: SpanState,
): number {
  if (traceId === undefined) return 0
  if (state.kind === 'missing') return logs.spanMissedSince(traceId, spanId) + settings.waitMs
  // A span that waits has a limit of its own.
  return state.kind === 'waiting' ? clock.activeMs + Math.max(1, settings.waitMs) : 0
}

function send(ctx: LinkContext, log: ArrivedLog, cpid: number, state: SpanState): void {
  const { logs, settings, counts } = ctx
  const inherited = log.cpid === undefined ? cpid : undefined
  counts.logs++
  if (settings.mode === 'passthrough') {
    logs.send({ log: log.row, traceId: undefined, withoutSpanId: false, inherited })
    return
  }
  const { traceId, holdsSpan } = placeOf(ctx, cpid, state)
  const isThere = log.traceId !== undefined && traceId.equals(log.traceId)
  logs.send({
    log: log.row,
    traceId: isThere ? undefined : traceId,
    withoutSpanId: !holdsSpan && !isThere,
    inherited,
  })
}

function sendAsItCame({ logs, counts }: LinkContext, log: ArrivedLog): void {
  counts.logs++
  if (log.cpid === undefined) counts.unattributedLogs++
  logs.send({ log: log.row, traceId: undefined, withoutSpanId: false, inherited: undefined })
}

/**
 * The trace of the newest root that drives it, as for spans. For a record with its span's CPID: the trace that holds the span,
 * not a copy. Otherwise the trace into which a span of the CPID would go now; a span that has not arrived is expected there.
 */
function placeOf(ctx: LinkContext, cpid: number, state: SpanState): { traceId: Buffer; holdsSpan: boolean } {
  const roots = listedRoots(ctx, cpid)
  const spanTraces = state.kind === 'sent' ? tracesOf(ctx, state.span) : []
  if (state.kind === 'sent' && state.span.cpid === cpid) {
    const driven = new Set(ctx.outbox.tracesDriven(state.span.row))
    for (const root of roots) {
      const trace = spanTraces.findLast((one) => one.root === root.id && driven.has(one.id))
      if (trace !== undefined) return { traceId: trace.traceId, holdsSpan: true }
    }
    const last = spanTraces.at(-1)
    if (last !== undefined) return { traceId: last.traceId, holdsSpan: true }
  }
  const current = roots.map((root) => ctx.traces.currentOf(root.id))
  const trace = current.find(keepsRootOpen) ?? current[0]
  const newest = roots[0] ?? ctx.graph.node(cpid)
  return {
    // Without an open trace: the id that it will have, or had last.
    traceId: trace?.traceId ?? traceIdOf(newest.cpid, episodeWithoutTrace(ctx, newest)),
    holdsSpan: state.kind === 'missing' || spanTraces.some((one) => one.id === trace?.id),
  }
}

/** The root's last episode, or else its first. */
function episodeWithoutTrace(ctx: LinkContext, root: CpidNode): number {
  return root.nextEpisode > 0 ? root.nextEpisode - 1 : firstEpisodeOf(ctx, root)
}

/** The traces into which a span was sent, oldest first. */
function tracesOf({ outbox, traces }: Pick<LinkContext, 'outbox' | 'traces'>, { row }: ArrivedSpan): Trace[] {
  return outbox
    .tracesOfSpan(row)
    .sort((a, b) => a - b)
    .flatMap((id) => traces.trace(id) ?? [])
}
