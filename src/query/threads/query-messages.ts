import type { StorageFault } from '../../model/faults.ts'
import type { ArchiveAddress } from '../archive/archive-client.ts'
import type { Asker, NoAnswer, Question } from '../question.ts'

/** Which answers a thread makes: short ones, those of any length, or those that need an archive. */
export type AnswerLength = 'short' | 'any' | 'archive'

export interface QueryThreadData {
  path: string
  /** A random text, part of all etags: data versions of different processes may be the same number. */
  salt: string
  answers: AnswerLength
  /** For the thread of archive answers. */
  archive?: ArchiveAddress
}

/** `known`: etags of answers that the client has cached. `asker`: the client. */
export interface Ask {
  readonly kind: 'ask'
  readonly id: number
  readonly question: Question
  readonly known: readonly string[]
  readonly asker: Asker
}

export type ToQuery =
  | Ask
  /** The client has read the oldest unacknowledged chunk. */
  | { kind: 'read'; id: number }
  /** The client has stopped reading. */
  | { kind: 'cancel'; id: number }
  /** A question that was too long for this thread took little time in the thread for long answers. */
  | { kind: 'short'; question: Question; connection: number }
  | { kind: 'stop' }

export type FromQuery =
  | { kind: 'ready' }
  | { kind: 'fatal'; reason: string }
  /** A question showed that the database is damaged. */
  | { kind: 'storage'; fault: StorageFault }
  /** A whole short answer. `isShort`: the thread for long answers made it in little time. */
  | { kind: 'whole'; id: number; etag: string; text: string; isShort?: true }
  /** Chunks follow, then `end` or `failed`. */
  | { kind: 'found'; id: number; etag: string | undefined }
  | { kind: 'notModified'; id: number; etag: string; isShort?: true }
  | { kind: 'refused'; id: number; refusal: NoAnswer }
  /** The answer is too long for this thread. */
  | { kind: 'long'; id: number; partial?: string }
  | { kind: 'chunk'; id: number; text: string }
  | { kind: 'end'; id: number; isShort?: true }
  /** The answer was ended, because the client did not read it and others needed its memory. */
  | { kind: 'unread'; id: number }
  /** `isBad`: the question itself is wrong. */
  | { kind: 'failed'; id: number; reason: string; isBad?: boolean }
