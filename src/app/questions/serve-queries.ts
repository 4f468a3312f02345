import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../../model/clock.ts'
import { errorText } from '../../model/error-text.ts'
import type { CausewayQueries } from '../../model/ports/query-port.ts'
import type { Timers } from '../../model/timers.ts'
import type { AnswerLength, Ask, FromQuery, ToQuery } from '../../threads/query-messages.ts'
import { AnswerTurns } from './answer-turns.ts'
import { ShortAnswers } from './short-answers.ts'

export interface QueryServing {
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
export interface Answering {
  ask(ask: Ask): void
  /** A chunk of the answer was read. */
  read(id: number): void
  /** Nobody waits for the answer any more. */
  cancel(id: number): void
  stop(): void
}

export interface ServingSettings
  extends Omit<QueryServing, 'reasonOf'>, Partial<Pick<QueryServing, 'reasonOf'>> {
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
    answers === 'short' ? new ShortAnswers(post, serving) : new AnswerTurns(post, serving)
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
