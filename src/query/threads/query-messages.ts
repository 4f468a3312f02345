import type { StorageFault } from '../../model/faults.ts'
import type { ArchiveAddress } from '../archive/archive-client.ts'
import type { Asker, NoAnswer, Question } from '../question.ts'

/** The answers of a thread: short ones, any, or those that need an archive. */
export type AnswerLength = 'short' | 'any' | 'archive'

export interface QueryThreadData {
  path: string
  /** Different in each process: etags may be made of numbers that begin anew. */
  salt: string
  answers: AnswerLength
  /** For the answers for which one is asked. */
  archive?: ArchiveAddress
}

/** `known`: the etags of answers that the caller has; `asker`: who asks. */
export interface Ask {
  readonly kind: 'ask'
  readonly id: number
  readonly question: Question
  readonly known: readonly string[]
  readonly asker: Asker
}

export type ToQuery =
  | Ask
  /** The oldest chunk of the answer that was not acknowledged yet has been read. */
  | { kind: 'read'; id: number }
  /** The client has stopped reading. */
  | { kind: 'cancel'; id: number }
  /** A question that was too long for this thread took little time in the other one. */
  | { kind: 'short'; question: Question; connection: number }
  | { kind: 'stop' }

export type FromQuery =
  | { kind: 'ready' }
  | { kind: 'fatal'; reason: string }
  /** A question showed that the database is damaged. */
  | { kind: 'storage'; fault: StorageFault }
  /** A short answer, complete; `isShort`: making it took a thread for long answers little time. */
  | { kind: 'whole'; id: number; etag: string; text: string; isShort?: true }
  /** Chunks follow, then `end` or `failed`. */
  | { kind: 'found'; id: number; etag: string | undefined }
  | { kind: 'notModified'; id: number; etag: string; isShort?: true }
  | { kind: 'refused'; id: number; refusal: NoAnswer }
  /** The answer is too long for this thread. */
  | { kind: 'long'; id: number; partial?: string }
  | { kind: 'chunk'; id: number; text: string }
  | { kind: 'end'; id: number; isShort?: true }
  /** The answer was ended: it was not read, and others waited for its memory. */
  | { kind: 'unread'; id: number }
  /** `isBad`: the question itself is wrong. */
  | { kind: 'failed'; id: number; reason: string; isBad?: boolean }
