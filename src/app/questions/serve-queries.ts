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
 * What answers of large rows may hold together before further ones begin. More than those may hold that nobody reads, so that what is
 * held too long is given back for whoever waits here.
 */
const MAX_HELD = 64 * MIB

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

type Ask = Extract<ToQuery, { kind: 'ask' }>

interface Begun {
  readonly stream: AnswerStream
  readonly asker: string
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

  constructor(post: (message: FromQuery) => void, serving: QueryServing) {
    this.#post = post
    this.#serving = serving
  }

  ask(ask: Ask): void {
    this.#waiting.set(ask.id, ask)
    this.#beginSome()
  }

  read(id: number): void {
    this.#begun.get(id)?.stream.read()
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
      if (!this.#mayHoldMore) break
      if (!this.#hasRoom(ask)) continue
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

  /** Whether one may go on that holds nothing yet. */
  get #mayHoldMore(): boolean {
    let held = 0
    for (const { stream } of this.#begun.values()) held += stream.held
    return held < MAX_HELD
  }

  #mayGoOn({ isHeldUp, held }: AnswerStream): boolean {
    return !isHeldUp && (held > 0 || this.#mayHoldMore)
  }

  get #hasWork(): boolean {
    for (const { stream } of this.#begun.values()) if (this.#mayGoOn(stream)) return true
    if (!this.#mayHoldMore) return false
    for (const ask of this.#waiting.values()) if (this.#hasRoom(ask)) return true
    return false
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
    this.#begun.set(id, { stream, asker })
    this.#begunBy.set(asker, (this.#begunBy.get(asker) ?? 0) + 1)
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
    for (const [id, begun] of [...this.#begun]) {
      const { stream } = begun
      if (!this.#mayGoOn(stream)) continue
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
