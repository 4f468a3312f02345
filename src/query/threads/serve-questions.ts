import type { MessagePort } from 'node:worker_threads'
import { errorText } from '../../model/faults.ts'
import { MIB } from '../../model/time-and-size.ts'
import { FairQueue, type Queued } from '../../platform/fair-queue.ts'
import { answer } from '../answer.ts'
import { AnswerStream } from './answer-stream.ts'
import type { AnswerLength, Ask, FromQuery, ToQuery } from './query-threads.ts'
import { type Answering, failed, type QueryServing, ShortAnswers } from './short-answers.ts'

interface ServingSettings extends Omit<QueryServing, 'reasonOf'>, Partial<Pick<QueryServing, 'reasonOf'>> {
  /** Answers of any length by default. */
  answers?: AnswerLength
  onStop: () => void
}

/**
 * Answers the questions of a port in turns: a long answer does not block a short one, and one with a slow reader waits without
 * holding the database.
 */
export function serveQueries(
  port: MessagePort,
  { answers = 'any', onStop, reasonOf = errorText, ...settings }: ServingSettings,
): void {
  const post = (message: FromQuery): void => port.postMessage(message)
  const serving = { ...settings, reasonOf }
  const answering: Answering =
    answers === 'short' ? new ShortAnswers(post, serving) : new LongAnswers(post, serving)
  port.on('message', (message: ToQuery) => {
    switch (message.kind) {
      case 'ask':
        answering.ask(message)
        return
      case 'read':
        answering.read(message.id)
        return
      case 'cancel':
        answering.cancel(message.id)
        return
      case 'stop':
        answering.stop()
        port.close()
        onStop()
    }
  })
}

/** The time slice of one answer. */
const SLICE_MS = 10
/**
 * The most long answers of one address at a time, since each holds its rows until they are read. Further ones of this address wait.
 */
const MAX_BEGUN = 16
/**
 * How much answers of large rows may hold before another one begins: for an address that already has one, and for one without, so
 * that a client that does not read delays no other.
 */
const MAX_HELD = 16 * MIB
const MAX_HELD_BY_ALL = 48 * MIB
/** An answer not read for so long is ended when others wait to begin. */
const STILL_MS = 1_000
/** Addresses, and the connections of each. */
const LEVELS = 2

/** An answer in progress: its question is examined first, then it is made in slices. */
interface Begun {
  readonly id: number
  readonly ask: Ask
  stream?: AnswerStream | undefined
  /** It waits for its turn. */
  isQueued: boolean
  /** When something of it was read last. */
  readMs: number
}

interface Turn extends Queued {
  readonly begun: Begun
}

/** Makes answers of any length in slices, in turn by address and connection; one with a slow reader skips its turn. */
class LongAnswers implements Answering {
  readonly #post: (message: FromQuery) => void
  readonly #serving: QueryServing
  readonly #begun = new Map<number, Begun>()
  readonly #turns = new FairQueue<Turn>(LEVELS)
  /** How many of them each address has, and each connection. */
  readonly #ofAddress = new Map<string, number>()
  readonly #ofConnection = new Map<number, number>()
  /** Not begun yet. */
  readonly #waiting = new Map<number, Ask>()
  /** Begun, but waiting for memory that others hold. */
  readonly #withoutMemory = new Set<Begun>()
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
    if (begun === undefined) return
    begun.stream?.read()
    begun.readMs = this.#serving.clock.monotonicMs()
    this.#queue(begun)
  }

  cancel(id: number): void {
    this.#begun.get(id)?.stream?.end()
    this.#over(id)
    this.#waiting.delete(id)
    this.#beginSome()
  }

  stop(): void {
    this.#begun.clear()
    this.#waiting.clear()
    this.#withoutMemory.clear()
  }

  #beginSome(): void {
    for (let ask = this.#nextWaiting(); ask !== undefined; ask = this.#nextWaiting()) {
      const { address, connection } = whoAsks(ask)
      this.#waiting.delete(ask.id)
      count(this.#ofAddress, address, 1)
      count(this.#ofConnection, connection, 1)
      const begun = { id: ask.id, ask, isQueued: false, readMs: this.#serving.clock.monotonicMs() }
      this.#begun.set(ask.id, begun)
      this.#queue(begun)
    }
  }

  /** Of those for which their address has room, the first one of a connection that has fewest. */
  #nextWaiting(): Ask | undefined {
    let found: Ask | undefined
    let fewest = Infinity
    for (const ask of this.#waiting.values()) {
      const { address, connection } = whoAsks(ask)
      if ((this.#ofAddress.get(address) ?? 0) >= MAX_BEGUN) continue
      const has = this.#ofConnection.get(connection) ?? 0
      if (has >= fewest) continue
      found = ask
      fewest = has
    }
    return found
  }

  #queue(begun: Begun): void {
    if (begun.isQueued || begun.stream?.isHeldUp === true || this.#withoutMemory.has(begun)) return
    begun.isQueued = true
    const { address, connection } = whoAsks(begun.ask)
    this.#turns.add({ path: [address, connection], costMs: SLICE_MS, begun })
    this.#turnSoon()
  }

  #turnSoon(): void {
    if (this.#isTurnPlanned || this.#turns.size === 0) return
    this.#isTurnPlanned = true
    this.#serving.timers.soon(() => {
      this.#isTurnPlanned = false
      this.#turn()
      this.#turnSoon()
    })
  }

  /** Works for one time slice, on at least one answer. */
  #turn(): void {
    const { clock } = this.#serving
    const startedMs = clock.monotonicMs()
    for (let nowMs = startedMs; nowMs - startedMs < SLICE_MS && this.#turns.size > 0;) {
      const [turn] = this.#turns.take(SLICE_MS)
      if (turn === undefined) return
      const { begun } = turn
      begun.isQueued = false
      // It may have been given up since.
      const isWanted = this.#begun.get(begun.id) === begun
      if (isWanted) this.#goOnWith(begun)
      const tookMs = clock.monotonicMs() - nowMs
      this.#turns.correct(turn, tookMs - turn.costMs)
      nowMs += tookMs
      if (isWanted && this.#begun.has(begun.id)) this.#queue(begun)
    }
  }

  #goOnWith(begun: Begun): void {
    const { id } = begun
    if (!this.#hasMemoryFor(begun)) {
      this.#withoutMemory.add(begun)
      this.#makeRoomFor(begun)
      return
    }
    try {
      begun.stream ??= this.#begin(begun.ask)
      begun.stream?.advance(this.#forASlice())
      if (begun.stream?.isOver !== false) this.#over(id)
    } catch (error) {
      this.#over(id)
      this.#post(failed(id, error, this.#serving.reasonOf))
    }
    this.#beginSome()
  }

  /** Undefined if there is no answer to stream. */
  #begin({ id, question, known }: Ask): AnswerStream | undefined {
    const { queries, salt, dataVersion, onMade, clock } = this.#serving
    // Asked for first: what is written meanwhile may be in the answer, and the next one differs then.
    const version = `${salt} ${dataVersion()}`
    const answered = answer(queries, question, () => clock.monotonicMs())
    if (answered.kind !== 'found') {
      this.#post({ kind: 'refused', id, refusal: answered.kind })
      return undefined
    }
    const { pieces } = answered
    const bytesRead = (): number => queries.bytesRead
    const stream = new AnswerStream({ id, pieces, version, known, post: this.#post, bytesRead, onMade })
    if (answered.version !== undefined) stream.announce(`${salt} ${answered.version}`)
    return stream.isOver ? undefined : stream
  }

  /** What the answers to each address hold, and all together. */
  #held(): { all: number; to: ReadonlyMap<string, number> } {
    const to = new Map<string, number>()
    let all = 0
    for (const { ask, stream } of this.#begun.values()) {
      if (stream === undefined) continue
      all += stream.held
      count(to, whoAsks(ask).address, stream.held)
    }
    return { all, to }
  }

  /** An answer that already holds memory goes on. */
  #hasMemoryFor({ ask, stream }: Begun): boolean {
    if (stream !== undefined && stream.held > 0) return true
    const { all, to } = this.#held()
    return all < MAX_HELD || (all < MAX_HELD_BY_ALL && !to.has(whoAsks(ask).address))
  }

  /** Ends the answer that has not been read for longest, or else one to an address that holds more. */
  #makeRoomFor({ ask }: Begun): void {
    const { clock } = this.#serving
    const unread = [...this.#begun.values()].filter(
      ({ stream }) => stream?.isHeldUp === true && stream.held > 0,
    )
    const stillSinceMs = clock.monotonicMs() - STILL_MS
    const [still] = unread
      .filter(({ readMs }) => readMs <= stillSinceMs)
      .toSorted((a, b) => a.readMs - b.readMs)
    const { to } = this.#held()
    const own = (to.get(whoAsks(ask).address) ?? 0) + MAX_HELD
    const goes = still ?? unread.find((one) => (to.get(whoAsks(one.ask).address) ?? 0) > own)
    if (goes === undefined) {
      this.#lookLater()
      return
    }
    goes.stream?.end()
    this.#over(goes.id)
    this.#post({ kind: 'unread', id: goes.id })
    this.#beginSome()
  }

  #lookLater(): void {
    if (this.#isLookPlanned) return
    this.#isLookPlanned = true
    this.#serving.timers.after(STILL_MS, () => {
      this.#isLookPlanned = false
      this.#lookForMemory()
    })
  }

  /** Retries answers that wait for memory. */
  #lookForMemory(): void {
    const waiting = [...this.#withoutMemory]
    this.#withoutMemory.clear()
    for (const begun of waiting) this.#queue(begun)
  }

  #over(id: number): void {
    const begun = this.#begun.get(id)
    if (begun === undefined) return
    this.#begun.delete(id)
    this.#withoutMemory.delete(begun)
    this.#lookForMemory()
    const { address, connection } = whoAsks(begun.ask)
    count(this.#ofAddress, address, -1)
    count(this.#ofConnection, connection, -1)
  }

  #forASlice(): () => boolean {
    const { clock } = this.#serving
    const untilMs = clock.monotonicMs() + SLICE_MS
    return () => clock.monotonicMs() < untilMs
  }
}

function whoAsks({ asker }: Ask): { address: string; connection: number } {
  return asker ?? { address: '', connection: 0 }
}

function count<Key>(counts: Map<Key, number>, key: Key, more: number): void {
  const left = (counts.get(key) ?? 0) + more
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}
