import { addCounts, type Recording, type RecordSettings, RequestRecorder } from '../graph/record-request.ts'
import { type ArrivalStore, type IngestCounts, noCounts } from '../model/arrivals.ts'
import { errorText, type StorageFaults } from '../model/faults.ts'
import type { IngestOutcome, Sender, Signal } from '../model/otlp-requests.ts'
import { readRequest } from '../model/otlp/decode-requests.ts'
import { MalformedOtlp } from '../model/otlp/protobuf-wire.ts'
import type { Transactor, WriterDatabase } from '../model/store-ports.ts'
import { skipPoisonedItems } from './skip-poisoned-items.ts'
import type { WitnessedWrites } from './witnessed-writes.ts'

export interface PendingRequest {
  signal: Signal
  bytes: Buffer
  /** The hash by which repetitions are recognised; computed if absent. */
  hash?: Buffer
  sender?: Sender
}

export interface Ingested {
  /** The outcomes of the completed requests, which are the first ones. */
  outcomes: IngestOutcome[]
  /** The time of each request in milliseconds, without the commit; the last one may be incomplete. */
  costsMs: number[]
  counts: IngestCounts
  /** Why nothing was stored. */
  error?: unknown
}

interface IngestSettings extends Omit<RecordSettings, 'witnessed'> {
  readonly witnessed: WitnessedWrites
}

interface Recorders {
  readonly recorder: RequestRecorder
  readonly arrivals: ArrivalStore
}

const ALWAYS = (): boolean => true

/** A request that is perhaps stored in part. */
interface Begun {
  recording: Recording
  stored: number
}

/** Stores requests. A transaction stores several requests, or a part of one. */
export class IngestTransactions {
  readonly #transactor: Transactor<Recorders>
  readonly #faults: StorageFaults
  readonly #nowMs: () => number
  readonly #begun = new WeakMap<PendingRequest, Begun>()

  constructor(
    { transactor, faults }: WriterDatabase,
    { maxSources, maxFanout, maxCycleEdges, keepsFilters, senders, witnessed }: IngestSettings,
    nowMs: () => number,
  ) {
    const settings = {
      maxSources,
      maxFanout,
      ...(maxCycleEdges !== undefined && { maxCycleEdges }),
      ...(keepsFilters !== undefined && { keepsFilters }),
      ...(senders && { senders }),
    }
    this.#transactor = transactor.with(({ arrivals, graph, inference, held, metrics }) => {
      const recorder = new RequestRecorder(arrivals, graph, {
        ...settings,
        metrics,
        witnessed: {
          explain: (begun) => witnessed.explain(inference, begun),
          hold: (cpid, item) => held.hold(cpid, item),
        },
      })
      return { inside: { recorder, arrivals }, outside: undefined }
    }).transactor
    this.#faults = faults
    this.#nowMs = nowMs
  }

  /**
   * Stores requests in one transaction until `mayGoOn` returns false. When it returns, accepted items are durable. An incomplete request is
   * continued if the same object is given again. If storing fails, smaller transactions are tried, so that a request that cannot be stored
   * does not block the others.
   */
  ingest(requests: readonly PendingRequest[], mayGoOn: () => boolean = ALWAYS): Ingested {
    const ingested: Ingested = { outcomes: [], costsMs: [], counts: noCounts() }
    const { outcomes } = ingested
    const errors: unknown[] = []
    const fail = (error: unknown): void => {
      errors.push(error)
      outcomes.push({ kind: 'failed', reason: `nothing was stored: ${errorText(error)}` })
    }
    try {
      skipPoisonedItems(requests.length, {
        work: (done, most) =>
          this.#store(requests.slice(done, done + most), ingested, errors.length === 0 ? mayGoOn : ALWAYS),
        skip: (_, error) => {
          fail(error)
          ingested.costsMs.push(0)
        },
        isAboutOneItem: (error) => this.#faults.of(error) === undefined,
      })
    } catch (error) {
      while (outcomes.length < requests.length) fail(error)
    }
    const failed = errors.length > 0 && !outcomes.some(({ kind }) => kind === 'accepted')
    return { ...ingested, ...(failed && { error: errors[0] }) }
  }

  #store(requests: readonly PendingRequest[], ingested: Ingested, mayGoOn: () => boolean): number {
    const counted = noCounts()
    const tookMs: number[] = []
    try {
      const outcomes = this.#transactor.run(({ recorder, arrivals }) => {
        const done: IngestOutcome[] = []
        let beforeMs = this.#nowMs()
        for (const request of requests) {
          const outcome = this.#record(recorder, request, counted, mayGoOn)
          const nowMs = this.#nowMs()
          tookMs.push(nowMs - beforeMs)
          beforeMs = nowMs
          if (outcome === undefined) break
          done.push(outcome)
          if (!mayGoOn()) break
        }
        arrivals.endRequests()
        return done
      })
      addCounts(ingested.counts, counted)
      ingested.outcomes.push(...outcomes)
      ingested.costsMs.push(...tookMs)
      return outcomes.length
    } catch (error) {
      for (const request of requests) this.#begun.delete(request)
      throw error
    }
  }

  /** Decodes each request just before storing it, so that its objects are short-lived. */
  #record(
    recorder: RequestRecorder,
    request: PendingRequest,
    counts: IngestCounts,
    mayGoOn: () => boolean,
  ): IngestOutcome | undefined {
    let begun = this.#begun.get(request)
    if (begun === undefined) {
      const { signal, bytes, hash, sender } = request
      try {
        begun = { recording: recorder.begin(readRequest(signal, bytes, hash), sender), stored: 0 }
      } catch (error) {
        if (error instanceof MalformedOtlp) return { kind: 'malformed', reason: error.message }
        throw error
      }
    }
    const before = itemsOf(counts)
    const answer = begun.recording.resume(counts, mayGoOn)
    begun.stored += itemsOf(counts) - before
    if (answer !== undefined) return { kind: 'accepted', stored: begun.stored, ...answer }
    // Only incomplete recordings are kept, so that others are garbage collected early.
    this.#begun.set(request, begun)
    return undefined
  }
}

const itemsOf = ({ spans, logs, points }: IngestCounts): number => spans + logs + points
