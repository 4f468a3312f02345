import { Worker } from 'node:worker_threads'
import { hashOfRequest } from '../graph/record-request.ts'
import type { IngestOutcome, IngestPort, Signal } from '../model/ingest.ts'
import type { Sender } from '../model/sender.ts'
import type { SetAside } from '../model/set-aside.ts'
import type { FromStore, StoreThreadData, ToStore } from './thread-messages.ts'

/** The prefix of a gRPC message, and then some. */
const MOST_BYTES_AROUND = 64

type Ready = Extract<FromStore, { kind: 'ready' }>

/** The main thread's side of the store thread. */
export class StoreClient implements IngestPort {
  readonly #worker: Worker
  readonly #waiting = new Map<number, (outcome: IngestOutcome) => void>()
  readonly #listeners: ((message: FromStore) => void)[] = []
  readonly #caughtUp = Promise.withResolvers<undefined>()
  readonly #stopped = Promise.withResolvers<undefined>()
  #lastId = 0
  #isStopping = false

  private constructor(worker: Worker) {
    this.#worker = worker
    worker.on('message', (message: FromStore) => this.#hear(message))
    worker.on('exit', () => this.#ended())
  }

  /** Starts the thread: the database is open and migrated when this resolves. Rejects with what to do. */
  static async start(data: StoreThreadData): Promise<{ store: StoreClient; ready: Ready }> {
    const worker = new Worker(new URL('./store-thread.ts', import.meta.url), {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 2048 },
    })
    const started = Promise.withResolvers<Ready>()
    worker.once('error', (error) => started.reject(error instanceof Error ? error : new Error(String(error))))
    worker.once('message', (message: FromStore) => {
      if (message.kind === 'ready') started.resolve(message)
      else
        started.reject(
          new Error(message.kind === 'fatal' ? message.reason : 'the store thread did not start'),
        )
    })
    const ready = await started.promise
    return { store: new StoreClient(worker), ready }
  }

  onMessage(listener: (message: FromStore) => void): void {
    this.#listeners.push(listener)
  }

  ingest(signal: Signal, request: Uint8Array, sender?: Sender, flow = 0): Promise<IngestOutcome> {
    if (this.#isStopping) return Promise.resolve({ kind: 'failed', reason: 'Causeway is shutting down' })
    const { promise, resolve } = Promise.withResolvers<IngestOutcome>()
    const id = ++this.#lastId
    this.#waiting.set(id, resolve)
    const bytes = ownBytes(request)
    // Worked out here, where there is time to spare.
    const hash = hashOfRequest(signal, bytes)
    const message: ToStore = { kind: 'ingest', id, signal, bytes, hash, flow, ...(sender && { sender }) }
    this.#worker.postMessage(message, [bytes.buffer])
    return promise
  }

  exporterMoved(signal: Signal, exporter: string, position: number, refused: number): void {
    this.#worker.postMessage({ kind: 'moved', signal, exporter, position, refused } satisfies ToStore)
  }

  /** Has noted what an exporter could not send. */
  setAside(items: SetAside[]): void {
    this.#worker.postMessage({ kind: 'setAside', items } satisfies ToStore)
  }

  /** Has the thread give unused memory back. */
  collectGarbage(): void {
    this.#worker.postMessage({ kind: 'collectGarbage' } satisfies ToStore)
  }

  /** Has everything handed over stored and linked, as far as the grace period goes. */
  async catchUp(graceMs: number): Promise<void> {
    this.#worker.postMessage({ kind: 'catchUp', graceMs } satisfies ToStore)
    await Promise.race([this.#caughtUp.promise, this.#stopped.promise])
  }

  /** Ends the thread once what was handed over is stored. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#worker.postMessage({ kind: 'stop' } satisfies ToStore)
    await this.#stopped.promise
  }

  #hear(message: FromStore): void {
    if (message.kind === 'ingested') {
      for (const { id, outcome } of message.outcomes) {
        this.#waiting.get(id)?.(outcome)
        this.#waiting.delete(id)
      }
    }
    if (message.kind === 'caughtUp') this.#caughtUp.resolve(undefined)
    for (const listener of this.#listeners) listener(message)
  }

  /** Nobody waits for a thread that is gone. */
  #ended(): void {
    for (const resolve of this.#waiting.values())
      resolve({ kind: 'failed', reason: 'the store thread has ended' })
    this.#waiting.clear()
    this.#stopped.resolve(undefined)
    if (!this.#isStopping) {
      for (const listener of this.#listeners)
        listener({
          kind: 'fatal',
          reason: 'the store thread ended by itself; nothing acknowledged is lost: start Causeway again',
        })
    }
  }
}

/** What can be handed over to another thread: the bytes themselves where they fill their buffer, else a copy. */
function ownBytes(request: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = request
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength - byteLength <= MOST_BYTES_AROUND
  return isAlone ? new Uint8Array(buffer, request.byteOffset, byteLength) : new Uint8Array(request)
}
