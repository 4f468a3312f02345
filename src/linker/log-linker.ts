import type { ArrivedSpan, Trace } from '../model/ports/link-port.ts'
import type { ArrivedLog, LogLinkStore } from '../model/ports/log-port.ts'
import { traceIdOf } from './changes/derived-ids.ts'
import type { LinkContext } from './link-context.ts'
import { keepsRootOpen, listedRoots } from './traces/trace-openings.ts'

/** The span a log record names: not arrived, arrived but not sent yet, or sent. */
type SpanState = { kind: 'none' | 'missing' | 'waiting' } | { kind: 'sent'; span: ArrivedSpan }

/**
 * Decides, once and in ingest order, with which trace id each log record goes on (ADR-010). Log records open no trace
 * and keep none open, and each is sent once, whatever comes later.
 */
export class LogLinker {
  readonly #ctx: LinkContext
  readonly #logs: LogLinkStore
  readonly #waitsUntil: (cpid: number) => number | undefined

  /** `waitsUntil` says how long what carries a CPID waits for it to be explained. */
  constructor(ctx: LinkContext, logs: LogLinkStore, waitsUntil: (cpid: number) => number | undefined) {
    this.#ctx = ctx
    this.#logs = logs
    this.#waitsUntil = waitsUntil
  }

  hear(log: ArrivedLog): void {
    const { store, settings, graph } = this.#ctx
    const { cpid } = log
    if (cpid === undefined) {
      this.#inherit(log)
      return
    }
    if (settings.mode === 'passthrough' || graph.maybeNode(cpid) === undefined) {
      this.#sendAsItCame(log)
      return
    }
    const explained = settings.mode === 'cascade' ? this.#waitsUntil(cpid) : undefined
    if (explained !== undefined) {
      this.#logs.wait(log, 'cpid', explained)
      return
    }
    const state = this.#spanOf(log)
    const until = this.#waitsForSpan(log, state)
    if (until > store.activeMs) this.#logs.wait(log, 'span', until)
    else this.#send(log, cpid, state)
  }

  /** The span has gone where it goes; log records that waited for it follow. */
  spanLeft(span: ArrivedSpan): void {
    for (const row of this.#logs.waitingForSpan(span)) this.#ctx.todo.push(() => this.#lookAgain(row))
  }

  /** The CPID waits for nothing more. */
  release(cpid: number): void {
    for (const row of this.#logs.waitingForCpid(cpid)) this.#lookAgain(row)
  }

  /** Looks again at what has waited long enough, at most `limit`; true when more may be due. */
  expire(limit: number): boolean {
    const due = this.#logs.due(limit)
    for (const row of due) this.#lookAgain(row)
    return due.length === limit
  }

  #lookAgain(row: number): void {
    if (!this.#logs.stopWaiting(row)) return
    const log = this.#logs.log(row)
    if (log !== undefined) this.hear(log)
  }

  /** A record without a CPID takes that of its span. */
  #inherit(log: ArrivedLog): void {
    const state = log.malformed ? ({ kind: 'none' } as const) : this.#spanOf(log)
    const until = this.#waitsForSpan(log, state)
    if (until > this.#ctx.store.activeMs) this.#logs.wait(log, 'span', until)
    else if (state.kind !== 'sent' || state.span.cpid === undefined) this.#sendAsItCame(log)
    else this.#send(log, state.span.cpid, state)
  }

  #spanOf({ traceId, spanId }: ArrivedLog): SpanState {
    const { store } = this.#ctx
    if (traceId === undefined || spanId === 0n) return { kind: 'none' }
    const row = store.findSpan(traceId, spanId)
    if (row === undefined || !store.isLinked(row)) return { kind: 'missing' }
    if (store.isWaiting(row)) return { kind: 'waiting' }
    const span = store.span(row)
    return span === undefined ? { kind: 'missing' } : { kind: 'sent', span }
  }

  /** Until when, in up time; a moment that has passed when there is nothing to wait for. */
  #waitsForSpan({ traceId, spanId }: ArrivedLog, state: SpanState): number {
    const { store, settings } = this.#ctx
    if (traceId === undefined) return 0
    if (state.kind === 'missing') return this.#logs.spanMissedSince(traceId, spanId) + settings.waitMs
    // What a span waits for has a limit of its own.
    return state.kind === 'waiting' ? store.activeMs + Math.max(1, settings.waitMs) : 0
  }

  #send(log: ArrivedLog, cpid: number, state: SpanState): void {
    const { settings, counts } = this.#ctx
    const inherited = log.cpid === undefined ? cpid : undefined
    counts.logs++
    if (settings.mode === 'passthrough') {
      this.#logs.send({ log: log.row, traceId: undefined, withoutSpanId: false, inherited })
      return
    }
    const { traceId, holdsSpan } = this.#placeOf(cpid, state)
    const isThere = log.traceId !== undefined && traceId.equals(log.traceId)
    this.#logs.send({
      log: log.row,
      traceId: isThere ? undefined : traceId,
      withoutSpanId: !holdsSpan && !isThere,
      inherited,
    })
  }

  #sendAsItCame(log: ArrivedLog): void {
    const { counts } = this.#ctx
    counts.logs++
    if (log.cpid === undefined) counts.unattributedLogs++
    this.#logs.send({ log: log.row, traceId: undefined, withoutSpanId: false, inherited: undefined })
  }

  /**
   * The trace of the newest root, as for spans: for a record of its span's CPID the one that the span is in and is no
   * copy, else the one where a span of the CPID would go now. A span that has not arrived is expected there.
   */
  #placeOf(cpid: number, state: SpanState): { traceId: Buffer; holdsSpan: boolean } {
    const { store, graph } = this.#ctx
    const roots = listedRoots(this.#ctx, cpid)
    const spanTraces = state.kind === 'sent' ? this.#tracesOf(state.span) : []
    if (state.kind === 'sent' && state.span.cpid === cpid) {
      for (const root of roots) {
        const trace = spanTraces.findLast((one) => one.root === root.id)
        if (trace !== undefined) return { traceId: trace.traceId, holdsSpan: true }
      }
      const last = spanTraces.at(-1)
      if (last !== undefined) return { traceId: last.traceId, holdsSpan: true }
    }
    const current = roots.map((root) => store.currentTrace(root.id))
    const trace = current.find(keepsRootOpen) ?? current[0]
    const newest = roots[0] ?? graph.node(cpid)
    return {
      // Without a trace yet, or any more, the id that it will have, or had last.
      traceId: trace?.traceId ?? traceIdOf(newest.cpid, Math.max(0, newest.nextEpisode - 1)),
      holdsSpan: state.kind === 'missing' || spanTraces.some((one) => one.id === trace?.id),
    }
  }

  /** The traces a span was sent into, oldest first. */
  #tracesOf(span: ArrivedSpan): Trace[] {
    const { store } = this.#ctx
    return store
      .tracesOfSpan(span.row)
      .sort((a, b) => a - b)
      .flatMap((id) => store.trace(id) ?? [])
  }
}
