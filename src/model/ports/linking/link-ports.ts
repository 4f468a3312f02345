import type { LinkedObjects } from '../object-port.ts'
import type { LogLinkStore } from '../log-port.ts'
import type { TraceActors } from './actors.ts'
import type { ChangeSpans, LinkScopes, Mergelogs } from './changes.ts'
import type { Decisions } from './decisions.ts'
import type { LinkEvents } from './events.ts'
import type { Joins } from './joins.ts'
import type { Spans } from './spans.ts'
import type { Traces } from './traces.ts'
import type { AwaitedParents, WaitingItems } from './waiting.ts'

/** Up time and wall-clock time in milliseconds at the start of the transaction. */
export interface LinkClock {
  readonly activeMs: number
  readonly wallMs: number
}

/** What the linker reads and writes, inside one transaction. Synchronous. */
export interface LinkPorts {
  readonly clock: LinkClock
  readonly events: LinkEvents
  readonly spans: Spans
  readonly objects: LinkedObjects
  readonly logs: LogLinkStore
  readonly traces: Traces
  readonly actors: TraceActors
  readonly changes: ChangeSpans
  readonly mergelogs: Mergelogs
  readonly scopes: LinkScopes
  readonly joins: Joins
  readonly waiting: WaitingItems
  readonly parents: AwaitedParents
  readonly outbox: Decisions
}
