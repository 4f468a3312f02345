import type { CascadeObservation } from '../model/cascade-figures.ts'
import type { MergeGraph } from '../model/ports/graph-port.ts'
import type { ArrivedLog, LogLinkStore } from '../model/ports/log-port.ts'
import { noLinkCounts, type LinkCounts } from '../model/link-counts.ts'
import {
  AWAITED_AFTER_FORWARD,
  AWAITED_FOR_CPID,
  type ArrivedSpan,
  type LinkEvent,
  type LinkStore,
  type Waiting,
} from '../model/ports/link-port.ts'
import { enterChange } from './changes/enter-change.ts'
import { enterOwnTrace } from './traces/enter-own-trace.ts'
import type { LinkContext, LinkSettings } from './link-context.ts'
import { LogLinker } from './log-linker.ts'
import { forwardUnattributed, sendSpan } from './send-span.ts'
import { nearestAbove } from './causes/nearest-above.ts'
import { settleDue } from './traces/settling.ts'
import { waitsForWriters } from './causes/causes.ts'
import { waitsUntil } from './causes/waits.ts'

export const EXPIRY_STAGES = ['waiting', 'waitingLogs', 'settling'] as const
export type ExpiryStage = (typeof EXPIRY_STAGES)[number]

/**
 * Decides, once and in ingest order, where every span goes (design §4). Each call belongs inside one transaction of
 * the store; what it decides rests on what the same transaction writes.
 */
export class Linker {
  readonly #ctx: LinkContext
  readonly #logStore: LogLinkStore
  /** Undefined where nobody sends log records on. */
  readonly #logs: LogLinker | undefined

  constructor(store: LinkStore, logs: LogLinkStore, graph: MergeGraph, settings: LinkSettings) {
    const known = {
      roots: new Map<number, readonly number[]>(),
      until: new Map<number, number>(),
      plausible: undefined,
    }
    this.#ctx = { store, graph, settings, known, counts: noLinkCounts(), observations: [], todo: [] }
    this.#logStore = logs
    if (!settings.logs) return
    const linker = new LogLinker(this.#ctx, logs, (cpid) => this.#waitsUntil(cpid))
    this.#ctx.spanLeft = (span) => linker.spanLeft(span)
    this.#logs = linker
  }

  /** Links at most `limit` events; returns how many there were. */
  link(limit: number): number {
    this.#forget()
    const { store } = this.#ctx
    const events = store.nextEvents(limit)
    for (const event of events) {
      store.linkedUpTo(event.arrival)
      this.#hear(event)
      this.#finish()
    }
    if (events.length < limit) store.linkedAll()
    return events.length
  }

  /** Lets go what has waited long enough and settles what is due, at most `limit` of each; true when more may be due. */
  expire(limit: number): boolean {
    const more = EXPIRY_STAGES.map((stage) => this.expireOnly(stage, limit))
    return more.includes(true)
  }

  /** One part of that. */
  expireOnly(stage: ExpiryStage, limit: number): boolean {
    this.#forget()
    const more = this.#expire(stage, limit)
    this.#finish()
    return more
  }

  /** Gives back what undoes the counts and observations of work that is rolled back. */
  checkpoint(): () => void {
    const { observations } = this.#ctx
    const counts = { ...this.#ctx.counts }
    const seen = observations.length
    return () => {
      this.#ctx.counts = counts
      observations.length = Math.min(observations.length, seen)
    }
  }

  /** What has been done since the last call. */
  takeCounts(): LinkCounts {
    const { counts } = this.#ctx
    this.#ctx.counts = noLinkCounts()
    return counts
  }

  /** What there is to measure since the last call. */
  takeObservations(): CascadeObservation[] {
    return this.#ctx.observations.splice(0)
  }

  #expire(stage: ExpiryStage, limit: number): boolean {
    switch (stage) {
      case 'waiting': {
        const due = this.#ctx.store.dueWaiting(limit)
        for (const waiting of due) {
          this.#lookAgain(waiting)
          this.#finish()
        }
        return due.length === limit
      }
      case 'waitingLogs':
        return this.#logs?.expire(limit) ?? false
      case 'settling':
        return settleDue(this.#ctx, limit)
    }
  }

  /** Does what the last decision led to, and what that leads to. */
  #finish(): void {
    const { todo } = this.#ctx
    for (let at = 0; at < todo.length; at++) todo[at]?.()
    todo.length = 0
  }

  #hear(event: LinkEvent): void {
    const { store, counts } = this.#ctx
    switch (event.kind) {
      case 'span':
        this.#hearSpan(event.span)
        return
      case 'mergelog': {
        if (this.#isPruned(event.cpid)) return
        if (store.tracesOfRoot(event.cpid).some((trace) => trace.provisional && trace.rootSent))
          counts.lateMergelogs++
        const until = this.#waitsUntil(event.cpid)
        if (until === undefined) this.#enter(event.cpid)
        else this.#waitToEnter(event.arrival, event.cpid, until)
        this.#release(event.cpid, until === undefined)
        return
      }
      case 'explained':
        if (!this.#isPruned(event.cpid)) this.#release(event.cpid, false)
        return
      case 'log':
        this.#hearLog(event.log)
        return
    }
  }

  #hearSpan(span: ArrivedSpan): void {
    const { store, counts, settings } = this.#ctx
    if (span.repeated) {
      store.removeRepeated(span)
      counts.duplicateSpans++
      return
    }
    if (span.cpid === undefined) {
      this.#attribute(span)
      return
    }
    if (settings.mode === 'links') this.#awaitChange(span, span.cpid)
    this.#sendOrWait(span, span.cpid)
  }

  #hearLog(log: ArrivedLog): void {
    if (log.repeated) {
      this.#logStore.removeRepeated(log.row)
      this.#ctx.counts.duplicateLogs++
    } else this.#logs?.hear(log)
  }

  #sendOrWait(span: ArrivedSpan, cpid: number): void {
    const { store, settings } = this.#ctx
    const waiting = { arrival: span.row, cpid, origin: undefined, parentId: undefined }
    // Asked first, so that what is missing counts as missed from now on.
    const written = waitsForWriters(this.#ctx, span)
    const explained = settings.mode === 'links' ? undefined : this.#waitsUntil(cpid)
    if (explained !== undefined) {
      store.wait({ ...waiting, kind: 'span' }, explained)
      return
    }
    if (written === undefined) this.#send(span, cpid)
    else store.wait({ ...waiting, kind: 'cause' }, written)
  }

  /** Finds the CPID of a span that carries none: its nearest ancestor's, once that has arrived. */
  #attribute(span: ArrivedSpan): void {
    const { store } = this.#ctx
    const above = span.malformed ? 'none' : nearestAbove(store, span)
    if (above === 'none') forwardUnattributed(this.#ctx, span)
    else if (above.kind === 'cpid') {
      store.inheritCpid(span, above.cpid)
      this.#hearSpan(span)
    } else this.#awaitParent(span, above.parentId)
  }

  #awaitParent(span: ArrivedSpan, parentId: bigint): void {
    const { store, settings } = this.#ctx
    const { origin } = span
    const until = (store.awaitedSince(origin, parentId) ?? store.activeMs) + settings.waitMs
    if (until > store.activeMs) {
      store.awaitParent(origin, parentId, AWAITED_FOR_CPID, undefined)
      store.wait({ arrival: span.row, kind: 'orphan', cpid: undefined, origin, parentId }, until)
    } else {
      store.awaitParent(origin, parentId, AWAITED_AFTER_FORWARD, undefined)
      forwardUnattributed(this.#ctx, span)
    }
  }

  /** Everything that waited for this CPID looks again; its change no more once it has entered. */
  #release(cpid: number, hasEntered: boolean): void {
    if (this.#waitsUntil(cpid) !== undefined) return
    const { store } = this.#ctx
    for (const waiting of store.waitingForCpid(cpid)) {
      if (hasEntered && waiting.kind === 'change') store.stopWaiting(waiting.arrival)
      else this.#lookAgain(waiting)
    }
    this.#logs?.release(cpid)
  }

  #waitToEnter(arrival: number, cpid: number, until: number): void {
    const { store } = this.#ctx
    if (store.waitingForCpid(cpid).some((waiting) => waiting.kind === 'change')) return
    store.wait({ arrival, kind: 'change', cpid, origin: undefined, parentId: undefined }, until)
  }

  #lookAgain(waiting: Waiting): void {
    const { store } = this.#ctx
    // One looked at before in this round may have let it go already.
    if (!store.stopWaiting(waiting.arrival)) return
    if (waiting.kind === 'orphan') {
      const span = store.span(waiting.arrival)
      if (span !== undefined) this.#attribute(span)
      return
    }
    const { cpid } = waiting
    if (cpid === undefined) return
    const until = this.#waitsUntil(cpid)
    if (until !== undefined) store.wait(waiting, until)
    else if (waiting.kind === 'change') {
      // A mergelog that is stored but not heard of yet enters the change itself.
      const mergelog = store.mergelog(cpid)
      if (mergelog === undefined || store.isLinked(mergelog.arrival)) this.#enter(cpid)
    } else {
      const span = store.span(waiting.arrival)
      if (span === undefined) return
      if (waiting.kind === 'cause') this.#send(span, cpid)
      else this.#sendOrWait(span, cpid)
    }
  }

  #enter(cpid: number): void {
    if (this.#ctx.settings.mode === 'cascade') enterChange(this.#ctx, cpid)
    else enterOwnTrace(this.#ctx, cpid)
  }

  /** In links mode a CPID seen first on a span has its change span sent after the wait, mergelog or not. */
  #awaitChange(span: ArrivedSpan, cpid: number): void {
    if (!this.#lacksChange(cpid)) return
    const until = this.#waitsUntil(cpid)
    if (until === undefined) this.#enter(cpid)
    else this.#waitToEnter(span.row, cpid, until)
  }

  #send(span: ArrivedSpan, cpid: number): void {
    if (this.#ctx.settings.mode === 'passthrough' && this.#lacksChange(cpid)) this.#enter(cpid)
    sendSpan(this.#ctx, span, cpid)
  }

  #lacksChange(cpid: number): boolean {
    const { store, graph } = this.#ctx
    return !graph.node(cpid).hasMergelog && store.newestChangeSpans(cpid, 1).length === 0
  }

  /** Pruned between arriving and being linked, as `max_bytes` may force it; its tombstone may be gone as well. */
  #isPruned(cpid: number): boolean {
    return this.#ctx.graph.maybeNode(cpid)?.pruned !== false
  }

  #waitsUntil(cpid: number): number | undefined {
    return waitsUntil(this.#ctx, cpid)
  }

  #forget(): void {
    this.#ctx.known.roots.clear()
    this.#ctx.known.until.clear()
    this.#ctx.known.plausible = undefined
    // What a call that threw left undone was rolled back with it.
    this.#ctx.todo.length = 0
  }
}
