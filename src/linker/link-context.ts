import type { Ancestry } from '../dag/ancestry.ts'
import type { CascadeObservation } from '../model/cascade-figures.ts'
import type { UnixNanos } from '../model/clock.ts'
import type { LinkCounts } from '../model/link-counts.ts'
import type { LinkerSettings } from '../model/link-settings.ts'
import type { MergeGraph } from '../model/ports/graph-port.ts'
import type { LinkPorts } from '../model/ports/linking/link-ports.ts'
import type { Step } from './steps.ts'

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
