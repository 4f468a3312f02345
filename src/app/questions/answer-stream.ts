import { createHash } from 'node:crypto'
import type { FromQuery } from '../../threads/query-messages.ts'

/** Chunks of an answer that may be under way unread, once its reader has begun. */
const MAX_UNREAD = 4
/** Until then: whoever asked may be one of many, whose answers are not begun while others wait to be read. */
const MAX_UNBEGUN = 1
const CHUNK_LENGTH = 64 * 1024

export interface AnswerParts {
  id: number
  pieces: Iterable<string>
  /** What its etag is made of if it is longer than one chunk; the text itself, if not. */
  version: string
  /** Etags of answers that the caller has. */
  known: readonly string[]
  post: (message: FromQuery) => void
}

/** One answer on its way to whoever asked: made piece by piece, sent chunk by chunk, as fast as it is read. */
export class AnswerStream {
  readonly #parts: AnswerParts
  readonly #pieces: Iterator<string>
  /** What was made of the next chunk. */
  #text = ''
  #isAnnounced = false
  #unread = 0
  #maxUnread = MAX_UNBEGUN
  #isOver = false

  constructor(parts: AnswerParts) {
    this.#parts = parts
    this.#pieces = parts.pieces[Symbol.iterator]()
  }

  /** Nothing more is to be said. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Its reader has fallen behind. */
  get isHeldUp(): boolean {
    return this.#unread >= this.#maxUnread
  }

  /** A chunk was read. */
  read(): void {
    this.#unread--
    this.#maxUnread = MAX_UNREAD
  }

  /** Makes no more of the answer, and lets go what making it holds. */
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
    const isWhole = this.#make(mayGoOn)
    if (!this.#isAnnounced) {
      if (isWhole) {
        this.#sendWhole()
        return
      }
      if (this.#text.length < CHUNK_LENGTH) return
      this.announce(this.#parts.version)
      if (this.#isOver) return
    }
    this.#sendChunk()
    if (!isWhole) return
    this.#isOver = true
    this.#parts.post({ kind: 'end', id: this.#parts.id })
  }

  /** True when all of the answer has been made. */
  #make(mayGoOn: () => boolean): boolean {
    do {
      const piece = this.#pieces.next()
      if (piece.done === true) return true
      this.#text += piece.value
    } while (this.#text.length < CHUNK_LENGTH && mayGoOn())
    return false
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
    this.#unread++
    this.#parts.post({ kind: 'chunk', id: this.#parts.id, text: this.#text })
    this.#text = ''
  }
}

function etagOf(version: string): string {
  return `W/"${createHash('sha1').update(version).digest('base64url')}"`
}
