import type { SentLog } from '../../../lab/harness/sinks/log-json.ts'
import { hexSpan, hexTrace } from '../otlp-requests.ts'
import { type SentSpan, traceOf } from '../sent-spans.ts'
import type { Delay, DrawnCascade, DrawnLog, DrawnMergelog, DrawnSpan } from './drawn-cascade.ts'
import type { Known } from './expected-places.ts'

/*
 * Where log records go, mergelogs among them (ADR-010), worked out from what was sent and from where its spans are:
 *
 * 1. Each goes once. Its CPID is its own, else that of its span. One without any goes as it came, and in mode `passthrough` all
 *    keep their ids.
 * 2. One of its span's CPID goes into the trace where its span is no copy; another one into that of a root of its CPID, in mode
 *    `links` into that of its CPID. Its span id stays if the span is there, or has not come.
 * 3. What comes half of `wait` late, or sooner, is as if it had come at once. A log record that came by then has left before the
 *    latecomers come, and stays where it went. For one that comes with them it is open what of them had come.
 */

/** A log record, or a mergelog that is one. */
interface Said {
  readonly what: string
  readonly trace: number | undefined
  readonly id: number | undefined
  readonly carries: string | undefined
  readonly delay: Delay
}

/** Where a log record goes: the trace, the span there that it names, its CPID, and the trace that it came with, if that is another. */
interface LogPlace {
  readonly trace: string
  readonly span: string
  readonly cpid: string | undefined
  readonly original: string | undefined
}

/** In which traces spans are. */
export class Held {
  readonly #traces = new Map<string, string[]>()
  readonly #uncopied = new Map<string, string>()

  constructor(sent: readonly SentSpan[]) {
    for (const { traceId, spanId, attributes } of sent) {
      this.#traces.set(spanId, [...(this.#traces.get(spanId) ?? []), traceId])
      if (attributes['cpid.copy'] !== true) this.#uncopied.set(spanId, traceId)
    }
  }

  isIn(trace: string, { id }: DrawnSpan): boolean {
    return this.tracesOf({ id }).includes(trace)
  }

  tracesOf({ id }: Pick<DrawnSpan, 'id'>): readonly string[] {
    return this.#traces.get(hexSpan(id)) ?? []
  }

  uncopied({ id }: DrawnSpan): string | undefined {
    return this.#uncopied.get(hexSpan(id))
  }
}

/** What was known, and what backends had, before the latecomers came and in the end. */
interface BeforeAndAfter {
  readonly before: Known
  readonly all: Known
  readonly heldBefore: Held
  readonly held: Held
}

export interface ExpectedLog {
  readonly what: string
  readonly isByTime: boolean
  /** Any of these. */
  readonly places: readonly string[]
}

/** Where each log record that came may have gone, as `sentPlace` says it. */
export function expectedLogs({ logs, mergelogs }: DrawnCascade, facts: BeforeAndAfter): ExpectedLog[] {
  const said = [...logs.map(saidIn), ...mergelogs.map(toldIn)].filter(({ delay }) => delay !== 'never')
  const missed = new Set(said.filter(isByTime).map(({ id }) => id))
  return said.map((log) => {
    const places =
      isByTime(log) || isSettled(log, facts)
        ? placesOf(log, facts.before, facts.heldBefore)
        : placesInBetween(log, facts, missed)
    return { what: log.what, isByTime: isByTime(log), places: places.map(described) }
  })
}

/** Log records that wait for nothing any more: where they name a span, it is one of those that `left`. */
export function readyLogs(
  { logs, mergelogs }: DrawnCascade,
  known: Known,
  left: ReadonlySet<string>,
): string[] {
  return [...logs.map(saidIn), ...mergelogs.map(toldIn)].flatMap(({ what, id, carries }) => {
    if (carries !== undefined && known.mode === 'passthrough') return what
    const isExplained = carries === undefined || known.mode !== 'cascade' || known.isExplained(carries)
    return isExplained && (id === undefined || left.has(hexSpan(id))) ? what : []
  })
}

const isByTime = ({ delay }: Said): boolean => delay === 'none' || delay === 'half'

const saidIn = ({ body, ...log }: DrawnLog): Said => ({ what: body, ...log })

const toldIn = ({ cpid, told, delay }: DrawnMergelog): Said => ({
  what: nameOf(cpid),
  trace: told?.trace,
  id: told?.id,
  carries: cpid,
  delay,
})

const nameOf = (cpid: string | undefined): string => `mergelog of ${cpid ?? 'nothing'}`

export function sentPlace({ what, traceId, spanId, attributes }: SentLog): { what: string; place: string } {
  const told = textOf(attributes['cpid.new'])
  return {
    what: what === 'cpid.mergelog' ? nameOf(told) : what,
    place: described({
      trace: traceId,
      span: spanId,
      cpid: told ?? textOf(attributes['cpid.id']),
      original: textOf(attributes['cpid.original_trace_id']),
    }),
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

function described({ trace, span, cpid, original }: LogPlace): string {
  return `${span || 'no span'} in ${trace || 'no trace'}, of ${cpid ?? 'no CPID'}, from ${original ?? 'there'}`
}

function placesOf(log: Said, known: Known, held: Held): LogPlace[] {
  const span = log.id === undefined ? undefined : known.spans.get(log.id)
  const ofSpan = span && known.cpidOf(span)
  const cpid = log.carries ?? ofSpan
  if (cpid === undefined || known.mode === 'passthrough') return [asItCame(log, cpid)]
  const uncopied = span !== undefined && ofSpan === cpid ? held.uncopied(span) : undefined
  const traces = uncopied === undefined ? tracesOf(known, cpid) : [uncopied]
  return traces.map((trace) => placeIn(trace, log, cpid, span === undefined || held.isIn(trace, span)))
}

function tracesOf(known: Known, cpid: string): string[] {
  return known.mode === 'links' ? [traceOf(cpid)] : [...known.rootsOf(cpid)].map(traceOf)
}

function asItCame({ trace, id }: Said, cpid: string | undefined): LogPlace {
  return {
    trace: trace === undefined ? '' : hexTrace(trace),
    span: id === undefined ? '' : hexSpan(id),
    cpid,
    original: undefined,
  }
}

function placeIn(trace: string, { trace: from, id }: Said, cpid: string, namesSpan: boolean): LogPlace {
  return {
    trace,
    span: id === undefined || !namesSpan ? '' : hexSpan(id),
    cpid,
    original: from === undefined ? undefined : hexTrace(from),
  }
}

/** Nothing that came late has to do with it. */
function isSettled({ id, carries }: Said, { before, all }: BeforeAndAfter): boolean {
  const span = id === undefined ? undefined : all.spans.get(id)
  const ofSpan = span && all.cpidOf(span)
  if (span !== undefined && (!before.spans.has(span.id) || before.cpidOf(span) !== ofSpan)) return false
  return [carries, ofSpan].every((cpid) => cpid === undefined || all.isAsBefore(cpid, before))
}

/** `missed`: the spans that log records which came by time name. Who has missed one does not wait for it again. */
function placesInBetween(
  log: Said,
  { before, all, heldBefore, held }: BeforeAndAfter,
  missed: ReadonlySet<number | undefined>,
): LogPlace[] {
  const span = log.id === undefined ? undefined : all.spans.get(log.id)
  const isLate = span !== undefined && !before.spans.has(span.id)
  const mayMiss = span === undefined || (isLate && missed.has(span.id))
  const ofSpan = span && all.cpidOf(span)
  const mayLackCpid = mayMiss || !heldSince(span, before, all)
  const cpids = new Set(log.carries === undefined ? [ofSpan] : [log.carries])
  if (log.carries === undefined && mayLackCpid) cpids.add(undefined)
  return [...cpids].flatMap((cpid) => {
    if (cpid === undefined || all.mode === 'passthrough') return [asItCame(log, cpid)]
    const ofRoots = (all.mode === 'links' ? [cpid] : all.rootsInBetween(cpid, before)).map(traceOf)
    const ofOwn = span !== undefined && ofSpan === cpid ? held.tracesOf(span) : []
    const isWithSpan = ofOwn.length > 0 && !mayLackCpid
    return [...new Set(isWithSpan ? ofOwn : [...ofRoots, ...ofOwn])].flatMap((trace) => {
      const named = mayMiss || held.isIn(trace, span)
      const unnamed = span !== undefined && !heldBefore.isIn(trace, span) && !isWithSpan
      return [
        ...(named ? [placeIn(trace, log, cpid, true)] : []),
        ...(unnamed ? [placeIn(trace, log, cpid, false)] : []),
      ]
    })
  })
}

/** The span has its CPID as soon as it leaves. */
function heldSince(span: DrawnSpan, before: Known, all: Known): boolean {
  return before.spans.has(span.id) ? before.cpidOf(span) !== undefined : !all.isBelowAwaited(span, before)
}
