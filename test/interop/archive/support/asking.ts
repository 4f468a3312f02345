import type { ClickHouseServer } from '../../../../lab/harness/clickhouse-server.ts'
import { archiveSettings } from '../../../../lab/harness/archive-settings.ts'
import type { Cpid } from '../../../../src/model/merge-graph.ts'
import type { CascadeFilter, CausewayQueries } from '../../../../src/model/queries.ts'
import { answer } from '../../../../src/query/answer.ts'
import { type ArchiveAddress, ArchiveClient } from '../../../../src/query/archive/archive-client.ts'
import { archiveAnswer } from '../../../../src/query/archive/archive-json.ts'
import { ArchiveQuestions } from '../../../../src/query/archive/archive-questions.ts'
import type { PageRequest, Question } from '../../../../src/query/question.ts'
import { SqliteUnarchived } from '../../../../src/store/sqlite/unarchived.ts'
import type { TestWriter } from '../../../support/test-writer.ts'

export type Json = Record<string, unknown>

export function addressOf(
  server: Pick<ClickHouseServer, 'endpoint'>,
  database: string,
  other: Partial<ArchiveAddress> = {},
): ArchiveAddress {
  const { endpoint, username, tls } = archiveSettings(server, database)
  return { endpoint, username, password: 'secret', tls, database, timeoutMs: 60_000, ...other }
}

/** Under which name a list stands in its answer. */
const LISTED = {
  cascades: 'cascades',
  objects: 'objects',
  objectVersions: 'versions',
  cascadesOf: 'cascades',
} as const

function questionOf(kind: keyof typeof LISTED, of: CascadeFilter | string, part: PageRequest): Question {
  if (typeof of !== 'string') return { kind: 'cascades', filter: of, part }
  if (kind === 'cascadesOf') return { kind, cpid: of as Cpid, part }
  return { kind: kind === 'objects' ? kind : 'objectVersions', ref: of, part }
}

/** What one database that holds everything answers, or why there is no answer. */
export function oracle(queries: CausewayQueries, question: Question): Json | string {
  const answered = answer(queries, question)
  return answered.kind === 'found' ? (JSON.parse([...answered.pieces].join('')) as Json) : answered.kind
}

/** Lists sorted, and without whose they are. */
export function inAnyOrder(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(inAnyOrder).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key]) => key !== 'causeway')
  return Object.fromEntries(entries.map(([key, item]) => [key, inAnyOrder(item)]))
}

/** Asks an archive beside what a writer holds. */
export class Asking implements AsyncDisposable {
  readonly questions: ArchiveQuestions
  readonly #client: ArchiveClient

  constructor(address: ArchiveAddress, writer?: TestWriter) {
    this.#client = new ArchiveClient(address, 'test')
    this.questions = new ArchiveQuestions({
      archive: this.#client,
      queries: writer?.queries(),
      unarchived: writer && new SqliteUnarchived(writer.db),
      nowMs: () => 0,
    })
  }

  /** The answer, or why there is none. */
  async answer(question: Question): Promise<Json | string> {
    const answered = await archiveAnswer(this.questions, question as Parameters<typeof archiveAnswer>[1])
    return answered.kind === 'found' ? (JSON.parse(answered.text) as Json) : answered.kind
  }

  /** A whole list, read in pages. */
  async all(
    kind: keyof typeof LISTED,
    of: CascadeFilter | string,
    limit: number,
  ): Promise<{ items: Json[]; partial: unknown }> {
    const items: Json[] = []
    let partial: unknown
    for (let after: string | undefined, pages = 0; pages < 200; pages++) {
      const part: PageRequest = { limit, ...(after !== undefined && { after }) }
      const answered = await this.answer(questionOf(kind, of, part))
      if (typeof answered === 'string') {
        if (pages === 0) return { items, partial }
        throw new Error(answered)
      }
      items.push(...(answered[LISTED[kind]] as Json[]))
      partial ??= answered['partial']
      if (answered['next'] === null) return { items, partial }
      after = answered['next'] as string
    }
    throw new Error('its pages never end')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]()
  }
}
