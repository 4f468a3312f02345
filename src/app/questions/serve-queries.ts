import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../../model/clock.ts'
import { MIB } from '../../model/sizes.ts'
import { errorText } from '../../model/error-text.ts'
import type { CausewayQueries } from '../../model/ports/query-port.ts'
import type { Timers } from '../../model/timers.ts'
import { answer } from '../../query/answer.ts'
import type { FromQuery, ToQuery } from '../../threads/query-messages.ts'
import { AnswerStream } from './answer-stream.ts'

/** How long one answer may hold up the others. */
const SLICE_MS = 10
/**
 * Long answers that one asker may have begun at a time: each holds the rows that it is made of until it is read. Further ones wait
 * for these, and nobody else's do.
 */
const MAX_BEGUN = 16
/**
 * What answers of large rows may hold together before further ones begin of an asker who holds some already, and of one who holds
 * nothing: what somebody does not read keeps nobody else waiting.
 */
const MAX_HELD = 16 * MIB
const MAX_HELD_BY_ALL = 64 * MIB
/** Of these one ends of which nothing was read for so long, when others wait to begin. */
const STILL_MS = 1_000

export interface QueryServing {
  queries: CausewayQueries
  salt: string
  /** Changes whenever something was written. */
  dataVersion: () => string
  onStop: () => void
  /** Says why a question failed. */
  reasonOf?: (error: unknown) => string
  clock: Pick<Clock, 'monotonicMs'>
  timers: Pick<Timers, 'soon' | 'after'>
}

/**
 * Answers the questions that come through a port, taking turns: a long answer stops no short one, and one whose reader
 * is slow waits without holding on to the database.
 */
export function serveQueries(port: MessagePort, serving: QueryServing): void {
  const turns = new AnswerTurns((message) => port.postMessage(message), serving)
  port.on('message', (message: ToQuery) => {
    switch (message.kind) {
      case 'ask':
        turns.ask(message)
        return
      case 'read':
        turns.read(message.id)
        return
      case 'cancel':
        turns.cancel(message.id)
        return
      case 'stop':
        turns.stop()
        port.close()
        serving.onStop()
    }
  })
}

type Ask = Extract<ToQuery, { kind: 'ask' }>

interface Begun {
  readonly stream: AnswerStream
  readonly asker: string
  /** When something of it was read last. */
  readMs: number
}

/** The answers under way, in the order in which they take turns. */
class AnswerTurns {
  readonly #post: (message: FromQuery) => void
  readonly #serving: QueryServing
  readonly #begun = new Map<number, Begun>()
  /** How many of them each asker has. */
  readonly #begunBy = new Map<string, number>()
  /** Asked, and not begun yet. */
  readonly #waiting = new Map<number, Ask>()
  #isTurnPlanned = false
  #isLookPlanned = false

  constructor(post: (message: FromQuery) => void, serving: QueryServing) {
    this.#post = post
    this.#serving = serving
  }

  ask(ask: Ask): void {
    this.#waiting.set(ask.id, ask)
    this.#beginSome()
  }

  read(id: number): void {
    const begun = this.#begun.get(id)
    begun?.stream.read()
    if (begun !== undefined) begun.readMs = this.#serving.clock.monotonicMs()
    this.#turnSoon()
  }

  cancel(id: number): void {
    this.#begun.get(id)?.stream.end()
    this.#over(id)
    this.#waiting.delete(id)
    this.#turnSoon()
  }

  stop(): void {
    this.#begun.clear()
    this.#begunBy.clear()
    this.#waiting.clear()
  }

  /** For a slice, at least one where there is room. */
  #beginSome(): void {
    const mayGoOn = this.#forASlice()
    for (const [id, ask] of this.#waiting) {
      if (!this.#hasRoom(ask) || !this.#hasMemory(ask.asker)) continue
      this.#waiting.delete(id)
      this.#guarded(id, () => {
        const stream = this.#begin(ask)
        if (stream !== undefined) this.#advance(id, stream)
      })
      if (!mayGoOn()) break
    }
    this.#turnSoon()
  }

  #hasRoom({ asker = '' }: Ask): boolean {
    return (this.#begunBy.get(asker) ?? 0) < MAX_BEGUN
  }

  /** What all answers hold, or those of one asker. */
  #held(asker?: string): number {
    let held = 0
    for (const begun of this.#begun.values())
      if (asker === undefined || begun.asker === asker) held += begun.stream.held
    return held
  }

  /** Whether an asker may begin what may hold more. */
  #hasMemory(asker = ''): boolean {
    const held = this.#held()
    return held < MAX_HELD || (held < MAX_HELD_BY_ALL && this.#held(asker) === 0)
  }

  #mayAdvance({ stream, asker }: Begun): boolean {
    return !stream.isHeldUp && (stream.held > 0 || this.#hasMemory(asker))
  }

  /** What is to be done now; `blocked`: nothing, though this asker waits for memory. */
  #work(): 'some' | 'none' | { blocked: string } {
    let blocked: string | undefined
    for (const begun of this.#begun.values()) {
      if (this.#mayAdvance(begun)) return 'some'
      if (!begun.stream.isHeldUp) blocked ??= begun.asker
    }
    for (const ask of this.#waiting.values()) {
      if (!this.#hasRoom(ask)) continue
      if (this.#hasMemory(ask.asker)) return 'some'
      blocked ??= ask.asker ?? ''
    }
    return blocked === undefined ? 'none' : { blocked }
  }

  /** For an asker who waits for memory: ends what has not been read for longest, or the first answer of whoever holds more. */
  #makeRoomFor(asker: string): void {
    const unread = [...this.#begun].filter(([, { stream }]) => stream.isHeldUp && stream.held > 0)
    const stillSinceMs = this.#serving.clock.monotonicMs() - STILL_MS
    const [still] = unread
      .filter(([, { readMs }]) => readMs <= stillSinceMs)
      .toSorted(([, a], [, b]) => a.readMs - b.readMs)
    const own = this.#held(asker) + MAX_HELD
    const goes = still ?? unread.find(([, one]) => this.#held(one.asker) > own)
    if (goes === undefined) {
      this.#lookLater()
      return
    }
    const [id, { stream }] = goes
    stream.end()
    this.#over(id)
    this.#post({ kind: 'unread', id })
    this.#turnSoon()
  }

  #lookLater(): void {
    if (this.#isLookPlanned) return
    this.#isLookPlanned = true
    this.#serving.timers.after(STILL_MS, () => {
      this.#isLookPlanned = false
      this.#turnSoon()
    })
  }

  /** Undefined when there is nothing more to say. */
  #begin({ id, question, known, asker = '' }: Ask): AnswerStream | undefined {
    const { queries, salt, dataVersion } = this.#serving
    // Asked for first: what is written meanwhile may be in the answer, and the next one differs then.
    const version = `${salt} ${dataVersion()}`
    const answered = answer(queries, question)
    if (answered.kind !== 'found') {
      this.#post({ kind: 'refused', id, refusal: answered.kind })
      return undefined
    }
    const { pieces } = answered
    const stream = new AnswerStream({ id, pieces, version, known, post: this.#post })
    if (answered.version !== undefined) stream.announce(`${salt} ${answered.version}`)
    if (stream.isOver) return undefined
    this.#begun.set(id, { stream, asker, readMs: this.#serving.clock.monotonicMs() })
    this.#begunBy.set(asker, (this.#begunBy.get(asker) ?? 0) + 1)
    return stream
  }

  #turnSoon(): void {
    if (this.#isTurnPlanned) return
    const work = this.#work()
    if (work === 'none') return
    if (work !== 'some') {
      this.#makeRoomFor(work.blocked)
      return
    }
    this.#isTurnPlanned = true
    this.#serving.timers.soon(() => {
      this.#isTurnPlanned = false
      this.#turn()
    })
  }

  #turn(): void {
    const mayGoOn = this.#forASlice()
    for (const [id, begun] of [...this.#begun]) {
      const { stream } = begun
      if (!this.#mayAdvance(begun)) continue
      this.#guarded(id, () => this.#advance(id, stream))
      // Whoever had a turn goes to the back, so that new questions come in between and nobody is passed over.
      if (this.#begun.delete(id)) this.#begun.set(id, begun)
      if (!mayGoOn()) break
    }
    this.#beginSome()
  }

  #advance(id: number, stream: AnswerStream): void {
    stream.advance(this.#forASlice())
    if (stream.isOver) this.#over(id)
  }

  #over(id: number): void {
    const begun = this.#begun.get(id)
    if (begun === undefined) return
    this.#begun.delete(id)
    const left = (this.#begunBy.get(begun.asker) ?? 1) - 1
    if (left === 0) this.#begunBy.delete(begun.asker)
    else this.#begunBy.set(begun.asker, left)
  }

  #forASlice(): () => boolean {
    const { clock } = this.#serving
    const untilMs = clock.monotonicMs() + SLICE_MS
    return () => clock.monotonicMs() < untilMs
  }

  #guarded(id: number, work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#over(id)
      this.#post({ kind: 'failed', id, reason: (this.#serving.reasonOf ?? errorText)(error) })
    }
  }
}
