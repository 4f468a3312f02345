import type { Asker } from '../query/asker.ts'
import type { Question, NoAnswer } from '../query/question.ts'

/**
 * The answer to a question: its JSON text in chunks, or why there is none. An `etag`, as HTTP writes it, changes when
 * the text does; without one it is not known whether it did. `notModified`: the caller has it already.
 */
export type Reply =
  | { kind: 'found'; text: ReplyText; etag: string | undefined }
  | { kind: 'notModified'; etag: string }
  | { kind: NoAnswer }

/**
 * JSON text in the making, read once; what is not read is not made. Whoever stops reading before the end, or never
 * begins, calls `cancel`, which a loop that is left does by itself. Reading rejects when making it failed.
 */
export interface ReplyText extends AsyncIterable<string> {
  /** All of it, where it is short and made already. */
  readonly whole?: string
  cancel(): void
}

/** The answer ended, since nobody read it and others waited for what it held. */
export class UnreadAnswer extends Error {
  constructor() {
    super('nobody read the answer')
  }
}

/** Answers questions, somewhere else. Rejects when whoever answers is gone or failed. */
export interface QueryService {
  /**
   * `known`: the etags of answers that the caller has. With `gone` the question is given up, and the promise rejects. `asker`
   * says who asks: who asks much waits for itself, and keeps nobody else waiting.
   */
  ask(question: Question, known?: readonly string[], gone?: AbortSignal, asker?: Asker): Promise<Reply>
}
