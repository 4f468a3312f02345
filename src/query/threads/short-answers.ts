import { createHash } from 'node:crypto'
import { serialize } from 'node:v8'
import type { CausewayQueries } from '../../model/queries.ts'
import { type Clock, MIB, type Timers } from '../../model/time-and-size.ts'
import { FairQueue, type Queued } from '../../platform/fair-queue.ts'
import { TooMuchRead } from '../../store/sqlite/record-queries.ts'
import { answer, type Answer } from '../answer.ts'
import { type Asker, BadQuestion, type Question } from '../question.ts'
import type { Ask, FromQuery } from './query-messages.ts'

export interface QueryServing {
  queries: CausewayQueries
  salt: string
  /** Identifies the state of the database: changes with every write. */
  dataVersion: () => string
  /** Says why a question failed. */
  reasonOf: (error: unknown) => string
  clock: Pick<Clock, 'monotonicMs'>
  /** The CPU time of this thread, in milliseconds. */
  cpuMs: () => number
  timers: Pick<Timers, 'soon' | 'after'>
  /** Called with the length of every piece, to collect garbage after large ones. */
  onMade: (bytes: number) => void
}

/** Handles the messages of a port. */
export interface Answering {
  ask(ask: Ask): void
  /** The client has read a chunk of the answer. */
  read(id: number): void
  /** The client has hung up. */
  cancel(id: number): void
  /** A question that was too long for this thread took little time in the thread for long answers. */
  foundShort?(question: Question, connection: number): void
  stop(): void
}

/** The length of a chunk in characters. A short answer fits into one. */
export const CHUNK_LENGTH = 64 * 1024
/** Limits of a short answer, in milliseconds: CPU time, and elapsed time including waits for disk and CPU. */
const SHORT_CPU_MS = 10
/** The CPU limit for a question whose answer was short before, so that one slow moment does not make it long. */
const SHORT_BEFORE_CPU_MS = 50
/** The CPU limit in the thread for long answers; higher, since code that is not yet optimized is slow, as is a busy machine. */
export const SHORT_IN_ALL_CPU_MS = 25
const SHORT_MS = 1_000
/** An answer that reads more is long too: JSON of one large row, or sorting many CPIDs, cannot be interrupted. */
const SHORT_READS = { bytes: MIB, cpids: 2_000 }
/** The assumed duration of an unknown question, in milliseconds. */
const USUAL_MS = 2
/** How long questions are answered before new messages are read, in milliseconds. */
const SHORT_SLICE_MS = 5
/** The levels of fair queueing: addresses, and connections within each. */
const SHORT_LEVELS = 2

export function failed(id: number, error: unknown, reasonOf: (error: unknown) => string): FromQuery {
  return error instanceof BadQuestion
    ? { kind: 'failed', id, reason: error.message, isBad: true }
    : { kind: 'failed', id, reason: reasonOf(error) }
}

export function etagOf(version: string): string {
  return `W/"${createHash('sha1').update(version).digest('base64url')}"`
}

interface Waiting extends Queued {
  readonly ask: Ask
  /** Identifies the question. */
  readonly key: string
  isGone: boolean
}

/**
 * Makes short answers, one after the other; turns alternate between addresses and connections. If making an answer takes too long, or it
 * exceeds a chunk, the reply is that the answer is long. Questions that recently took long get that reply at once, and so do unknown
 * questions of a client whose questions took long.
 */
export class ShortAnswers implements Answering {
  readonly #post: (message: FromQuery) => void
  readonly #serving: QueryServing
  readonly #waiting = new FairQueue<Waiting>(SHORT_LEVELS)
  readonly #byId = new Map<number, Waiting>()
  readonly #costly: CostlyAskers
  #isTurnPlanned = false

  constructor(post: (message: FromQuery) => void, serving: QueryServing) {
    this.#post = post
    this.#serving = serving
    this.#costly = new CostlyAskers(() => serving.clock.monotonicMs())
  }

  ask(ask: Ask): void {
    const { address, connection } = ask.asker
    const key = keyOf(ask.question)
    const waiting = { path: [address, connection], costMs: USUAL_MS, ask, key, isGone: false }
    this.#byId.set(ask.id, waiting)
    this.#waiting.add(waiting)
    this.#turnSoon()
  }

  read(): void {
    // Nothing to do: a short answer is sent whole.
  }

  cancel(id: number): void {
    const waiting = this.#byId.get(id)
    if (waiting !== undefined) waiting.isGone = true
    this.#byId.delete(id)
  }

  foundShort(question: Question, connection: number): void {
    this.#costly.foundShort(keyOf(question), connection)
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
    while (this.#waiting.size > 0 && nowMs - startedMs < SHORT_SLICE_MS) {
      const [waiting] = this.#waiting.take(USUAL_MS)
      if (waiting === undefined || waiting.isGone) continue
      // Checked only now: while it waited, the same question or others of its address may have been answered.
      const waitMs = this.#costly.waitMs(waiting.ask.asker, waiting.key)
      if (waitMs > 0 && waitMs < Infinity) {
        this.#waiting.correct(waiting, -USUAL_MS)
        this.#addLater(waiting, waitMs)
        continue
      }
      this.#byId.delete(waiting.ask.id)
      if (waitMs === Infinity) this.#post({ kind: 'long', id: waiting.ask.id })
      else this.#answer(waiting)
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

  #answer({ ask: { id, question, known, asker }, key }: Waiting): void {
    const { queries, salt, reasonOf, clock } = this.#serving
    const startedMs = clock.monotonicMs()
    const asked = (what: Length): void =>
      this.#costly.asked(asker, key, what, clock.monotonicMs() - startedMs)
    try {
      const isCostly = this.#costs(this.#costly.wasShort(key) ? SHORT_BEFORE_CPU_MS : SHORT_CPU_MS)
      queries.allow(SHORT_READS)
      const answered = answer(endingWhen(isCostly, queries), question, () => clock.monotonicMs())
      if (answered.kind !== 'found') {
        this.#post({ kind: 'refused', id, refusal: answered.kind })
        return
      }
      const ofVersion = answered.version === undefined ? undefined : etagOf(`${salt} ${answered.version}`)
      const isKnown = ofVersion !== undefined && known.includes(ofVersion)
      const text = isKnown ? '' : this.#textOf(answered, isCostly)
      asked(isCostly() ? 'slow' : 'short')
      if (text === undefined) {
        this.#post({ kind: 'long', id })
        return
      }
      const etag = ofVersion ?? etagOf(text)
      if (known.includes(etag)) this.#post({ kind: 'notModified', id, etag })
      else this.#post({ kind: 'whole', id, etag, text })
    } catch (error) {
      if (error instanceof TooMuchRead) {
        asked(error instanceof TookTooLong ? 'slow' : 'long')
        this.#post({ kind: 'long', id })
        return
      }
      this.#post(failed(id, error, reasonOf))
    }
  }

  /** Starts measuring. The result says whether the work since then takes too long. */
  #costs(mostCpuMs: number): () => boolean {
    const { clock, cpuMs } = this.#serving
    const untilMs = clock.monotonicMs() + SHORT_MS
    const untilCpuMs = cpuMs() + mostCpuMs
    return () => cpuMs() > untilCpuMs || clock.monotonicMs() > untilMs
  }

  /** The whole text; undefined if it is too long or takes too long. */
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

class TookTooLong extends TooMuchRead {}

/** `queries` whose methods throw TookTooLong once the time is over. */
function endingWhen(takesTooLong: () => boolean, queries: CausewayQueries): CausewayQueries {
  return new Proxy(queries, {
    get(target, name) {
      if (takesTooLong()) throw new TookTooLong('it takes too long')
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** How long the length of an answer is remembered, and the longest time for which a connection counts as costly, in milliseconds. */
const REMEMBERED_MS = 60_000
/**
 * A connection counts as costly for 400 times as long as its question took, and for at least four seconds. If its next question is costly
 * too, it counts for twice as long as before.
 */
const COSTLY_TIMES = 400
const COSTLY_AT_LEAST_MS = 4_000
/** A new connection of an address with costly questions is tried after this many times the duration of the last trial. */
const PART_OF_NEW = 4
/** The most remembered questions and connections; the oldest are forgotten first. */
const MOST_REMEMBERED = 4_096
function keyOf(question: Question): string {
  return createHash('sha1').update(serialize(question)).digest('base64url')
}

/**
 * Remembers which questions recently took long, and which clients asked them. A known question is treated as before for all clients, since
 * dashboards repeat questions. The first unknown question of a connection is tried, since several people may share an address. If the
 * address has asked costly questions, such trials wait for one another, so that reconnecting gains little.
 */
export class CostlyAskers {
  readonly #nowMs: () => number
  readonly #questions = new Map<string, Remembered>()
  readonly #connections = new Map<number, RememberedClient>()
  readonly #addresses = new Map<string, number>()
  /** When the next new connection of a costly address is tried. */
  readonly #nextNew = new Map<string, number>()

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** After how many milliseconds a question may be tried: 0 is now; Infinity: it counts as long without a trial. */
  waitMs({ address, connection }: Asker, key: string): number {
    const nowMs = this.#nowMs()
    const question = this.#questions.get(key)
    if (question !== undefined && question.untilMs > nowMs) return question.what === 'short' ? 0 : Infinity
    const client = this.#connections.get(connection)
    if (client !== undefined) return client.what !== 'short' && client.untilMs > nowMs ? Infinity : 0
    if ((this.#addresses.get(address) ?? -Infinity) <= nowMs) return 0
    return Math.max(0, (this.#nextNew.get(address) ?? nowMs) - nowMs)
  }

  /** Whether the answer to a question was recently short. */
  wasShort(key: string): boolean {
    const question = this.#questions.get(key)
    return question?.what === 'short' && question.untilMs > this.#nowMs()
  }

  /** Records the length of an answer, which took `tookMs` to find out. */
  asked({ address, connection }: Asker, key: string, what: Length, tookMs: number): void {
    const nowMs = this.#nowMs()
    const isKnown = (this.#questions.get(key)?.untilMs ?? -Infinity) > nowMs
    remember(this.#questions, key, { what, untilMs: nowMs + REMEMBERED_MS })
    // The answer was expected to be short, so it says nothing about the client.
    if (isKnown && what === 'short') return
    const client = this.#connections.get(connection)
    if (client === undefined) remember(this.#nextNew, address, nowMs + tookMs * PART_OF_NEW)
    const againMs = client === undefined || client.what === 'short' ? COSTLY_AT_LEAST_MS : 2 * client.forMs
    const costlyMs = Math.min(REMEMBERED_MS, Math.max(againMs, COSTLY_TIMES * tookMs))
    const forMs = what === 'short' ? REMEMBERED_MS : costlyMs
    remember(this.#connections, connection, { what, forMs, untilMs: nowMs + forMs })
    if (what !== 'short') remember(this.#addresses, address, nowMs + REMEMBERED_MS)
  }

  /**
   * Records that the thread for long answers answered a question in little time, which was too long here or was not tried. If its
   * connection counted as costly only because questions were slow, it counts as new again.
   */
  foundShort(key: string, connection: number): void {
    if (this.#questions.get(key)?.what === 'long') return
    remember(this.#questions, key, { what: 'short', untilMs: this.#nowMs() + REMEMBERED_MS })
    if (this.#connections.get(connection)?.what === 'slow') this.#connections.delete(connection)
  }
}

/** `slow`: the answer took too long, perhaps only because the machine was busy. `long`: the answer itself is long. */
type Length = 'short' | 'slow' | 'long'

/** The length of an answer, or of the last unknown question of a connection, and until when it is remembered. */
interface Remembered {
  readonly what: Length
  readonly untilMs: number
}

interface RememberedClient extends Remembered {
  /** How long the connection counts as costly in all, in milliseconds. */
  readonly forMs: number
}

/** Inserts an entry as the newest, and removes the oldest beyond MOST_REMEMBERED. */
function remember<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key)
  map.set(key, value)
  const [first] = map.keys()
  if (map.size > MOST_REMEMBERED && first !== undefined) map.delete(first)
}
