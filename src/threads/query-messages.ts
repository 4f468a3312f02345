import type { StorageFault } from '../model/storage-fault.ts'
import type { Asker } from '../query/asker.ts'
import type { Question, NoAnswer } from '../query/question.ts'

/** Which answers a thread gives: those that are made soon, or any. */
export type AnswerLength = 'short' | 'any'

/** What a query thread is started with. */
export interface QueryThreadData {
  path: string
  /** Different in each process: etags may be made of numbers that begin anew. */
  salt: string
  answers: AnswerLength
}

/** `known`: the etags of answers that the caller has; `asker`: who asks. */
export interface Ask {
  readonly kind: 'ask'
  readonly id: number
  readonly question: Question
  readonly known: readonly string[]
  readonly asker?: Asker | undefined
}

export type ToQuery =
  | Ask
  /** The oldest chunk of the answer that was not acknowledged yet has been read. */
  | { kind: 'read'; id: number }
  /** Nobody reads the answer any more. */
  | { kind: 'cancel'; id: number }
  | { kind: 'stop' }

export type FromQuery =
  | { kind: 'ready' }
  | { kind: 'fatal'; reason: string }
  /** A question showed that the database is damaged. */
  | { kind: 'storage'; fault: StorageFault }
  /** A short answer, complete. */
  | { kind: 'whole'; id: number; etag: string; text: string }
  /** Chunks follow, then `end` or `failed`. */
  | { kind: 'found'; id: number; etag: string | undefined }
  | { kind: 'notModified'; id: number; etag: string }
  | { kind: 'refused'; id: number; refusal: NoAnswer }
  /** The answer is a long one, and this thread gives short ones alone. */
  | { kind: 'long'; id: number }
  | { kind: 'chunk'; id: number; text: string }
  | { kind: 'end'; id: number }
  /** The answer ends here: nobody read it, and others waited for the memory that it held. */
  | { kind: 'unread'; id: number }
  | { kind: 'failed'; id: number; reason: string }
