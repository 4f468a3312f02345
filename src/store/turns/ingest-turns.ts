import { noCounts } from '../../graph/ingest-counts.ts'
import type { IngestOutcome } from '../../model/ingest.ts'
import type { PendingRequest } from '../admission/ingest-rounds.ts'
import type { StorageHealth } from '../storage-health.ts'
import type { StoreWriter } from '../store-writer.ts'
import type { FromStore, ToStore } from '../../threads/thread-messages.ts'
import { FlowShares } from '../admission/flow-shares.ts'
import { WaitingRequests, type WaitingRequest } from '../admission/waiting-requests.ts'

export type Ingest = Extract<ToStore, { kind: 'ingest' }>

/** A message and what the writer makes of it, one object as long as it waits. */
interface Waiting extends WaitingRequest {
  readonly id: number
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly pending: PendingRequest
}

export interface IngestTurnParts {
  writer: StoreWriter
  post: (message: FromStore) => void
  health: StorageHealth
  /** A clock that never goes back. */
  nowMs: () => number
}

/** Stores what waits, one commit a turn, and has it answered. */
export class IngestTurns {
  readonly #parts: IngestTurnParts
  readonly #waiting: WaitingRequests<Waiting>

  constructor(parts: IngestTurnParts) {
    this.#parts = parts
    this.#waiting = new WaitingRequests<Waiting>(new FlowShares(parts.nowMs))
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Whether a flow costs much beside others that cost little. */
  get isMixed(): boolean {
    return this.#waiting.isMixed
  }

  add({ id, signal, bytes, hash, sender, client, peer, flow }: Ingest): void {
    const pending = { signal, bytes: bufferOf(bytes), hash: bufferOf(hash), ...(sender && { sender }) }
    this.#waiting.add({ id, bytes, client, peer, flow, pending })
  }

  turn(): void {
    const { writer, post, health, nowMs } = this.#parts
    const { requests, mayTakeMs } = this.#waiting.take()
    const startedMs = nowMs()
    if (health.isDamaged) {
      const outcome = failure(health.fault?.reason ?? '')
      this.#waiting.took([], requests.length)
      post({
        kind: 'ingested',
        outcomes: requests.map(({ id }) => ({ id, outcome })),
        counts: noCounts(),
        commitMs: 0,
      })
      return
    }
    const { outcomes, costsMs, counts, error } = writer.ingest(
      requests.map(({ pending }) => pending),
      () => nowMs() - startedMs < mayTakeMs,
    )
    if (error === undefined) health.worked()
    else outcomes.fill(failure(health.failed(error)))
    this.#waiting.took(costsMs, outcomes.length)
    const stored = requests.slice(0, outcomes.length)
    const failed: IngestOutcome = { kind: 'failed', reason: 'no outcome' }
    post({
      kind: 'ingested',
      outcomes: stored.map(({ id }, at) => ({ id, outcome: outcomes[at] ?? failed })),
      counts,
      commitMs: nowMs() - startedMs,
    })
    for (const { bytes } of stored) release(bytes)
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Gives the memory back at once: the garbage collector sees how small the object is, and lets many of them wait. */
function release(bytes: Uint8Array<ArrayBuffer>): void {
  bytes.buffer.transfer(0)
}

function failure(reason: string): IngestOutcome {
  return { kind: 'failed', reason: `nothing was stored: ${reason}` }
}
