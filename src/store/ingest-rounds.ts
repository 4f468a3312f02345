import {
  addCounts,
  noCounts,
  type Recording,
  type RecordSettings,
  RequestRecorder,
} from '../graph/record-request.ts'
import type { ArrivalStore, IngestCounts } from '../model/arrivals.ts'
import { errorText, type StorageFaults } from '../model/faults.ts'
import type { IngestOutcome, Sender, Signal } from '../model/otlp-requests.ts'
import { readRequest, type ReadRequest } from '../model/otlp/decode-requests.ts'
import { MalformedOtlp } from '../model/otlp/protobuf-wire.ts'
import type { Transactor, WriterStores } from '../model/store-ports.ts'
import { workThrough } from './work-through.ts'

export interface PendingRequest {
  signal: Signal
  bytes: Buffer
  /** By which its repetition is known; worked out when it is not given. */
  hash?: Buffer
  sender?: Sender
}

export interface Ingested {
  /** Of the requests that are done with: as many of the first ones as there was time for. */
  outcomes: IngestOutcome[]
  /** How long each took in milliseconds, without the commit; those too that are not done with. */
  costsMs: number[]
  counts: IngestCounts
  /** Why nothing was stored. */
  error?: unknown
}

interface Recorders {
  readonly recorder: RequestRecorder
  readonly arrivals: ArrivalStore
}

const ALWAYS = (): boolean => true

/** A request of which a part may be stored already. */
interface Begun {
  recording: Recording
  stored: number
}

/** Stores requests, many or a part of one in a transaction. */
export class IngestRounds {
  readonly #transactor: Transactor<Recorders>
  readonly #faults: StorageFaults
  readonly #nowMs: () => number
  readonly #begun = new WeakMap<PendingRequest, Begun>()

  constructor(
    { transactor, faults }: WriterStores,
    { maxSources, maxFanout, maxCycleEdges, keepsFilters, senders }: RecordSettings,
    nowMs: () => number,
  ) {
    const settings = {
      maxSources,
      maxFanout,
      ...(maxCycleEdges !== undefined && { maxCycleEdges }),
      ...(keepsFilters !== undefined && { keepsFilters }),
      ...(senders && { senders }),
    }
    this.#transactor = transactor.with(({ arrivals, graph }) => ({
      inside: { recorder: new RequestRecorder(arrivals, graph, settings), arrivals },
      outside: undefined,
    })).transactor
    this.#faults = faults
    this.#nowMs = nowMs
  }

  /**
   * Stores requests in one transaction, until `mayGoOn` says no; when it returns, what was accepted is on the disk. What there was
   * no time for goes on where it stopped, if the same objects are given again. Where storing fails they are stored in smaller
   * transactions, lest a request that cannot be stored stop those that happen to come with it.
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
      workThrough(requests.length, {
        work: (done, most) =>
          this.#store(requests.slice(done, done + most), ingested, errors.length === 0 ? mayGoOn : ALWAYS),
        pass: (_, error) => {
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

  /** Each is decoded just before it is stored, so that what was decoded is garbage while it is young. */
  #record(
    recorder: RequestRecorder,
    request: PendingRequest,
    counts: IngestCounts,
    mayGoOn: () => boolean,
  ): IngestOutcome | undefined {
    let begun = this.#begun.get(request)
    if (begun === undefined) {
      const read = tryRead(request)
      if ('malformed' in read) return { kind: 'malformed', reason: read.malformed }
      begun = { recording: recorder.begin(read, request.sender), stored: 0 }
    }
    const before = counts.spans + counts.logs
    const answer = begun.recording.goOn(counts, mayGoOn)
    begun.stored += counts.spans + counts.logs - before
    if (answer !== undefined) return { kind: 'accepted', stored: begun.stored, ...answer }
    // Only what goes on is kept: what is done with is garbage while it is young.
    this.#begun.set(request, begun)
    return undefined
  }
}

function tryRead({ signal, bytes, hash }: PendingRequest): ReadRequest | { malformed: string } {
  try {
    return readRequest(signal, bytes, hash)
  } catch (error) {
    if (error instanceof MalformedOtlp) return { malformed: error.message }
    throw error
  }
}
