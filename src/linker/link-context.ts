import type { Ancestry } from '../graph/ancestry.ts'
import type { CascadeObservation, LinkCounts, LinkerSettings } from '../model/linker-settings-and-metrics.ts'
import type { LinkEvent, LinkPorts, Waiting } from '../model/linking-ports.ts'
import type { MergeGraph } from '../model/merge-graph.ts'
import type { UnixNanos } from '../model/time-and-size.ts'

/** Whether there is time for another item. */
export type MayGoOn = () => boolean

/** The range of times that is plausible for activity that arrives now. */
export interface PlausibleRange {
  readonly fromNs: UnixNanos
  readonly toNs: UnixNanos
}

/** What the parts of the linker work with. A function that needs one or two ports asks for those alone. */
export interface LinkContext extends LinkPorts {
  readonly graph: MergeGraph
  readonly settings: LinkerSettings
  /** Ancestors of CPIDs that are not explained. */
  readonly ancestry: Ancestry
  /** Computed at most once per round. */
  plausible: PlausibleRange | undefined
  counts: LinkCounts
  /** Measurements for the metrics, reported after the commit. */
  readonly observations: CascadeObservation[]
  /** The queue of steps. All parts add to it; only `takeSteps` takes from it. */
  readonly steps: Step[]
  /** How many waiting items were released in this call. */
  released: number
  /** Whether this call may begin with another item; requests wait meanwhile. */
  mayGoOn: MayGoOn
}

/**
 * A step in the queue. A queue is used because chains of spans may be longer than the stack is deep. An arrived event is the
 * first step of what it leads to.
 */
export type Step =
  | LinkEvent
  /** It may have waited long enough, or what it waited for has arrived. */
  | { kind: 'waited'; waiting: Waiting }
  /** It waited for the writer of a version, which has been sent. It may wait for more. */
  | { kind: 'observer'; row: number }
  /** It waited for its parent, which has been sent with this CPID, or without one. */
  | { kind: 'child'; row: number; cpid: number | undefined; joined: boolean }
  /** The spans below it have waited as long as they may. */
  | { kind: 'given up'; row: number }
  /** A log record that may have waited long enough. */
  | { kind: 'waited log'; row: number }
