import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { ClientTlsSettings } from '../../model/connection-settings.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import { agentFor, type AnswerLimits, failureText, limitAnswers } from '../../platform/http-agent.ts'
import { type Columns, UnexpectedAnswer, readRow, type RowOf } from './row-columns.ts'

/** The address of an archive. Plain data, since it is posted to threads. */
export interface ArchiveAddress {
  readonly endpoint: string
  readonly database: string
  readonly username: string
  readonly password?: string
  /** How long one query may take. */
  readonly timeoutMs: number
  readonly tls: ClientTlsSettings
}

/** The archive does not answer. The message says why, and what the operator can do. */
export class ArchiveSilent extends Error {}

const ADVICE = new Map([
  ['47', 'its tables are older than this Causeway: causeway archive init brings them up to date'],
  ['60', 'there is no archive in this database: correct database, or have a Causeway archive into it'],
  ['81', 'there is no such database: correct database, or have a Causeway archive into it'],
  ['159', 'it took too long: narrow the question down, or raise timeout'],
  [
    '164',
    'the user may change no settings: give its profile readonly = 2, as causeway archive init --print does',
  ],
  ['193', 'correct username and password'],
  ['194', 'correct username and password'],
  ['497', 'grant the user SELECT on the database'],
  ['516', 'correct username and password'],
])
const MAX_TEXT = 300
/** The limit for the text of a query, which includes rows of this Causeway. */
const MAX_QUERY_BYTES = '33554432'

/** The limit for an answer. The limits in the queries keep answers far below it. */
const MAX_ANSWER_BYTES = 67_108_864
/** What a row costs in memory besides its text. */
const BYTES_OF_ROW = 64

/** Queries one archive; limits in the queries bound the answers. */
export class ArchiveClient implements AsyncDisposable {
  readonly #address: ArchiveAddress
  readonly #client: ClickHouseClient
  readonly #limits: AnswerLimits
  readonly #close: () => void
  readonly #deadlines = new WeakMap<AbortSignal, number>()

  constructor(address: ArchiveAddress, application: string) {
    this.#address = address
    const { endpoint, username, password = '', timeoutMs, tls } = address
    const { agent, secured } = agentFor(new URL(endpoint), tls)
    this.#limits = { maxBytes: MAX_ANSWER_BYTES, maxMs: timeoutMs }
    limitAnswers(agent, this.#limits)
    this.#client = createClient({
      ...{ url: endpoint, username, password, application, request_timeout: timeoutMs },
      compression: { request: false, response: true },
      http_agent: agent,
      log: { level: ClickHouseLogLevel.OFF },
    })
    this.#close = () => {
      secured?.[Symbol.dispose]()
      agent.destroy()
    }
  }

  /** A signal that aborts when the time for a query is over, after `mostMs` at the latest. */
  deadline(mostMs = Infinity): AbortSignal {
    const ms = Math.min(this.#address.timeoutMs, mostMs)
    const signal = AbortSignal.timeout(ms)
    this.#deadlines.set(signal, ms)
    return signal
  }

  /** The quoted name of a table or view of the archive. */
  name(table: string): string {
    return `\`${this.#address.database}\`.\`${table}\``
  }

  /** Runs a query and reads its rows. Throws ArchiveSilent. */
  async rows<Asked extends Columns>(
    columns: Asked,
    query: string,
    deadline: AbortSignal,
  ): Promise<RowOf<Asked>[]> {
    try {
      const answer = await this.#client.query({
        query,
        format: 'JSONEachRow',
        abort_signal: deadline,
        clickhouse_settings: {
          max_execution_time: Math.ceil(this.#address.timeoutMs / 1_000),
          max_query_size: MAX_QUERY_BYTES,
          max_recursive_cte_evaluation_depth: '100000',
          cancel_http_readonly_queries_on_client_close: 1,
        },
      })
      const rows: RowOf<Asked>[] = []
      let length = 0
      for await (const part of answer.stream())
        for (const row of part) {
          length += row.text.length + BYTES_OF_ROW
          if (length > MAX_ANSWER_BYTES) throw new Error(`its answer has more than ${MAX_ANSWER_BYTES} bytes`)
          rows.push(readRow(columns, row.json()))
        }
      return rows
    } catch (error) {
      throw new ArchiveSilent(this.#reasonOf(error, deadline), { cause: error })
    }
  }

  #reasonOf(error: unknown, deadline: AbortSignal): string {
    const { endpoint, timeoutMs } = this.#address
    const ms = this.#deadlines.get(deadline) ?? timeoutMs
    const where = new URL(endpoint).origin
    if (deadline.aborted)
      return `${where} did not answer within ${ms / 1_000} s; narrow the question down, or raise timeout`
    if (error instanceof UnexpectedAnswer)
      return `${where} answers what no archive does (${error.message}); check that it is a ClickHouse with the tables of this version`
    if (!(error instanceof ClickHouseError))
      return `${where} does not answer: ${failureText(error, this.#limits)}`
    const { code, type, message } = error
    const line = (message.split('\n', 1)[0] ?? '').slice(0, MAX_TEXT)
    const advice = ADVICE.get(code)
    return `${where} refuses: ${type ?? 'ClickHouse'} (${code}): ${line}${advice === undefined ? '' : `; ${advice}`}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close()
    this.#close()
  }
}

/** A subquery that selects these CPIDs. */
export function amongCpids(cpids: readonly Cpid[]): string {
  const texts = cpids.length === 0 ? 'emptyArrayString()' : `splitByChar(',', ${quote(cpids.join(','))})`
  return `SELECT toUUID(arrayJoin(${texts}))`
}

/** An expression for a column as text; NULL becomes ''. */
export function textOf(column: string): string {
  return `ifNull(CAST(${column} AS Nullable(String)), '')`
}

/** An expression for the reference of the object in row `s`, written as in spans and mergelogs. */
export function referenceIn(row: 'event' | 'mergelog'): string {
  const hasNoVersion = row === 'event' ? 's.object_version < 0' : 's.object_version IS NULL'
  return `concat(ifNull(s.object, ''), if(s.object_uid IS NULL AND ${hasNoVersion}, '', concat('?', arrayStringConcat(
    arrayFilter(given -> given != '', [if(s.object_uid IS NULL, '', concat('uid=', s.object_uid)),
      if(${hasNoVersion}, '', concat('rv=', toString(s.object_version)))]), '&'))))`
}

/** A text as an SQL literal. */
export function quote(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`
}
