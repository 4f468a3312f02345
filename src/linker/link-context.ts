import type { CascadeObservation } from '../model/cascade-figures.ts'
import type { UnixNanos } from '../model/clock.ts'
import type { MergeGraph } from '../model/ports/graph-port.ts'
import type { LinkCounts } from '../model/link-counts.ts'
import type { ArrivedSpan, LinkStore } from '../model/ports/link-port.ts'

/** Between which times activity that arrives now can have taken place. */
export interface PlausibleRange {
  readonly fromNs: UnixNanos
  readonly toNs: UnixNanos
}

export type LinkingMode = 'cascade' | 'links' | 'passthrough'

export interface LinkSettings {
  mode: LinkingMode
  /** How long a span waits for what is missing, from when it was first missed. */
  waitMs: number
  /** How long nothing must arrive for a trace to settle. */
  settleAfterMs: number
  maxOpenMs: number
  /** How many of its newest roots a CPID keeps. */
  maxFanout: number
  maxTraceSpans: number
  maxTraceBytes: number
  /** Log records are linked too, because something sends them on. */
  logs: boolean
}

/** What every part of the linker works with. */
export interface LinkContext {
  readonly store: LinkStore
  readonly graph: MergeGraph
  readonly settings: LinkSettings
  /** What was found out in this round about CPIDs that are not explained; the merge graph does not change in it. */
  readonly known: {
    readonly roots: Map<number, readonly number[]>
    readonly until: Map<number, number>
    plausible: PlausibleRange | undefined
  }
  counts: LinkCounts
  /** What metrics are to tell of, once what it rests on is committed. */
  readonly observations: CascadeObservation[]
  /** What one decision leads to, done after it: chains of spans may be longer than a stack is deep. */
  readonly todo: (() => void)[]
  /** Called when a span has been sent for the first time; absent when nobody waits for that. */
  spanLeft?: (span: ArrivedSpan) => void
}
