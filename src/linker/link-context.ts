import type { Ancestry } from '../graph/ancestry.ts'
import type { CascadeObservation, LinkCounts, LinkerSettings } from '../model/linker-settings-and-metrics.ts'
import type { LinkEvent, LinkPorts, ReleasedStep } from '../model/linking-ports.ts'
import type { MergeGraph } from '../model/merge-graph.ts'
import type { UnixNanos } from '../model/time-and-size.ts'
import type { Moving } from './move-spans.ts'

/** Whether there is time for another item. */
export type MayGoOn = () => boolean

/** The range of times that is plausible for activity that arrives now. */
export interface PlausibleRange {
  readonly fromNs: UnixNanos
  readonly toNs: UnixNanos
}

/** The state and ports of the linker. A function that needs only some ports takes those alone. */
export interface LinkContext extends LinkPorts {
  readonly graph: MergeGraph
  readonly settings: LinkerSettings
  /** Ancestors of CPIDs that are not explained. */
  readonly ancestry: Ancestry
  /** Computed at most once per round. */
  plausible: PlausibleRange | undefined
  counts: LinkCounts
  /**
   * The traces that the spans of a CPID were last sent again into, so that many late mergelogs above it do not each look at all of
   * them. Forgotten after a rollback and at a restart.
   */
  readonly movedInto: Map<number, string>
  /** The spans being sent again, if that takes several steps. Recomputed after a rollback and at a restart. */
  moving: Moving | undefined
  /** Measurements for the metrics, reported after the commit. */
  readonly observations: CascadeObservation[]
  /** The queue of steps. All parts add to it; only `takeSteps` and `takeUnfinished` take from it. */
  readonly steps: Step[]
  /** Steps that go before those in the queue. */
  readonly first: ReleasedStep[]
  /** Whether this call may begin another item or step, while requests wait. */
  mayGoOn: MayGoOn
}

/**
 * A step in the queue. A queue is used because chains of spans may be longer than the stack is deep. An arrived event is the
 * first step of what it leads to.
 */
export type Step = LinkEvent | ReleasedStep
