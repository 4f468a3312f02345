import { MIB } from '../../model/time-and-size.ts'
import { FairQueue, type Queued } from '../../platform/fair-queue.ts'
import { answer } from '../answer.ts'
import type { Ask, FromQuery } from './query-messages.ts'
import {
  type Answering,
  CHUNK_LENGTH,
  etagOf,
  failed,
  type QueryServing,
  SHORT_IN_ALL_CPU_MS,
} from './short-answers.ts'

/** How long a turn lasts, in milliseconds. */
const SLICE_MS = 10
/** The most long answers in progress for one address, since each holds rows in memory until they are read. Further ones wait. */
const MAX_BEGUN = 16
/**
 * The limits on the total memory held by answers with large rows, beyond which no other answer allocates: one for addresses that already
 * hold some, a higher one for addresses that hold none, so that clients that do not read delay nobody else.
 */
const MAX_HELD = 16 * MIB
const MAX_HELD_BY_ALL = 48 * MIB
/** An answer that was not read for this long is ended if others wait for memory, in milliseconds. */
const STILL_MS = 1_000
/** The levels of fair queueing: addresses, and connections within each. */
const LEVELS = 2

/** An answer in progress, or a question whose answer has not been started yet. */
interface Begun {
  readonly id: number
  readonly ask: Ask
  stream?: AnswerStream | undefined
  /** Whether it is in the queue of turns. */
  isQueued: boolean
  /** The CPU time of its turns so far, in milliseconds. */
  cpuMs: number
  /** When the client last read a chunk. */
  readMs: number
}

interface Turn extends Queued {
  readonly begun: Begun
}

/** Makes answers of any length. Turns alternate between addresses and connections; an answer whose client reads slowly skips its turn. */
export class LongAnswers implements Answering {
  readonly #post: (message: FromQuery) => void
  readonly #serving: QueryServing
  readonly #begun = new Map<number, Begun>()
  readonly #turns = new FairQueue<Turn>(LEVELS)
  /** How many answers in progress each address has, and each connection. */
  readonly #ofAddress = new Map<string, number>()
  readonly #ofConnection = new Map<number, number>()
  /** Questions that wait until their address has room. */
  readonly #waiting = new Map<number, Ask>()
  /** Answers in progress that wait for memory that others hold. */
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
      const { address, connection } = ask.asker
      this.#waiting.delete(ask.id)
      count(this.#ofAddress, address, 1)
      count(this.#ofConnection, connection, 1)
      const readMs = this.#serving.clock.monotonicMs()
      const begun = { id: ask.id, ask, isQueued: false, cpuMs: 0, readMs }
      this.#begun.set(ask.id, begun)
      this.#queue(begun)
    }
  }

  /** The next waiting question of an address with room, from the connection with the fewest answers in progress. */
  #nextWaiting(): Ask | undefined {
    let found: Ask | undefined
    let fewest = Infinity
    for (const ask of this.#waiting.values()) {
      const { address, connection } = ask.asker
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
    const { address, connection } = begun.ask.asker
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
      // The answer may have been cancelled while it was queued.
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
    const { cpuMs } = this.#serving
    const startedMs = cpuMs() - begun.cpuMs
    try {
      begun.stream ??= this.#begin(begun.ask)
      begun.stream?.advance(this.#forASlice(), () => cpuMs() - startedMs <= SHORT_IN_ALL_CPU_MS)
      begun.cpuMs = cpuMs() - startedMs
      if (begun.stream?.isOver !== false) this.#over(id)
    } catch (error) {
      this.#over(id)
      this.#post(failed(id, error, this.#serving.reasonOf))
    }
    this.#beginSome()
  }

  /** Starts an answer; undefined if there is nothing to stream. */
  #begin({ id, question, known }: Ask): AnswerStream | undefined {
    const { queries, salt, dataVersion, onMade, clock } = this.#serving
    // Read before the answer is made: if a write comes in between, the etag is outdated, and the next request gets a new one.
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

  /** The memory held by answers, for each address and in total. */
  #held(): { all: number; to: ReadonlyMap<string, number> } {
    const to = new Map<string, number>()
    let all = 0
    for (const { ask, stream } of this.#begun.values()) {
      if (stream === undefined) continue
      all += stream.held
      count(to, ask.asker.address, stream.held)
    }
    return { all, to }
  }

  /** Whether an answer may allocate memory. One that already holds some may go on. */
  #hasMemoryFor({ ask, stream }: Begun): boolean {
    if (stream !== undefined && stream.held > 0) return true
    const { all, to } = this.#held()
    return all < MAX_HELD || (all < MAX_HELD_BY_ALL && !to.has(ask.asker.address))
  }

  /** Ends the answer that has been unread for longest, at least STILL_MS, or else an unread one to an address that holds much more. */
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
    const own = (to.get(ask.asker.address) ?? 0) + MAX_HELD
    const goes = still ?? unread.find((one) => (to.get(one.ask.asker.address) ?? 0) > own)
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
    const { address, connection } = begun.ask.asker
    count(this.#ofAddress, address, -1)
    count(this.#ofConnection, connection, -1)
  }

  #forASlice(): () => boolean {
    const { clock } = this.#serving
    const untilMs = clock.monotonicMs() + SLICE_MS
    return () => clock.monotonicMs() < untilMs
  }
}

function count<Key>(counts: Map<Key, number>, key: Key, more: number): void {
  const left = (counts.get(key) ?? 0) + more
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}

/** The most unread chunks of an answer, once the client has read one. */
const MAX_UNREAD = 4
/** The most unread chunks before the client has read one, since many clients may wait. */
const MAX_UNBEGUN = 1
/** The most memory that is counted for one answer. One with larger rows would never be made otherwise. */
const MOST_COUNTED = 16 * MIB

interface AnswerParts {
  id: number
  pieces: Iterable<string>
  /** The data version for the etag of an answer of several chunks. The etag of an answer of one chunk is made from its text. */
  version: string
  /** Etags of answers that the client has cached. */
  known: readonly string[]
  post: (message: FromQuery) => void
  /** How many bytes of rows this thread has read so far, for all answers. */
  bytesRead: () => number
  /** Called with the length of every piece. */
  onMade: (bytes: number) => void
}

/** Makes one answer piece by piece, and sends it in chunks as fast as the client reads. */
class AnswerStream {
  readonly #parts: AnswerParts
  readonly #pieces: Iterator<string>
  /** The text that is not sent yet. */
  #text = ''
  #isMade = false
  /** The length of the longest piece so far. */
  #longest = 0
  /** The bytes of the rows in the current page. */
  #page = 0
  #isAnnounced = false
  #chunks = 0
  #unread = 0
  #maxUnread = MAX_UNBEGUN
  #isOver = false

  constructor(parts: AnswerParts) {
    this.#parts = parts
    this.#pieces = parts.pieces[Symbol.iterator]()
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether the client has too many unread chunks. */
  get isHeldUp(): boolean {
    return this.#unread >= this.#maxUnread
  }

  /** The memory that the answer holds until it is read, in bytes; 0 if its rows are small. */
  get held(): number {
    const ofRows = Math.max(this.#longest, this.#page)
    return ofRows <= CHUNK_LENGTH || this.#isOver ? 0 : Math.min(MOST_COUNTED, this.#text.length + ofRows)
  }

  /** Called when the client has read a chunk. */
  read(): void {
    this.#unread--
    this.#maxUnread = MAX_UNREAD
  }

  /** Stops making the answer and frees its memory. */
  end(): void {
    if (!this.#isOver) this.#pieces.return?.()
    this.#isOver = true
  }

  /** Announces the answer with its etag. If the client has that version already, replies `notModified` and ends the answer. */
  announce(version: string): void {
    const etag = etagOf(version)
    if (this.#parts.known.includes(etag)) this.#notModified(etag)
    else {
      this.#isAnnounced = true
      this.#parts.post({ kind: 'found', id: this.#parts.id, etag })
    }
  }

  /** Works until there is a chunk, or `mayGoOn` returns false. `isShort`: whether the answer took little time in total. */
  advance(mayGoOn: () => boolean, isShort: () => boolean): void {
    this.#make(mayGoOn)
    if (!this.#isAnnounced) {
      if (this.#isMade && this.#text.length <= CHUNK_LENGTH) {
        this.#sendWhole(isShort())
        return
      }
      if (this.#text.length < CHUNK_LENGTH) return
      this.announce(this.#parts.version)
      if (this.#isOver) return
    }
    this.#sendChunk()
    if (!this.#isMade || this.#text !== '') return
    this.#isOver = true
    const wasShort = this.#chunks === 1 && isShort()
    this.#parts.post({ kind: 'end', id: this.#parts.id, ...(wasShort && { isShort: true }) })
  }

  /** Makes text for the next chunk, unless there is enough already. */
  #make(mayGoOn: () => boolean): void {
    if (this.#isMade || this.#text.length >= CHUNK_LENGTH) return
    do {
      const piece = this.#nextPiece()
      if (piece.done === true) {
        this.#isMade = true
        return
      }
      this.#text += piece.value
      this.#longest = Math.max(this.#longest, piece.value.length)
      this.#parts.onMade(piece.value.length)
    } while (this.#text.length < CHUNK_LENGTH && mayGoOn())
  }

  #nextPiece(): IteratorResult<string> {
    const { bytesRead } = this.#parts
    const before = bytesRead()
    const piece = this.#pieces.next()
    const read = bytesRead() - before
    if (read > 0) this.#page = read
    return piece
  }

  #sendWhole(isShort: boolean): void {
    const { id, known, post } = this.#parts
    const etag = etagOf(this.#text)
    if (known.includes(etag)) this.#notModified(etag, isShort)
    else post({ kind: 'whole', id, etag, text: this.#text, ...(isShort && { isShort: true }) })
    this.end()
  }

  #notModified(etag: string, isShort = false): void {
    this.end()
    this.#parts.post({ kind: 'notModified', id: this.#parts.id, etag, ...(isShort && { isShort: true }) })
  }

  #sendChunk(): void {
    if (this.#text === '') return
    const cut = endOfChunk(this.#text)
    const text = this.#text.slice(0, cut)
    this.#text = this.#text.slice(cut)
    this.#chunks++
    this.#unread++
    this.#parts.post({ kind: 'chunk', id: this.#parts.id, text })
  }
}

/** The end of the next chunk. Chunks are encoded one by one, so it does not separate a surrogate pair. */
function endOfChunk(text: string): number {
  const isHighSurrogate = /[\uD800-\uDBFF]/.test(text.charAt(CHUNK_LENGTH - 1))
  return isHighSurrogate ? CHUNK_LENGTH - 1 : CHUNK_LENGTH
}
