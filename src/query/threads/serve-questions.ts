import type { MessagePort } from 'node:worker_threads'
import { errorText } from '../../model/faults.ts'
import type { CausewayQueries } from '../../model/queries.ts'
import { type Clock, MIB, type Timers } from '../../model/time-and-size.ts'
import { FairQueue, type Queued } from '../../platform/fair-queue.ts'
import { TooMuchRead } from '../../store/sqlite/record-queries.ts'
import { answer, type Answer } from '../answer.ts'
import { type Asker, BadQuestion } from '../question.ts'
import { AnswerStream, CHUNK_LENGTH, CostlyAskers, etagOf } from './answer-stream.ts'
import type { AnswerLength, Ask, FromQuery, ToQuery } from './query-threads.ts'

interface QueryServing {
  queries: CausewayQueries
  salt: string
  /** Changes whenever something was written. */
  dataVersion: () => string
  /** Says why a question failed. */
  reasonOf: (error: unknown) => string
  clock: Pick<Clock, 'monotonicMs'>
  /** How long this thread has had a processor. */
  cpuMs: () => number
  timers: Pick<Timers, 'soon' | 'after'>
  /** Told how long a row's text was that was made: what making it left behind is collected once it is much. */
  onMade: (bytes: number) => void
}

/** What becomes of questions. */
interface Answering {
  ask(ask: Ask): void
  /** A chunk of the answer was read. */
  read(id: number): void
  /** Nobody waits for the answer any more. */
  cancel(id: number): void
  stop(): void
}

interface ServingSettings extends Omit<QueryServing, 'reasonOf'>, Partial<Pick<QueryServing, 'reasonOf'>> {
  /** Answers of any length unless given. */
  answers?: AnswerLength
  onStop: () => void
}

/**
 * Answers the questions that come through a port, taking turns: a long answer stops no short one, and one whose reader
 * is slow waits without holding on to the database.
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

/** What takes the processor for longer is a long answer, and so is what waits for the disk, or for a processor, for longer. */
const SHORT_CPU_MS = 20
const SHORT_MS = 1_000
/** What reads more is a long answer too: to make JSON of one large row takes longer than all that. */
const SHORT_BYTES = MIB
/** What a question is thought to take before it is asked, in milliseconds. */
const USUAL_MS = 2
/** How long questions are answered before what has come in meanwhile is heard. */
const SHORT_SLICE_MS = 5
/** Addresses, and the connections of each. */
const SHORT_LEVELS = 2

function failed(id: number, error: unknown, reasonOf: (error: unknown) => string): FromQuery {
  return error instanceof BadQuestion
    ? { kind: 'failed', id, reason: error.message, isBad: true }
    : { kind: 'failed', id, reason: reasonOf(error) }
}

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
class ShortAnswers implements Answering {
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
    while (this.#waiting.size > 0 && nowMs - startedMs < SHORT_SLICE_MS) {
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
      const answered = answer(queries, question, () => clock.monotonicMs())
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
      this.#post(failed(id, error, reasonOf))
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

/** How long one answer may hold up the others. */
const SLICE_MS = 10
/**
 * Long answers that one address may have begun at a time: each holds the rows that it is made of until it is read. Further ones
 * wait for these, and nobody else's do.
 */
const MAX_BEGUN = 16
/**
 * What answers of large rows may hold together before another one begins: of an address that has one already, and of one that
 * has none, so that what somebody does not read keeps nobody else waiting.
 */
const MAX_HELD = 16 * MIB
const MAX_HELD_BY_ALL = 48 * MIB
/** Of these one ends of which nothing was read for so long, when others wait to begin. */
const STILL_MS = 1_000
/** Addresses, and the connections of each. */
const LEVELS = 2

/** An answer under way: its question is to be looked at first, then it is made in slices. */
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

/** Makes answers of any length in slices, in turn by address and connection; one whose reader has fallen behind has no turn. */
class LongAnswers implements Answering {
  readonly #post: (message: FromQuery) => void
  readonly #serving: QueryServing
  readonly #begun = new Map<number, Begun>()
  readonly #turns = new FairQueue<Turn>(LEVELS)
  /** How many of them each address has, and each connection. */
  readonly #ofAddress = new Map<string, number>()
  readonly #ofConnection = new Map<number, number>()
  /** Asked, and not begun yet. */
  readonly #waiting = new Map<number, Ask>()
  /** Under way, and not made: others hold too much. */
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

  /** For a slice, at least one of those whose turn it is. */
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

  /** Undefined when there is nothing more to say. */
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

  /** What holds something already goes on. */
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

  /** What waits for memory looks again whether there is some. */
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
