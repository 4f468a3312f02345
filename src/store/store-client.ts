import {
  type KnownObjectsQuery,
  type ExistingObject,
  type ObservationBatch,
  type ObservationOutcome,
  type ObservationPort,
  serializeObservations,
} from '../model/kubernetes-observations.ts'
import type { IngestOutcome, IngestPort, RequestFlow, Sender, Signal } from '../model/otlp-requests.ts'
import { hashOfRequest } from '../model/otlp/decode-requests.ts'
import { ChildThread } from '../platform/child-thread.ts'
import { AwaitedMessages } from './awaited-messages.ts'
import type { FromStore, StoreThreadData, ToStore } from './store-messages.ts'

/** The bytes around a request that may be transferred with it: enough for the prefix of a gRPC message. */
const MAX_BYTES_AROUND = 64

type Ready = Extract<FromStore, { kind: 'ready' }>

const NOBODY: RequestFlow = { client: '', peer: 0, flow: 0 }

/** The main thread's side of the store thread. */
export class StoreClient implements IngestPort {
  readonly #thread: ChildThread<ToStore, FromStore>
  readonly #awaited: AwaitedMessages
  readonly #waiting = new Map<number, (outcome: IngestOutcome) => void>()
  readonly #observations: ObservationClient
  readonly #listeners: ((message: FromStore) => void)[] = []
  readonly #caughtUp = Promise.withResolvers<undefined>()
  #lastId = 0
  #isStopping = false

  private constructor(thread: ChildThread<ToStore, FromStore>, awaited: AwaitedMessages) {
    this.#thread = thread
    this.#awaited = awaited
    this.#observations = new ObservationClient((message, transfer) => this.#post(message, transfer))
    thread.listen((message) => this.#hear(message))
    void thread.ended.then((why) => this.#end(why))
  }

  /** Starts the thread. When it resolves, the database is open and migrated. Otherwise rejects with what to do. */
  static async start(
    settings: Omit<StoreThreadData, 'awaited'>,
  ): Promise<{ store: StoreClient; ready: Ready }> {
    const awaited = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    const { thread, ready } = await ChildThread.start<ToStore, FromStore>({
      name: 'store',
      file: new URL('./store-thread.ts', import.meta.url),
      data: { ...settings, awaited } satisfies StoreThreadData,
      youngMib: 16,
      oldMib: 2048,
    })
    return { store: new StoreClient(thread, new AwaitedMessages(awaited)), ready }
  }

  onMessage(listener: (message: FromStore) => void): void {
    this.#listeners.push(listener)
  }

  ingest(signal: Signal, request: Uint8Array, sender?: Sender, from = NOBODY): Promise<IngestOutcome> {
    if (this.#isStopping) return Promise.resolve({ kind: 'failed', reason: 'Causeway is shutting down' })
    const { promise, resolve } = Promise.withResolvers<IngestOutcome>()
    const id = ++this.#lastId
    this.#waiting.set(id, resolve)
    const bytes = ownBytes(request)
    // Computed here, since the main thread has time to spare.
    const hash = hashOfRequest(signal, bytes)
    const message: ToStore = { kind: 'ingest', id, signal, bytes, hash, ...from, ...(sender && { sender }) }
    this.#post(message, [bytes.buffer])
    return promise
  }

  /** The port for observations of clusters. */
  get observations(): ObservationPort {
    return this.#observations
  }

  /** Posts a message that has no answer. */
  tell(
    message: Extract<ToStore, { kind: 'exporterMoved' | 'archiveMoved' | 'setAside' | 'collectGarbage' }>,
  ): void {
    this.#post(message)
  }

  /** Waits until everything queued is stored and linked, up to the grace period. */
  async catchUp(graceMs: number): Promise<void> {
    this.#post({ kind: 'catchUp', graceMs })
    await Promise.race([this.#caughtUp.promise, this.#thread.ended])
  }

  /** Ends the thread after everything queued is stored. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#observations.stop()
    this.#post({ kind: 'stop' })
    await this.#thread.ended
  }

  #post(message: ToStore, transfer?: ArrayBuffer[]): void {
    this.#awaited.notePosted(message)
    this.#thread.post(message, transfer)
  }

  #hear(message: FromStore): void {
    if (message.kind === 'ingested') {
      for (const { id, outcome } of message.outcomes) {
        this.#waiting.get(id)?.(outcome)
        this.#waiting.delete(id)
      }
    }
    this.#observations.hear(message)
    if (message.kind === 'caughtUp') this.#caughtUp.resolve(undefined)
    for (const listener of this.#listeners) listener(message)
  }

  /** Fails all pending calls, since the thread has ended. */
  #end(why: string): void {
    for (const resolve of this.#waiting.values())
      resolve({ kind: 'failed', reason: 'the store thread has ended' })
    this.#waiting.clear()
    this.#observations.end()
    if (this.#isStopping) return
    const reason = `the store thread ended by itself (${why}); nothing acknowledged is lost: start Causeway again`
    for (const listener of this.#listeners) listener({ kind: 'fatal', reason })
  }
}

/** Bytes that can be transferred to another thread: the buffer itself if they fill it, otherwise a copy. */
function ownBytes(request: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = request
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength - byteLength <= MAX_BYTES_AROUND
  return isAlone ? new Uint8Array(buffer, request.byteOffset, byteLength) : new Uint8Array(request)
}

type ClusterAnswer = Extract<FromStore, { kind: 'clusterAnswer' }>

const ENDED = 'the store thread has ended'

/** The main thread's side of inference, which runs in the store thread. */
class ObservationClient implements ObservationPort {
  readonly #post: (message: ToStore, transfer?: ArrayBuffer[]) => void
  readonly #recording = new Map<number, (outcome: ObservationOutcome) => void>()
  readonly #questions = new Map<number, (answer: ClusterAnswer) => void>()
  #lastId = 0
  #stopped: string | undefined

  constructor(post: (message: ToStore, transfer?: ArrayBuffer[]) => void) {
    this.#post = post
  }

  record({ cluster, stream, position, observations }: ObservationBatch): Promise<ObservationOutcome> {
    if (this.#stopped !== undefined) return Promise.resolve({ kind: 'failed', reason: this.#stopped })
    const { promise, resolve } = Promise.withResolvers<ObservationOutcome>()
    const id = ++this.#lastId
    this.#recording.set(id, resolve)
    const body = serializeObservations(observations)
    const place = position === undefined ? {} : { position }
    this.#post({ kind: 'observe', id, cluster, stream, ...place, body }, [body.buffer])
    return promise
  }

  setBehind(cluster: string, receiver: string, isBehind: boolean): void {
    if (this.#stopped === undefined) this.#post({ kind: 'streamsBehind', cluster, receiver, isBehind })
  }

  async position(cluster: string, stream: string): Promise<string | undefined> {
    const { position } = await this.#ask((id) => ({ kind: 'askStreamPosition', id, cluster, stream }))
    return position
  }

  async knownObjects(
    cluster: string,
    apiVersion: string,
    resource: string,
    after: string,
  ): Promise<readonly ExistingObject[]> {
    const query: KnownObjectsQuery = { cluster, apiVersion, resource, after }
    const { held = [] } = await this.#ask((id) => ({ kind: 'askKnownObjects', id, asked: query }))
    return held
  }

  hear(message: FromStore): void {
    if (message.kind === 'clusterAnswer') {
      this.#questions.get(message.id)?.(message)
      this.#questions.delete(message.id)
    }
    if (message.kind !== 'observed') return
    for (const { id, outcome } of message.outcomes) {
      this.#recording.get(id)?.(outcome)
      this.#recording.delete(id)
    }
  }

  /** Accepts no more observations. Pending calls are still answered. */
  stop(): void {
    this.#stopped = 'Causeway is shutting down'
  }

  /** Fails all pending calls, since the thread has ended. */
  end(): void {
    this.#stopped ??= ENDED
    for (const resolve of this.#recording.values()) resolve({ kind: 'failed', reason: ENDED })
    for (const [id, resolve] of this.#questions) resolve({ kind: 'clusterAnswer', id, failed: ENDED })
    this.#recording.clear()
    this.#questions.clear()
  }

  async #ask(message: (id: number) => ToStore): Promise<ClusterAnswer> {
    if (this.#stopped !== undefined) throw new Error(this.#stopped)
    const { promise, resolve } = Promise.withResolvers<ClusterAnswer>()
    const id = ++this.#lastId
    this.#questions.set(id, resolve)
    this.#post(message(id))
    const answer = await promise
    if (answer.failed !== undefined) throw new Error(answer.failed)
    return answer
  }
}
