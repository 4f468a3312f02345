import type { RequestAnswer } from '../../../src/model/arrivals.ts'
import type {
  ChangeReporter,
  ChangeSpan,
  ReleasedStep,
  StoredMergelog,
  Trace,
  Waiting,
} from '../../../src/model/linking-ports.ts'
import type { CpidNode, ForgottenTombstones, GraphEventKind } from '../../../src/model/merge-graph.ts'
import type { WriterProgress } from '../../../src/model/store-ports.ts'
import type { TestClock } from '../../support/test-clock.ts'

export interface CpidRow {
  readonly node: CpidNode
  readonly firstSeenMs: number
  readonly pruneNs: bigint
}

/** Rows are replaced, never changed, so that copies of the maps are all that a transaction needs to be undone. */
export class MemoryTables implements WriterProgress {
  readonly clock: TestClock
  /** A transaction is running. */
  isBusy = false
  wallMs = 0
  activeMs = 0
  lastArrival = 0
  linkedArrival = 0
  readonly lastDecision = 0
  readonly lastLogDecision = 0
  readonly lastMetricDecision = 0
  committedActiveMs = 0
  lastCpid = 0
  forgotten: ForgottenTombstones = { untilMs: 0, nextEpisode: 0 }
  lastTrace = 0
  cpids = new Map<number, CpidRow>()
  edges = new Map<string, readonly [source: number, target: number]>()
  explainLater = new Map<number, number>()
  events = new Map<number, readonly [cpid: number, kind: GraphEventKind]>()
  mergelogs = new Map<number, StoredMergelog>()
  tellers = new Map<number, ChangeReporter>()
  requests = new Map<string, RequestAnswer>()
  scopes = new Map<string, { readonly id: number; readonly service: string; readonly cluster: string }>()
  positions = new Map<string, number>()
  waiting = new Map<number, readonly [waiting: Waiting, dueMs: number]>()
  steps = new Map<number, ReleasedStep>()
  lastStep = 0
  changes = new Map<string, readonly [cpid: number, change: ChangeSpan]>()
  traces = new Map<number, Trace>()
  services = new Map<string, number>()

  #base = 0
  #startedMs = 0

  constructor(clock: TestClock) {
    this.clock = clock
  }

  /** Takes the time for the transaction that begins. */
  turn(): void {
    this.wallMs = this.clock.wallMs()
    this.activeMs = this.#base + this.clock.monotonicMs() - this.#startedMs
  }

  /** Another process goes on with what was committed; up time since then is lost. */
  restart(): void {
    this.#base = this.committedActiveMs
    this.#startedMs = this.clock.monotonicMs()
    this.turn()
  }

  /** Gives back what brings everything back to where it is now, but for the time. */
  snapshot(): () => void {
    const kept = Object.entries(this).filter(([name]) => name !== 'wallMs' && name !== 'activeMs')
    const copies = kept.map(([name, value]: [string, unknown]) => [
      name,
      value instanceof Map ? new Map<unknown, unknown>(value) : value,
    ])
    return () => void Object.assign(this, Object.fromEntries(copies))
  }
}
