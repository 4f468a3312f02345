import type { LinkingMode } from '../../../src/model/linker-settings-and-metrics.ts'
import { hexSpan, hexTrace } from '../otlp-requests.ts'
import { traceOf } from '../sent-spans.ts'
import type { Delay, DrawnCascade, DrawnMergelog, DrawnSpan, Version } from './drawn-cascade.ts'

/** Where a span stands: the trace, and the span there that it hangs under, or the change of a CPID. */
export interface Place {
  readonly trace: string
  readonly span: string
  readonly parent: string
}

export interface ExpectedPlace extends Place {
  /** It need not be there: the trace is of a root that may not drive the span, and of which nothing but spans tells. */
  readonly isOptional: boolean
}

/** In place of a parent that depends on what was sent before. */
export const SOME_PARENT = 'some parent'

/*
 * What `wait` allows, worked out from what was sent alone, whatever its order:
 *
 * 1. What comes half of `wait` late, or sooner, is as if it had come at once. What comes later than that is, until it comes, as
 *    if it never came. So what was sent before the latecomers come follows from the set of what came by then.
 * 2. A span has the CPID of the nearest ancestor that carries one, if all between them have come; else it stays in its original
 *    trace, where its sender put it. A CPID whose mergelog has not come is a root. A span goes into the trace of each root; one
 *    without a mergelog has a trace only once something is sent that it drives.
 * 3. There it hangs under its local parent, else under its cause, else under the change of its CPID. The cause is from another
 *    original trace, and in the same trace: for each object that the span observed it is who wrote the highest version up to
 *    the one observed; of these, the one that ends last. Only who wrote exactly the version observed is waited for: where
 *    that one is not in the trace, but others that wrote the object are, the parent depends on who of them came first.
 * 4. What latecomers change is added, and nothing is taken back: each span is also where it belongs with them. Only what came late
 *    or belongs elsewhere with them may be anywhere in between: under a CPID that was a root for a moment, in its original
 *    trace because somebody had waited for the same parent before, or under another parent where nothing local is above it.
 */

const isByTime = ({ delay }: { delay: Delay }): boolean => delay === 'none' || delay === 'half'
const isEver = ({ delay }: { delay: Delay }): boolean => delay !== 'never'

/** What is known once some of what a cascade sends has come. */
export class Known {
  readonly mode: LinkingMode
  readonly spans: ReadonlyMap<number, DrawnSpan>
  readonly mergelogs: ReadonlyMap<string, DrawnMergelog>

  constructor(mode: LinkingMode, spans: readonly DrawnSpan[], records: readonly DrawnMergelog[]) {
    this.mode = mode
    this.spans = new Map(spans.map((span) => [span.id, span]))
    const told = [...records, ...spans.flatMap(({ tells }) => tells)]
    this.mergelogs = new Map(told.map((mergelog) => [mergelog.cpid, mergelog]))
  }

  static byTime(mode: LinkingMode, { spans, mergelogs }: DrawnCascade): Known {
    return new Known(mode, spans.filter(isByTime), mergelogs.filter(isByTime))
  }

  static everything(mode: LinkingMode, { spans, mergelogs }: DrawnCascade): Known {
    return new Known(mode, spans.filter(isEver), mergelogs.filter(isEver))
  }

  cpidOf(span: DrawnSpan): string | undefined {
    if (span.carries !== undefined || span.parent === undefined) return span.carries
    const parent = this.spans.get(span.parent)
    return parent && this.cpidOf(parent)
  }

  rootsOf(cpid: string): Set<string> {
    const sources = this.mergelogs.get(cpid)?.sources ?? []
    return sources.length === 0 ? new Set([cpid]) : new Set(sources.flatMap((one) => [...this.rootsOf(one)]))
  }

  ancestorsOf(cpid: string): Set<string> {
    const sources = this.mergelogs.get(cpid)?.sources ?? []
    return new Set([cpid, ...sources.flatMap((one) => [...this.ancestorsOf(one)])])
  }

  isExplained(cpid: string): boolean {
    return [...this.ancestorsOf(cpid)].every((one) => this.mergelogs.has(one))
  }

  /** Which CPIDs may have counted as its roots since then. */
  rootsInBetween(cpid: string, before: Known): string[] {
    return [...this.ancestorsOf(cpid)].filter(
      (one) => !before.mergelogs.has(one) || before.rootsOf(one).has(one),
    )
  }

  /** Whether nothing that came since then has to do with the CPID. */
  isAsBefore(cpid: string, before: Known): boolean {
    return [...this.ancestorsOf(cpid)].every((one) => before.mergelogs.has(one) === this.mergelogs.has(one))
  }

  /** Whether the span is of a CPID or of one that descends from it. */
  isOf(span: DrawnSpan, cpid: string): boolean {
    const own = this.cpidOf(span)
    return own !== undefined && this.ancestorsOf(own).has(cpid)
  }

  tracesOf(span: DrawnSpan): string[] {
    const cpid = this.cpidOf(span)
    if (cpid === undefined || this.mode === 'passthrough') return [hexTrace(span.trace)]
    return this.mode === 'links' ? [traceOf(cpid)] : [...this.rootsOf(cpid)].map(traceOf)
  }

  placesOf(span: DrawnSpan): ExpectedPlace[] {
    return this.tracesOf(span).map((trace) => {
      const isOptional = this.#isOptionalIn(trace, span)
      const parent = isOptional ? SOME_PARENT : this.#parentIn(trace, span)
      return { trace, span: hexSpan(span.id), parent, isOptional }
    })
  }

  /** A parent above it was waited for before, or one above it went without a CPID: nobody waits for that again. */
  isBelowAwaited(span: DrawnSpan, before: Known): boolean {
    if (before.spans.has(span.id)) return false
    for (let at = span; at.parent !== undefined;) {
      const above = this.spans.get(at.parent)
      if (above === undefined) return true
      if (before.spans.has(above.id)) return before.cpidOf(above) === undefined
      const { id } = above
      if ([...before.spans.values()].some(({ parent }) => parent === id)) return true
      at = above
    }
    return false
  }

  #isOptionalIn(trace: string, span: DrawnSpan): boolean {
    if (this.tracesOf(span).length === 1 || !this.#mayHaveDriver(span)) return false
    return ![...this.mergelogs.keys()].map(traceOf).includes(trace)
  }

  /** Whether something but its CPID may say what drives it: a cause, or a change that it began. */
  #mayHaveDriver(span: DrawnSpan): boolean {
    const parent = span.parent === undefined ? undefined : this.spans.get(span.parent)
    const begins =
      [...this.mergelogs.values()].some(({ told }) => told?.id === span.id) || span.tells.length > 0
    return begins || span.observed.length > 0 || (parent !== undefined && this.#mayHaveDriver(parent))
  }

  #parentIn(trace: string, span: DrawnSpan): string {
    if (span.parent !== undefined) return hexSpan(span.parent)
    if (this.mode === 'passthrough') return ''
    const observed = this.mode === 'links' ? [] : highestOfEach(span.observed)
    const causes = observed.flatMap((version) => this.#writerOf(version, trace, span) ?? [])
    if (causes.some((cause) => !observed.some((version) => wroteExactly(cause, version)))) return SOME_PARENT
    // A cause that need not be in the trace need not be the parent there.
    if (causes.some((cause) => this.#isOptionalIn(trace, cause))) return SOME_PARENT
    const [last] = causes.sort((a, b) => b.endMs - a.endMs)
    return last === undefined ? `the change of ${span.carries}` : hexSpan(last.id)
  }

  #writerOf({ object, version: upTo }: Version, trace: string, observer: DrawnSpan): DrawnSpan | undefined {
    let highest: DrawnSpan | undefined
    let reached = -1
    for (const span of this.spans.values()) {
      if (span.trace === observer.trace || !this.tracesOf(span).includes(trace)) continue
      for (const { object: wrote, version } of span.wrote) {
        if (wrote !== object || version > upTo || version <= reached) continue
        highest = span
        reached = version
      }
    }
    return highest
  }
}

function wroteExactly({ wrote }: DrawnSpan, { object, version }: Version): boolean {
  return wrote.some((one) => one.object === object && one.version === version)
}

function highestOfEach(observed: readonly Version[]): Version[] {
  return observed.filter(
    ({ object, version }) => !observed.some((other) => other.object === object && other.version > version),
  )
}

/** Where each span must be in the end, and where it may be besides. */
interface Expected {
  /** With exactly this parent, if they are there. */
  readonly exactly: readonly ExpectedPlace[]
  /** The traces and spans of the places that must be there as well, with a parent that `wait` leaves open. */
  readonly also: readonly string[]
  /** Those that may be there. */
  readonly allowed: ReadonlySet<string>
}

export const traceAndSpan = ({ trace, span }: Pick<Place, 'trace' | 'span'>): string => `${trace} ${span}`

export function expectedInTheEnd(before: Known, all: Known): Expected {
  const exactly = [...before.spans.values()].flatMap((span) => before.placesOf(span))
  const there = new Set(exactly.map(traceAndSpan))
  const optional = new Set(exactly.filter(({ isOptional }) => isOptional).map(traceAndSpan))
  const also: string[] = []
  const allowed = new Set<string>()
  for (const span of all.spans.values()) {
    if (all.mode !== 'cascade' && before.spans.has(span.id)) continue
    const places = all.placesOf(span)
    if (all.mode === 'links' && all.isBelowAwaited(span, before)) {
      for (const trace of [...places.map((place) => place.trace), hexTrace(span.trace)])
        allowed.add(traceAndSpan({ trace, span: hexSpan(span.id) }))
      continue
    }
    for (const place of places) {
      if (there.has(traceAndSpan(place))) continue
      // What has a local parent is below that wherever it goes, but where that one need not have gone before.
      const parent = { trace: place.trace, span: hexSpan(span.parent ?? 0) }
      if (span.parent !== undefined && optional.has(traceAndSpan(parent)))
        exactly.push({ ...place, parent: SOME_PARENT })
      else if (span.parent !== undefined) exactly.push(place)
      else if (place.isOptional) allowed.add(traceAndSpan(place))
      else also.push(traceAndSpan(place))
    }
    for (const trace of tracesInBetween(span, before, all))
      allowed.add(traceAndSpan({ trace, span: hexSpan(span.id) }))
  }
  return { exactly, also, allowed }
}

function tracesInBetween(span: DrawnSpan, before: Known, all: Known): string[] {
  const cpid = all.cpidOf(span)
  if (cpid === undefined) return []
  const roots = [...all.ancestorsOf(cpid)].filter((above) => !before.mergelogs.has(above))
  const traces = roots.map(traceOf)
  return all.isBelowAwaited(span, before) ? [...traces, hexTrace(span.trace)] : traces
}
