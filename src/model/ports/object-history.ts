import type { UnixNanos } from '../clock.ts'
import type { Cpid } from '../cpid.ts'
import type { SeenWrite } from '../seen-write.ts'
import type { Placed } from './query-port.ts'

/** What happened to an object once: a span read or wrote it, or a mergelog named it. */
export interface ObjectFacts extends Placed {
  /** The reference, with uid and resourceVersion where they were given. */
  readonly object: string
  readonly action: 'observed' | 'wrote' | 'mergelog'
  readonly cpid: Cpid | undefined
  readonly timeNs: UnixNanos
  readonly service: string | undefined
  readonly cluster: string | undefined
  /** Roots of the cascades in which its CPID takes part, the newest ones. */
  readonly cascades: readonly Cpid[]
}

/** A version of an object that a span wrote. */
export interface ObjectVersionFacts extends Placed {
  /** The reference, with uid and resourceVersion where they were given. */
  readonly object: string
  /** When the span ended that wrote it. */
  readonly timeNs: UnixNanos
  readonly name: string
  readonly spanId: bigint
  readonly service: string
  readonly cluster: string | undefined
  readonly cpid: Cpid | undefined
  /** Roots of the cascades in which its CPID takes part, the newest ones. */
  readonly cascades: readonly Cpid[]
  /** The object references that whoever wrote it had read. */
  readonly observed: readonly string[]
  /** Where the write was seen from outside. */
  readonly seen: SeenWrite | undefined
}
