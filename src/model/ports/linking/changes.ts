import type { UnixNanos } from '../../clock.ts'
import type { Cpid } from '../../cpid.ts'

export interface ChangeSpan {
  readonly trace: number
  readonly spanId: bigint
  readonly depth: number
}

export interface StoredMergelog {
  /** The arrival number under which the linker hears of it. */
  readonly arrival: number
  readonly timeNs: UnixNanos
  readonly arrivedMs: number
  readonly sources: Cpid[]
  readonly scope: number
  readonly object: string | undefined
  readonly reason: string | undefined
  readonly cluster: string | undefined
}

/** Which change span a CPID has in which trace. */
export interface ChangeSpans {
  find(cpid: number, trace: number): ChangeSpan | undefined
  /** The newest traces in which the CPID has a change span. */
  newest(cpid: number, most: number): ChangeSpan[]
  /** CPIDs with a change span in the trace, nearest the root first. */
  cpidsIn(trace: number): number[]
  add(cpid: number, change: ChangeSpan): void
}

/** The span that told of a change, by the ids it was sent with. */
export interface ChangeReporter {
  readonly traceId: Buffer
  readonly spanId: bigint
  /** Up time in milliseconds when it told of it. */
  readonly sinceMs: number
}

/** What was said of a change. */
export interface Mergelogs {
  find(cpid: number): StoredMergelog | undefined
  /** The span that sent the mergelog, as far as it said so. */
  toldBy(cpid: number): ChangeReporter | undefined
}

/** Under whose name spans go out, and what that weighs. */
export interface LinkScopes {
  /** The scope `causeway` under the resource of another scope, or under Causeway's own. */
  ownUnder(senderScope: number | undefined): number
  /** What a scope and its resource weigh. */
  envelopeBytes(scope: number): number
  /** The cluster that its resource names; empty where it names none. */
  clusterOf(scope: number): string
}
