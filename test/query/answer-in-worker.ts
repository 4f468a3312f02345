// A thread with little memory, which makes answers as a query thread does, and says how long each became.
import { parentPort, workerData } from 'node:worker_threads'
import { answer } from '../../src/query/answer.ts'
import type { Question } from '../../src/query/question.ts'
import { openForReading } from '../../src/store/sqlite/open-database.ts'
import { sqliteQueries } from '../../src/store/sqlite/queries.ts'

const { path, questions } = workerData as { path: string; questions: readonly Question[] }
const db = openForReading(path, 8 * 1024)
const lengths = questions.map((question) => {
  const answered = answer(sqliteQueries(db), question)
  if (answered.kind !== 'found') return 0
  let length = 0
  for (const piece of answered.pieces) length += piece.length
  return length
})
db.close()
parentPort?.postMessage(lengths)
