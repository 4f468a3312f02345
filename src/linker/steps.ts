import type { LinkEvent } from '../model/ports/linking/events.ts'
import type { Waiting } from '../model/ports/linking/waiting.ts'

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
