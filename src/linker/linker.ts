import { Ancestry } from '../graph/ancestry.ts'
import {
  type CascadeObservation,
  type LinkCounts,
  type LinkerSettings,
  noLinkCounts,
} from '../model/linker-settings-and-metrics.ts'
import type { LinkPorts, ReleasedStep, Waiting } from '../model/linking-ports.ts'
import type { MergeGraph } from '../model/merge-graph.ts'
import { attributeSpan, giveUp } from './attribute-span.ts'
import { awaitChange, placeChange, waitToEnter } from './enter-change.ts'
import type { LinkContext, MayGoOn, Step } from './link-context.ts'
import { handleLog, lookAtLogAgain } from './link-log.ts'
import { moveSpans } from './move-spans.ts'
import { settleDue } from './open-traces.ts'
import { sendChild, sendObserver, sendOrWait, sendOrWaitOn } from './send-span.ts'
import { waitsForReporter, waitsUntil } from './waiting.ts'

/*
 * The steps of a span from the store to the outbox:
 *
 * 1. Arrivals have one number each: spans, log records and news of the merge graph alike. `link` takes the next of them
 *    (`events`), moves the linker's position past each, and makes it the first step in the queue. `take` below is the one place
 *    that says which code does which step. Steps add steps, and all are taken before the next arrival: those for which a call
 *    has no time are kept (`unfinished`), and the next call begins with them.
 * 2. attribute-span.ts. A span that was sent before is dropped. One without a CPID looks for that of its nearest ancestor; if that
 *    one has not arrived, or waits itself, the span waits for its parent. If the parent does not arrive within
 *    `wait`, the span is sent in its original trace unchanged. A parent that waits itself is waited for until it is sent, at most
 *    twice `wait`: then the topmost waiting span gives up, and the others follow it. A span that names a request, a Pod or a link
 *    joins that, and waits for it as long.
 * 3. waiting.ts. With a CPID it waits (`waiting`) until all mergelogs above have arrived or have been missed for `wait`, and until
 *    the writers of what it observed have been sent.
 * 4. send-span.ts. open-traces.ts says which traces it goes into: those of its CPID's roots, opened where there is none, divided
 *    where one is full (trace-room.ts). place-span.ts finds its parent there (its own, its cause by causes.ts, or the change span
 *    of its CPID, which change-spans.ts makes) and writes the decision to `outbox`.
 * 5. What waited for it becomes steps: children that take its CPID or parent, spans that observed what it wrote, log records
 *    of it. Children that were sent before it are followed by it (`parents`).
 *
 * Spans that wait also move when a mergelog has arrived, when a CPID is explained, and when their time is up (waiting.ts,
 * enter-change.ts). A mergelog enters its change into the traces (enter-change.ts), a late one with all that was sent already.
 * Log records take a shorter way: link-log.ts.
 */

/**
 * Decides where every span goes, once and in ingest order (docs/linking.md). Each call runs inside one transaction, which also
 * stores the state that the decisions rest on.
 */
export class Linker {
  readonly #ctx: LinkContext

  constructor(ports: LinkPorts, graph: MergeGraph, settings: LinkerSettings) {
    const ancestry = new Ancestry(graph, settings)
    const round = { plausible: undefined, mayGoOn: always }
    const queue = { steps: [], first: [], movedInto: new Map(), moving: undefined }
    const begun = { ...round, counts: noLinkCounts(), observations: [], ...queue }
    this.#ctx = { ...ports, graph, settings, ancestry, ...begun }
  }

  /**
   * Links at most `limit` events, fewer if they cost much or `mayGoOn` says no after the first; returns how many. Before the next
   * event it takes the steps that are left of the one before, at most `limit` of them in a call of their own.
   */
  link(limit: number, mayGoOn: MayGoOn = always): number {
    this.#beginRound(mayGoOn)
    const { events, steps, ancestry, unfinished } = this.#ctx
    if (unfinished.areAny) return takeUnfinished(this.#ctx, limit)
    const next = events.next(limit)
    let linked = 0
    for (const event of next) {
      if (linked > 0 && (ancestry.isSpent || !mayGoOn())) return linked
      linked++
      events.moveTo(event.arrival)
      steps.push(event)
      if (!takeSteps(this.#ctx, limit)) return linked
    }
    if (next.length < limit) events.moveToEnd()
    return next.length
  }

  /**
   * Expires what has waited long enough and settles what is due, at most `limit` of each, fewer if `mayGoOn` says no; true when
   * more may be due.
   */
  expire(limit: number, mayGoOn: MayGoOn = always): boolean {
    const ctx = this.#ctx
    this.#beginRound(mayGoOn)
    if (ctx.unfinished.areAny) takeUnfinished(ctx, limit)
    let isMore = false
    for (const stage of EXPIRY_STAGES) {
      // Only settling goes on meanwhile, since released steps may take long.
      if (stage !== 'settling' && ctx.unfinished.areAny) continue
      this.#beginRound(mayGoOn)
      isMore = lookAtDue(ctx, stage, limit) || isMore
    }
    return isMore || ctx.unfinished.areAny
  }

  /** One stage of `expire`. */
  expireOnly(stage: ExpiryStage, limit: number, mayGoOn: MayGoOn = always): boolean {
    this.#beginRound(mayGoOn)
    if (!this.#ctx.unfinished.areAny) return lookAtDue(this.#ctx, stage, limit)
    takeUnfinished(this.#ctx, limit)
    return true
  }

  /** Returns a function that restores the present counts and observations, for a rollback. */
  checkpoint(): () => void {
    const { observations } = this.#ctx
    const counts = { ...this.#ctx.counts }
    const seen = observations.length
    return () => {
      this.#ctx.counts = counts
      this.#ctx.movedInto.clear()
      this.#ctx.moving = undefined
      observations.length = Math.min(observations.length, seen)
    }
  }

  /** Counts since the last call. */
  takeCounts(): LinkCounts {
    const { counts } = this.#ctx
    this.#ctx.counts = noLinkCounts()
    return counts
  }

  /** Measurements since the last call. */
  takeObservations(): CascadeObservation[] {
    return this.#ctx.observations.splice(0)
  }

  #beginRound(mayGoOn: MayGoOn): void {
    this.#ctx.mayGoOn = mayGoOn
    this.#ctx.ancestry.beginRound(this.#ctx.clock.activeMs)
    this.#ctx.plausible = undefined
    // Steps left over from a call that threw were rolled back with it.
    this.#ctx.steps.length = 0
    this.#ctx.first.length = 0
  }
}

const always: MayGoOn = () => true

/** The most steps of one event that one call takes. */
const MOST_STEPS = 1_000

/**
 * Takes the steps in the queue, and those that they add; false if there was no time for all: the rest is unfinished. In a call for
 * one item it takes one, so that a poisoned one is alone.
 */
function takeSteps(ctx: LinkContext, limit: number): boolean {
  const { steps, unfinished } = ctx
  const most = limit === 1 ? 1 : MOST_STEPS
  for (let at = 0; at < steps.length; at++) {
    if (at > 0 && (at >= most || !ctx.mayGoOn())) {
      unfinished.add(steps.splice(at).filter(isReleased))
      break
    }
    const step = steps[at]
    if (step !== undefined) take(ctx, step)
    if (ctx.first.length > 0) steps.splice(at + 1, 0, ...ctx.first.splice(0))
  }
  steps.length = 0
  return !unfinished.areAny
}

/** Events are first steps only, and taken at once. */
function isReleased(step: Step): step is ReleasedStep {
  return !('arrival' in step)
}

/** Takes unfinished steps in their order, and puts those that they add behind the others; returns how many were taken. */
function takeUnfinished(ctx: LinkContext, limit: number): number {
  const { steps, unfinished } = ctx
  let taken = 0
  while (taken < limit && unfinished.areAny && (taken === 0 || ctx.mayGoOn())) {
    taken++
    const step = unfinished.take()
    if (step === undefined) continue
    take(ctx, step)
    unfinished.addFirst(ctx.first.splice(0))
    unfinished.add(steps.splice(0).filter(isReleased))
  }
  return taken
}

function take(ctx: LinkContext, step: Step): void {
  switch (step.kind) {
    case 'span':
      if (step.span.repeated) {
        ctx.spans.removeRepeated(step.span)
        ctx.counts.duplicateSpans++
      } else if (step.span.cpid === undefined) attributeSpan(ctx, step.span)
      else {
        awaitChange(ctx, step.span, step.span.cpid)
        sendOrWait(ctx, step.span, step.span.cpid)
      }
      return
    case 'mergelog':
      handleMergelog(ctx, step.arrival, step.cpid)
      return
    case 'explained':
      if (!isPruned(ctx, step.cpid)) release(ctx, step.cpid, false)
      return
    case 'log':
      handleLog(ctx, step.log)
      return
    case 'waited':
      lookAgain(ctx, step.waiting)
      return
    case 'observer':
      sendObserver(ctx, step.row)
      return
    case 'child':
      letChildGo(ctx, step.row, step.cpid, step.joined)
      return
    case 'given up':
      giveUp(ctx, step.row)
      return
    case 'waited log':
      lookAtLogAgain(ctx, step.row)
      return
    case 'moved':
      if (!isPruned(ctx, step.cpid)) moveSpans(ctx, step)
      return
  }
}

function letChildGo(ctx: LinkContext, row: number, cpid: number | undefined, joined: boolean): void {
  const child = ctx.waiting.remove(row) ? ctx.spans.span(row) : undefined
  if (child === undefined) return
  // It may have been pruned since its parent was sent.
  const known = cpid === undefined || isPruned(ctx, cpid) ? undefined : cpid
  if (child.names === 0) sendChild(ctx, child, known, joined)
  else attributeSpan(ctx, child)
}

function handleMergelog(ctx: LinkContext, arrival: number, cpid: number): void {
  if (isPruned(ctx, cpid)) return
  const begun = ctx.traces.ofRoot(cpid).filter((trace) => trace.provisional && trace.rootSent)
  if (begun.length > 0) ctx.counts.lateMergelogs++
  const object = begun.length > 0 ? ctx.mergelogs.find(cpid)?.object : undefined
  if (object !== undefined) for (const { cascade } of begun) ctx.objects.addNamespace(cascade, object)
  const until = waitsUntil(ctx, cpid)
  const reporter = until === undefined ? waitsForReporter(ctx, cpid) : undefined
  if (until !== undefined) waitToEnter(ctx, arrival, cpid, until)
  else if (reporter !== undefined) waitToEnter(ctx, arrival, cpid, reporter.until, reporter.spanId)
  else placeChange(ctx, cpid)
  release(ctx, cpid, until === undefined && reporter === undefined)
}

/**
 * True when the CPID was pruned between arriving and being linked, which `max_bytes` may force; its tombstone may be gone too.
 */
function isPruned({ graph }: LinkContext, cpid: number): boolean {
  return graph.maybeNode(cpid)?.pruned !== false
}

/** Rechecks everything that waited for this CPID, unless the CPID still waits; its change only if it has not entered yet. */
function release(ctx: LinkContext, cpid: number, hasEntered: boolean): void {
  if (waitsUntil(ctx, cpid) !== undefined) return
  for (const waiting of ctx.waiting.forCpid(cpid)) {
    if (hasEntered && waiting.kind === 'change') ctx.waiting.remove(waiting.arrival)
    else if (!isForSpan(waiting)) ctx.steps.push({ kind: 'waited', waiting })
  }
  if (!ctx.settings.logs) return
  for (const row of ctx.logs.waitingForCpid(cpid)) ctx.steps.push({ kind: 'waited log', row })
}

/** Spans that it waits for release it, not its CPID. */
function isForSpan({ kind, parentId }: Waiting): boolean {
  return kind === 'cause' || kind === 'parent' || (kind === 'change' && parentId !== undefined)
}

/** Sends a waiting item if it need not wait any more; otherwise it keeps waiting. */
function lookAgain(ctx: LinkContext, waiting: Waiting): void {
  const dueMs = ctx.waiting.untilOf(waiting.arrival)
  if (waiting.kind === 'join') ctx.joins.stopAwaiting(waiting.arrival)
  // An earlier step of this round may have released it already.
  if (dueMs === undefined) return
  if (waiting.kind === 'orphan' || waiting.kind === 'join') {
    ctx.waiting.remove(waiting.arrival)
    const span = ctx.spans.span(waiting.arrival)
    if (span !== undefined) attributeSpan(ctx, span, { waiting, dueMs })
    return
  }
  const { cpid } = waiting
  const until = cpid === undefined ? undefined : waitsUntil(ctx, cpid)
  // The span still counts as waiting meanwhile, so that it is not taken for a sent one and sent twice.
  if (cpid !== undefined && until === undefined && waiting.kind !== 'change') placeLateChange(ctx, cpid)
  if (ctx.first.length > 0) {
    ctx.first.push({ kind: 'waited', waiting })
    return
  }
  ctx.waiting.remove(waiting.arrival)
  if (cpid === undefined) return
  if (until !== undefined) ctx.waiting.add(waiting, until)
  else if (waiting.kind === 'change') {
    // A mergelog that is stored but not linked yet will enter the change itself.
    const mergelog = ctx.mergelogs.find(cpid)
    if (mergelog !== undefined && !ctx.events.isLinked(mergelog.arrival)) return
    const reporter = mergelog && waitsForReporter(ctx, cpid)
    if (reporter === undefined) placeChange(ctx, cpid)
    else ctx.waiting.add({ ...waiting, parentId: reporter.spanId }, reporter.until)
  } else {
    const span = ctx.spans.span(waiting.arrival)
    if (span === undefined) return
    if (waiting.kind === 'cause' || waiting.kind === 'parent')
      sendOrWaitOn(ctx, { waiting, dueMs }, span, cpid)
    else sendOrWait(ctx, span, cpid, dueMs)
  }
}

/**
 * A waiting change that had counted as a root is entered before the spans that waited with it, since it moves their parents.
 */
function placeLateChange(ctx: LinkContext, cpid: number): void {
  if (ctx.traces.currentOf(cpid)?.provisional !== true) return
  const change = ctx.waiting.changeOf(cpid)
  if (change !== undefined) lookAgain(ctx, change)
}

export const EXPIRY_STAGES = ['waiting', 'waitingLogs', 'settling'] as const
export type ExpiryStage = (typeof EXPIRY_STAGES)[number]

/** Checks what is due in one stage, at most `limit`; true when more may be due. */
function lookAtDue(ctx: LinkContext, stage: ExpiryStage, limit: number): boolean {
  if (stage === 'settling') return settleDue(ctx, limit)
  if (stage === 'waitingLogs' && !ctx.settings.logs) return false
  const due: Step[] =
    stage === 'waiting'
      ? ctx.waiting.due(limit).map((waiting) => ({ kind: 'waited', waiting }))
      : ctx.logs.due(limit).map((row) => ({ kind: 'waited log', row }))
  for (const [at, step] of due.entries()) {
    if (at > 0 && !ctx.mayGoOn()) return true
    ctx.steps.push(step)
    if (!takeSteps(ctx, limit)) return true
  }
  return due.length === limit
}
