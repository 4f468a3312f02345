import type { ObservationBatch } from '../../model/kubernetes/observation-batch.ts'
import { bytesOfTold } from '../../model/kubernetes/telling-bytes.ts'
import type {
  AskedHeld,
  HeldObject,
  ObservationPort,
  ObservationOutcome,
} from '../../model/ports/observation-port.ts'
import type { FromStore, ToStore } from '../../threads/thread-messages.ts'

type Known = Extract<FromStore, { kind: 'known' }>

const ENDED = 'the store thread has ended'

/** The main thread's side of inference, which is worked on in the store thread. */
export class ObservationClient implements ObservationPort {
  readonly #post: (message: ToStore, transfer?: ArrayBuffer[]) => void
  readonly #told = new Map<number, (outcome: ObservationOutcome) => void>()
  readonly #asked = new Map<number, (answer: Known) => void>()
  #lastId = 0
  #stopped: string | undefined

  constructor(post: (message: ToStore, transfer?: ArrayBuffer[]) => void) {
    this.#post = post
  }

  tell({ cluster, stream, position, observations }: ObservationBatch): Promise<ObservationOutcome> {
    if (this.#stopped !== undefined) return Promise.resolve({ kind: 'failed', reason: this.#stopped })
    const { promise, resolve } = Promise.withResolvers<ObservationOutcome>()
    const id = ++this.#lastId
    this.#told.set(id, resolve)
    const body = bytesOfTold(observations)
    const place = position === undefined ? {} : { position }
    this.#post({ kind: 'tell', id, cluster, stream, ...place, body }, [body.buffer])
    return promise
  }

  behind(cluster: string, receiver: string, isBehind: boolean): void {
    if (this.#stopped === undefined) this.#post({ kind: 'behind', cluster, receiver, isBehind })
  }

  async position(cluster: string, stream: string): Promise<string | undefined> {
    const { position } = await this.#ask((id) => ({ kind: 'askPosition', id, cluster, stream }))
    return position
  }

  async held(
    cluster: string,
    apiVersion: string,
    resource: string,
    after: string,
  ): Promise<readonly HeldObject[]> {
    const asked: AskedHeld = { cluster, apiVersion, resource, after }
    const { held = [] } = await this.#ask((id) => ({ kind: 'askHeld', id, asked }))
    return held
  }

  hear(message: FromStore): void {
    if (message.kind === 'known') {
      this.#asked.get(message.id)?.(message)
      this.#asked.delete(message.id)
    }
    if (message.kind !== 'told') return
    for (const { id, outcome } of message.outcomes) {
      this.#told.get(id)?.(outcome)
      this.#told.delete(id)
    }
  }

  /** Takes no more; what is under way is still answered. */
  stop(): void {
    this.#stopped = 'Causeway is shutting down'
  }

  /** Nobody waits for a thread that is gone. */
  end(): void {
    this.#stopped ??= ENDED
    for (const resolve of this.#told.values()) resolve({ kind: 'failed', reason: ENDED })
    for (const [id, resolve] of this.#asked) resolve({ kind: 'known', id, failed: ENDED })
    this.#told.clear()
    this.#asked.clear()
  }

  async #ask(message: (id: number) => ToStore): Promise<Known> {
    if (this.#stopped !== undefined) throw new Error(this.#stopped)
    const { promise, resolve } = Promise.withResolvers<Known>()
    const id = ++this.#lastId
    this.#asked.set(id, resolve)
    this.#post(message(id))
    const answer = await promise
    if (answer.failed !== undefined) throw new Error(answer.failed)
    return answer
  }
}
