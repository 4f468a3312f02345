import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../../model/clock.ts'
import { errorText } from '../../model/error-text.ts'
import type { CausewayQueries } from '../../model/ports/query-port.ts'
import type { Timers } from '../../model/timers.ts'
import { answer } from '../../query/answer.ts'
import type { FromQuery, ToQuery } from '../../threads/query-messages.ts'
import { AnswerStream } from './answer-stream.ts'

/** How long one answer may hold up the others. */
const SLICE_MS = 10
/**
 * Long answers that may be begun at a time: each holds the rows that it is made of, and a thousand questions may come before the
 * first who asked is told that too many answers wait to be read.
 */
const MAX_BEGUN = 150

export interface QueryServing {
  queries: CausewayQueries
  salt: string
  /** Changes whenever something was written. */
  dataVersion: () => string
  onStop: () => void
  /** Says why a question failed. */
  reasonOf?: (error: unknown) => string
  clock: Pick<Clock, 'monotonicMs'>
  timers: Pick<Timers, 'soon'>
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

/** The answers under way, in the order in which they take turns. */
class AnswerTurns {
  readonly #post: (message: FromQuery) => void
  readonly #serving: QueryServing
  readonly #streams = new Map<number, AnswerStream>()
  /** Asked, and not begun yet. */
  readonly #waiting = new Map<number, Extract<ToQuery, { kind: 'ask' }>>()
  #isTurnPlanned = false

  constructor(post: (message: FromQuery) => void, serving: QueryServing) {
    this.#post = post
    this.#serving = serving
  }

  ask(ask: Extract<ToQuery, { kind: 'ask' }>): void {
    this.#waiting.set(ask.id, ask)
    this.#beginSome()
  }

  read(id: number): void {
    this.#streams.get(id)?.read()
    this.#turnSoon()
  }

  cancel(id: number): void {
    this.#streams.get(id)?.end()
    this.#streams.delete(id)
    this.#waiting.delete(id)
    this.#turnSoon()
  }

  stop(): void {
    this.#streams.clear()
    this.#waiting.clear()
  }

  /** For a slice, at least one where there is room. */
  #beginSome(): void {
    const mayGoOn = this.#forASlice()
    for (const [id, ask] of this.#waiting) {
      if (!this.#hasRoom) break
      this.#waiting.delete(id)
      this.#guarded(id, () => {
        const stream = this.#begin(ask)
        if (stream !== undefined) this.#advance(id, stream)
      })
      if (!mayGoOn()) break
    }
    this.#turnSoon()
  }

  get #hasRoom(): boolean {
    return this.#streams.size < MAX_BEGUN
  }

  get #hasWork(): boolean {
    if (this.#waiting.size > 0 && this.#hasRoom) return true
    return [...this.#streams.values()].some((stream) => !stream.isHeldUp)
  }

  /** Undefined when there is nothing more to say. */
  #begin({ id, question, known }: Extract<ToQuery, { kind: 'ask' }>): AnswerStream | undefined {
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
    this.#streams.set(id, stream)
    return stream
  }

  #turnSoon(): void {
    if (this.#isTurnPlanned || !this.#hasWork) return
    this.#isTurnPlanned = true
    this.#serving.timers.soon(() => {
      this.#isTurnPlanned = false
      this.#turn()
    })
  }

  #turn(): void {
    const mayGoOn = this.#forASlice()
    for (const [id, stream] of [...this.#streams]) {
      if (stream.isHeldUp) continue
      this.#guarded(id, () => this.#advance(id, stream))
      // Whoever had a turn goes to the back, so that new questions come in between and nobody is passed over.
      if (this.#streams.delete(id)) this.#streams.set(id, stream)
      if (!mayGoOn()) break
    }
    this.#beginSome()
  }

  #advance(id: number, stream: AnswerStream): void {
    stream.advance(this.#forASlice())
    if (stream.isOver) this.#streams.delete(id)
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
      this.#streams.delete(id)
      this.#post({ kind: 'failed', id, reason: (this.#serving.reasonOf ?? errorText)(error) })
    }
  }
}
