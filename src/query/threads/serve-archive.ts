import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../../platform/system-clock.ts'
import type { Sqlite } from '../../store/sqlite/open-database.ts'
import { sqliteQueries } from '../../store/sqlite/queries.ts'
import { SqliteUnarchived } from '../../store/sqlite/unarchived.ts'
import { type ArchiveAddress, ArchiveClient } from '../archive/archive-client.ts'
import { archiveAnswer } from '../archive/archive-json.ts'
import { ArchiveQuestions } from '../archive/archive-questions.ts'
import { isArchived } from '../question.ts'
import type { Ask, FromQuery, ToQuery } from './query-messages.ts'
import { etagOf } from './short-answers.ts'

/** The most concurrent archive queries, in total and for one address. Further ones wait. */
const MOST_ASKED = 8
const MOST_OF_ADDRESS = 4

interface ArchiveServing {
  readonly db: Sqlite
  readonly archive: ArchiveAddress
  /** Says why a question failed. */
  readonly reasonOf: (error: unknown) => string
}

/** Answers questions from a port that also need the archive. Answers are sent whole, since their length is bounded. */
export function serveArchive(port: MessagePort, { db, archive: address, reasonOf }: ArchiveServing): void {
  const archive = new ArchiveClient(address, 'Causeway')
  const questions = new ArchiveQuestions({
    ...{ archive, queries: sqliteQueries(db), unarchived: new SqliteUnarchived(db) },
    nowMs: () => systemClock.monotonicMs(),
  })
  const waiting = new Map<number, Ask>()
  const asked = new Map<number, Ask>()
  let isStopping = false
  const post = (message: FromQuery): void => {
    if (!isStopping) port.postMessage(message)
  }
  const answer = async ({ id, question, known }: Ask): Promise<void> => {
    try {
      if (!isArchived(question)) {
        post({ kind: 'long', id })
        return
      }
      const answered = await archiveAnswer(questions, question)
      if (answered.kind === 'here') {
        const { partial } = answered
        post({ kind: 'long', id, ...(partial !== undefined && { partial }) })
        return
      }
      if (answered.kind !== 'found') {
        post({ kind: 'refused', id, refusal: answered.kind })
        return
      }
      const etag = etagOf(answered.text)
      if (known.includes(etag)) post({ kind: 'notModified', id, etag })
      else post({ kind: 'whole', id, etag, text: answered.text })
    } catch (error) {
      post({ kind: 'failed', id, reason: reasonOf(error) })
    }
  }
  const askSome = (): void => {
    for (const ask of waiting.values()) {
      if (asked.size >= MOST_ASKED) return
      const { address } = ask.asker
      if ([...asked.values()].filter(({ asker }) => asker.address === address).length >= MOST_OF_ADDRESS)
        continue
      waiting.delete(ask.id)
      asked.set(ask.id, ask)
      void answer(ask).then(() => {
        asked.delete(ask.id)
        if (!isStopping) askSome()
      })
    }
  }
  port.on('message', (message: ToQuery) => {
    switch (message.kind) {
      case 'ask':
        waiting.set(message.id, message)
        askSome()
        return
      case 'read':
      case 'short':
        return
      case 'cancel':
        // A running archive query is not cancelled: it ends by its own timeout.
        waiting.delete(message.id)
        return
      case 'stop':
        isStopping = true
        waiting.clear()
        port.close()
        void archive[Symbol.asyncDispose]()
        db.close()
    }
  })
}
