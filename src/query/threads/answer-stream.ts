import { createHash } from 'node:crypto'
import { MIB } from '../../model/time-and-size.ts'
import type { FromQuery } from './query-threads.ts'

/** The most unread chunks of an answer that is being read. */
const MAX_UNREAD = 4
/** The most before reading begins, since many clients may wait. */
const MAX_UNBEGUN = 1
/** The length of a chunk; an answer of one chunk is short. */
export const CHUNK_LENGTH = 64 * 1024
/** An answer of larger rows counts for no more: it could not be given otherwise. */
const MOST_COUNTED = 16 * MIB

interface AnswerParts {
  id: number
  pieces: Iterable<string>
  /** What its etag is made of if it is longer than one chunk; the text itself, if not. */
  version: string
  /** Etags of answers that the caller has. */
  known: readonly string[]
  post: (message: FromQuery) => void
  /** How many bytes of rows were read until now, for whatever answer. */
  bytesRead: () => number
  /** Called with the length of every piece. */
  onMade: (bytes: number) => void
}

/** One answer: made piece by piece, sent chunk by chunk, as fast as it is read. */
export class AnswerStream {
  readonly #parts: AnswerParts
  readonly #pieces: Iterator<string>
  /** The beginning of the next chunk. */
  #text = ''
  #isMade = false
  /** The length of the longest piece. */
  #longest = 0
  /** The bytes of the rows that the next pieces are made of. */
  #page = 0
  #isAnnounced = false
  #unread = 0
  #maxUnread = MAX_UNBEGUN
  #isOver = false

  constructor(parts: AnswerParts) {
    this.#parts = parts
    this.#pieces = parts.pieces[Symbol.iterator]()
  }

  /** Whether the answer has ended. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Its reader has fallen behind. */
  get isHeldUp(): boolean {
    return this.#unread >= this.#maxUnread
  }

  /** The bytes that making it holds until it is read, where its rows are large. */
  get held(): number {
    const ofRows = Math.max(this.#longest, this.#page)
    return ofRows <= CHUNK_LENGTH || this.#isOver ? 0 : Math.min(MOST_COUNTED, this.#text.length + ofRows)
  }

  /** A chunk was read. */
  read(): void {
    this.#unread--
    this.#maxUnread = MAX_UNREAD
  }

  /** Stops making the answer and frees its memory. */
  end(): void {
    if (!this.#isOver) this.#pieces.return?.()
    this.#isOver = true
  }

  /** Says that there is an answer of that version, or that the caller has it already, which ends this. */
  announce(version: string): void {
    const etag = etagOf(version)
    if (this.#parts.known.includes(etag)) this.#notModified(etag)
    else {
      this.#isAnnounced = true
      this.#parts.post({ kind: 'found', id: this.#parts.id, etag })
    }
  }

  /** Goes on until there is a chunk, or `mayGoOn` says no. */
  advance(mayGoOn: () => boolean): void {
    this.#make(mayGoOn)
    if (!this.#isAnnounced) {
      if (this.#isMade && this.#text.length <= CHUNK_LENGTH) {
        this.#sendWhole()
        return
      }
      if (this.#text.length < CHUNK_LENGTH) return
      this.announce(this.#parts.version)
      if (this.#isOver) return
    }
    this.#sendChunk()
    if (!this.#isMade || this.#text !== '') return
    this.#isOver = true
    this.#parts.post({ kind: 'end', id: this.#parts.id })
  }

  /** Makes the next chunk, unless it is there already. */
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

  #sendWhole(): void {
    const { id, known, post } = this.#parts
    const etag = etagOf(this.#text)
    if (known.includes(etag)) this.#notModified(etag)
    else post({ kind: 'whole', id, etag, text: this.#text })
    this.end()
  }

  #notModified(etag: string): void {
    this.end()
    this.#parts.post({ kind: 'notModified', id: this.#parts.id, etag })
  }

  #sendChunk(): void {
    if (this.#text === '') return
    const cut = endOfChunk(this.#text)
    const text = this.#text.slice(0, cut)
    this.#text = this.#text.slice(cut)
    this.#unread++
    this.#parts.post({ kind: 'chunk', id: this.#parts.id, text })
  }
}

/** Each chunk is written by itself, so that no character may be divided between two. */
function endOfChunk(text: string): number {
  const isHighSurrogate = /[\uD800-\uDBFF]/.test(text.charAt(CHUNK_LENGTH - 1))
  return isHighSurrogate ? CHUNK_LENGTH - 1 : CHUNK_LENGTH
}

export function etagOf(version: string): string {
  return `W/"${createHash('sha1').update(version).digest('base64url')}"`
}
