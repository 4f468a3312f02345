import type { Ancestry } from '../graph/ancestry.ts'
import type { CascadeObservation, LinkCounts, LinkerSettings } from '../model/linker-settings-and-metrics.ts'
import type { LinkEvent, LinkPorts, Waiting } from '../model/linking-ports.ts'
import type { MergeGraph } from '../model/merge-graph.ts'
import type { UnixNanos } from '../model/time-and-size.ts'

/** Between which times activity that arrives now can have taken place. */
export interface PlausibleRange {
  readonly fromNs: UnixNanos
  readonly toNs: UnixNanos
}

/** What the parts of the linker work with. One that needs a port or two asks for those alone. */
export interface LinkContext extends LinkPorts {
  readonly graph: MergeGraph
  readonly settings: LinkerSettings
  /** What is above CPIDs that are not explained. */
  readonly ancestry: Ancestry
  /** Of this round, once it is known. */
  plausible: PlausibleRange | undefined
  counts: LinkCounts
  /** What metrics are to tell of, once what it rests on is committed. */
  readonly observations: CascadeObservation[]
  /** What is to be done next; parts add to it, and `takeSteps` alone takes from it. */
  readonly steps: Step[]
  /** How much of what waited has followed others in this call. */
  followed: number
}

/**
 * What is to be done next, in a queue: chains of spans may be longer than a stack is deep. An event that has arrived is the
 * first step of what it leads to.
 */
export type Step =
  | LinkEvent
  /** It may have waited long enough, or what it waited for is there. */
  | { kind: 'waited'; waiting: Waiting }
  /** It waited for what a span wrote that has been sent; it may wait for more. */
  | { kind: 'observer'; row: number }
  /** It waited for its parent, which has been sent, with that CPID or without one. */
  | { kind: 'child'; row: number; cpid: number | undefined; joined: boolean }
  /** What waits for it has waited as long as it may. */
  | { kind: 'given up'; row: number }
  /** A log record whose wait may be over. */
  | { kind: 'waited log'; row: number }
