import type { Question, Refusal } from '../query/question.ts'

/** What the query thread is started with. */
export interface QueryThreadData {
  path: string
}

export type ToQuery =
  | { kind: 'ask'; id: number; question: Question }
  /** The oldest chunk of the answer that was not acknowledged yet has been read. */
  | { kind: 'read'; id: number }
  /** Nobody reads the answer any more. */
  | { kind: 'cancel'; id: number }
  | { kind: 'stop' }

export type FromQuery =
  | { kind: 'ready' }
  | { kind: 'fatal'; reason: string }
  /** Chunks follow, then `end` or `failed`. */
  | { kind: 'found'; id: number }
  | { kind: 'refused'; id: number; refusal: Refusal }
  | { kind: 'chunk'; id: number; text: string }
  | { kind: 'end'; id: number }
  | { kind: 'failed'; id: number; reason: string }
