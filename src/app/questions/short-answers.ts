import type { Asker } from '../../query/asker.ts'
import { MIB } from '../../model/sizes.ts'
import { answer, type Answer } from '../../query/answer.ts'
import type { Ask, FromQuery } from '../../threads/query-messages.ts'
import { FairQueue, type Queued } from '../../store/admission/fair-queue.ts'
import { TooMuchRead } from '../../sqlite/readers/bytes-read.ts'
import { CostlyAskers } from './costly-askers.ts'
import { CHUNK_LENGTH, etagOf } from './answer-stream.ts'
import type { Answering, QueryServing } from './serve-queries.ts'

/** What takes the processor for longer is a long answer, and so is what waits for the disk, or for a processor, for longer. */
const SHORT_CPU_MS = 20
const SHORT_MS = 1_000
/** What reads more is a long answer too: to make JSON of one large row takes longer than all that. */
const SHORT_BYTES = MIB
/** What a question is thought to take before it is asked, in milliseconds. */
const USUAL_MS = 2
/** How long questions are answered before what has come in meanwhile is heard. */
const SLICE_MS = 5
/** Addresses, and the connections of each. */
const LEVELS = 2

const NOBODY: Asker = { address: '', connection: 0 }

interface Waiting extends Queued {
  readonly ask: Ask
  isGone: boolean
}

/**
 * Answers what is answered soon, one question after the other, in turn by address and connection. Of a question that takes
 * longer, or whose answer is longer than a chunk, nothing is said but that: it is to be asked where long answers are made. So
 * are questions of somebody whose questions took long of late, without a look at them.
 */
export class ShortAnswers implements Answering {
  readonly #post: (message: FromQuery) => void
  readonly #serving: QueryServing
  readonly #waiting = new FairQueue<Waiting>(LEVELS)
  readonly #byId = new Map<number, Waiting>()
  readonly #costly: CostlyAskers
  #isTurnPlanned = false

  constructor(post: (message: FromQuery) => void, serving: QueryServing) {
    this.#post = post
    this.#serving = serving
    this.#costly = new CostlyAskers(() => serving.clock.monotonicMs())
  }

  ask(ask: Ask): void {
    const { address, connection } = ask.asker ?? NOBODY
    const waiting = { path: [address, connection], costMs: USUAL_MS, ask, isGone: false }
    this.#byId.set(ask.id, waiting)
    this.#waiting.add(waiting)
    this.#turnSoon()
  }

  read(): void {
    // What is short is sent whole.
  }

  cancel(id: number): void {
    const waiting = this.#byId.get(id)
    if (waiting !== undefined) waiting.isGone = true
    this.#byId.delete(id)
  }

  stop(): void {
    for (const waiting of this.#byId.values()) waiting.isGone = true
    this.#byId.clear()
  }

  #turnSoon(): void {
    if (this.#isTurnPlanned || this.#waiting.size === 0) return
    this.#isTurnPlanned = true
    this.#serving.timers.soon(() => {
      this.#isTurnPlanned = false
      this.#turn()
      this.#turnSoon()
    })
  }

  #turn(): void {
    const { clock } = this.#serving
    const startedMs = clock.monotonicMs()
    let nowMs = startedMs
    while (this.#waiting.size > 0 && nowMs - startedMs < SLICE_MS) {
      const [waiting] = this.#waiting.take(USUAL_MS)
      if (waiting === undefined || waiting.isGone) continue
      // Known only now: others of its address may have been answered while it waited.
      const waitMs = this.#costly.waitMs(waiting.ask.asker ?? NOBODY)
      if (waitMs > 0 && waitMs < Infinity) {
        this.#waiting.correct(waiting, -USUAL_MS)
        this.#addLater(waiting, waitMs)
        continue
      }
      this.#byId.delete(waiting.ask.id)
      if (waitMs === Infinity) this.#post({ kind: 'long', id: waiting.ask.id })
      else this.#answer(waiting.ask)
      const tookMs = clock.monotonicMs() - nowMs
      this.#waiting.correct(waiting, tookMs - USUAL_MS)
      nowMs += tookMs
    }
  }

  #addLater(waiting: Waiting, waitMs: number): void {
    this.#serving.timers.after(waitMs, () => {
      if (waiting.isGone) return
      this.#waiting.add(waiting)
      this.#turnSoon()
    })
  }

  #answer({ id, question, known, asker = NOBODY }: Ask): void {
    const { queries, salt, reasonOf, clock } = this.#serving
    const startedMs = clock.monotonicMs()
    const asked = (what: 'short' | 'long'): void =>
      this.#costly.asked(asker, what, clock.monotonicMs() - startedMs)
    try {
      const isCostly = this.#costs()
      queries.allowBytes(SHORT_BYTES)
      const answered = answer(queries, question)
      if (answered.kind !== 'found') {
        this.#post({ kind: 'refused', id, refusal: answered.kind })
        return
      }
      const ofVersion = answered.version === undefined ? undefined : etagOf(`${salt} ${answered.version}`)
      const isKnown = ofVersion !== undefined && known.includes(ofVersion)
      const text = isKnown ? '' : this.#textOf(answered, isCostly)
      asked(isCostly() ? 'long' : 'short')
      if (text === undefined) {
        this.#post({ kind: 'long', id })
        return
      }
      const etag = ofVersion ?? etagOf(text)
      if (known.includes(etag)) this.#post({ kind: 'notModified', id, etag })
      else this.#post({ kind: 'whole', id, etag, text })
    } catch (error) {
      if (error instanceof TooMuchRead) {
        asked('long')
        this.#post({ kind: 'long', id })
        return
      }
      this.#post({ kind: 'failed', id, reason: reasonOf(error) })
    }
  }

  /** Whether what is done from now on has taken long. */
  #costs(): () => boolean {
    const { clock, cpuMs } = this.#serving
    const untilMs = clock.monotonicMs() + SHORT_MS
    const untilCpuMs = cpuMs() + SHORT_CPU_MS
    return () => cpuMs() > untilCpuMs || clock.monotonicMs() > untilMs
  }

  /** Undefined when it is too long, or takes too long. */
  #textOf({ pieces }: Extract<Answer, { kind: 'found' }>, takesTooLong: () => boolean): string | undefined {
    let text = ''
    for (const piece of pieces) {
      this.#serving.onMade(piece.length)
      text += piece
      if (text.length > CHUNK_LENGTH || takesTooLong()) return undefined
    }
    return text
  }
}
