import { type Cpid, parseCpid } from '../../src/model/merge-graph.ts'
import type { Absent, Pages } from '../../src/model/queries.ts'
import { answer } from '../../src/query/answer.ts'
import type { Question } from '../../src/query/question.ts'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { sqliteQueries } from '../../src/store/sqlite/queries.ts'
import { cpid } from '../support/otlp-requests.ts'

/** The CPID with this number. */
export function id(number: number): Cpid {
  const parsed = parseCpid(cpid(number))
  if (parsed === undefined) throw new Error(`${number} makes no CPID`)
  return parsed
}

/** Everything in a list. */
export function all<T>(found: Pages<T> | Absent): T[] {
  if (typeof found === 'string') throw new Error(found)
  return [...found].flat()
}

/** The numbers that CPIDs were made of. */
export const numbersOf = (cpids: readonly string[]): number[] =>
  cpids.map((text) => Number.parseInt(text.slice(-12), 16))

/** The JSON that a question is answered with, parsed; the refusal where it is refused. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller knows the shape
export function ask<T>({ db }: { db: Sqlite }, question: Question): T {
  const answered = answer(sqliteQueries(db), question)
  if (answered.kind !== 'found') return answered.kind as T
  return JSON.parse([...answered.pieces].join('')) as T
}

/** A list read in parts of `limit`, each part by itself. */
export function inParts<T>(of: { db: Sqlite }, question: Question, name: string, limit: number): T[][] {
  const parts: T[][] = []
  for (let after: string | null | undefined; after !== null;) {
    const part = { limit, ...(after !== undefined && { after }) }
    const page = ask<Record<string, T[]> & { next: string | null }>(of, { ...question, part } as Question)
    parts.push(page[name] ?? [])
    after = page.next
  }
  return parts
}
