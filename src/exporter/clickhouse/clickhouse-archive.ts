import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { constants as zlib, gzipSync, zstdCompressSync } from 'node:zlib'
import {
  type ClickHouseClient,
  ClickHouseError,
  ClickHouseLogLevel,
  type ClickHouseSettings as QuerySettings,
  createClient,
} from '@clickhouse/client'
import type { ArchivedSentSpan } from '../../model/archive.ts'
import type { Signal } from '../../model/otlp-requests.ts'
import type { Transport } from '../../model/outbox.ts'
import type { Archive, ArchiveBatch, ArchiveOutcome } from '../archive.ts'
import type { ArchiveHost, SendingHost } from '../exporter-type.ts'
import { agentFor, type AnswerLimits, failureText, limitAnswers } from '../../platform/http-agent.ts'
import type { ClickHouseSettings } from './clickhouse-exporter.ts'
import { type Rows, UnwritableValue } from './native-block.ts'
import { OTEL_COLUMNS, otelRows } from './otel-traces.ts'
import {
  type ArchiveLayout,
  firstStatements,
  MIGRATIONS,
  nameOfTraces,
  NEWEST,
  qualified,
  quotedAll,
  roleStatements,
  tracesStatements,
} from './schema.ts'
import { TABLES, type Writing } from './tables.ts'

/** The most rows of an insert: few large parts suit ClickHouse, and memory stays bounded. */
const ROWS_AT_ONCE = 50_000
/** How often to check whether another Causeway writes under the same name, and after how long a silent one has gone. */
const CLAIM_EVERY_MS = 20_000
const CLAIM_LASTS_S = 120

/** An archive that ends this much before the last write is a restored older copy; smaller differences may be clock skew. */
const OLDER_COPY_MS = 600_000
const AFTER_LOSS =
  'to write again what is still stored here, give the exporter another id, such as clickhouse/again, and reload'

/** Answers are short: one row, or an error. */
const MAX_ANSWER_BYTES = 262_144

/** If more rows of an insert are refused, the table is wrong, not the rows. */
const MOST_REFUSED = 100

/** Error codes of ClickHouse for a bad row: it could not be parsed, or does not fit its column. */
const OF_ROWS = new Set(['6', '26', '27', '38', '41', '53', '69', '70', '72', '117', '131', '321', '349'])

const WHAT_TO_DO = new Map([
  ['60', 'run what causeway archive init --print prints: it makes tables that are missing'],
  ['81', 'run what causeway archive init --print prints: it makes tables that are missing'],
  ['164', 'the user may only read; grant it INSERT and CREATE on the database'],
  ['193', 'correct username and password'],
  ['194', 'correct username and password'],
  ['242', 'the table is read-only, most often since its Keeper cannot be reached; see to that'],
  ['243', 'its disk is full; make room'],
  ['252', 'it has too many parts to merge; it is written to again once it has merged some'],
  ['497', 'grant the user INSERT, SELECT, CREATE, ALTER and DROP VIEW on the database'],
  ['516', 'correct username and password'],
])

function layoutOf(settings: ClickHouseSettings): ArchiveLayout {
  const { database, tracesTable, cluster, retentionDays } = settings
  return { database, tracesTable, cluster, retentionDays }
}

/** Opens the archive; it connects at the first write. */
export function openArchive(settings: ClickHouseSettings, host: ArchiveHost): Archive {
  return new ClickHouseArchive(settings, host)
}

/** The SQL for the tables, which may be run again, and for a role for auditors. */
export function setupStatements(
  settings: ClickHouseSettings,
  reader: { role: string; clusters: readonly string[] },
): string[] {
  const layout = layoutOf(settings)
  const { database } = settings
  return [
    ...firstStatements(layout),
    ...MIGRATIONS.flatMap(({ number, name, statements }) => [
      ...statements(layout),
      `INSERT INTO ${qualified(database, 'schema_migrations')} (number, name) VALUES (${number}, '${name}')`,
    ]),
    ...roleStatements(layout, reader),
  ]
}

export async function makeTables(settings: ClickHouseSettings, host: SendingHost): Promise<string[]> {
  const { client, reasonOf, close } = openClient(settings, host)
  try {
    return await migrate(client, layoutOf(settings), new AbortController().signal)
  } catch (error) {
    throw new Error(`${settings.endpoint}: ${reasonOf(error)}`, { cause: error })
  } finally {
    await close()
  }
}

/** Only checks whether ClickHouse would accept data; writes nothing. */
export function openTransport(settings: ClickHouseSettings, _signal: Signal, host: SendingHost): Transport {
  const { client, reasonOf, close } = openClient(settings, host, host.longestMs)
  return {
    send: async (_request, signal) => {
      try {
        await schemaOf(client, settings, signal)
        return { kind: 'delivered', refused: 0, message: '' }
      } catch (error) {
        return { kind: 'refused', splittable: false, reason: reasonOf(error) }
      }
    },
    [Symbol.asyncDispose]: close,
  }
}

interface OpenClient {
  readonly client: ClickHouseClient
  /** The error in one line, for the operator. */
  readonly reasonOf: (error: unknown) => string
  readonly close: () => Promise<void>
}

function openClient(
  settings: ClickHouseSettings,
  { userAgent, onTrouble }: SendingHost,
  timeoutMs = settings.timeoutMs,
): OpenClient {
  const { endpoint, username, password, compression, tls, cluster } = settings
  const url = new URL(endpoint)
  const limits = { maxBytes: MAX_ANSWER_BYTES, maxMs: timeoutMs }
  const { agent, secured } = agentFor(url, tls, onTrouble)
  limitAnswers(agent, limits)
  const client = createClient({
    url: endpoint,
    username,
    password: password ?? '',
    application: userAgent,
    request_timeout: timeoutMs,
    compression: { response: compression !== 'none' },
    http_agent: agent,
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: {
      // An acknowledged insert is stored on all replicas.
      async_insert: 0,
      ...(cluster !== undefined && { distributed_foreground_insert: 1 }),
      // At a first fill, or with wrong clocks, one insert may span many months, and each is a partition.
      max_partitions_per_insert_block: '0',
    },
  })
  return {
    client,
    reasonOf: (error) => reasonOf(error, limits),
    close: async () => {
      secured?.[Symbol.dispose]()
      await client.close()
      agent.destroy()
    },
  }
}

class ClickHouseArchive implements Archive {
  readonly #settings: ClickHouseSettings
  readonly #host: ArchiveHost
  readonly #layout: ArchiveLayout
  readonly #open: OpenClient
  #isReady = false
  #claimedMs = -Infinity
  /** Answered inserts of the current batch, by token. */
  #done = new Set<string>()
  #version = 0

  constructor(settings: ClickHouseSettings, host: ArchiveHost) {
    this.#settings = settings
    this.#host = host
    this.#layout = layoutOf(settings)
    this.#open = openClient(settings, host)
  }

  async write(batch: ArchiveBatch, signal: AbortSignal, onSent: () => void): Promise<ArchiveOutcome> {
    try {
      if (!this.#isReady) await this.#prepare(signal)
      await this.#claim(batch, signal)
      return await this.#insertAll(batch, signal, onSent)
    } catch (error) {
      // Tables may be gone now, or others in their place, and another Causeway may write under this name.
      this.#isReady = false
      this.#done = new Set()
      this.#claimedMs = -Infinity
      return { kind: 'retry', reason: this.#open.reasonOf(error) }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.close()
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    const { client } = this.#open
    if (this.#settings.createsSchema) await migrate(client, this.#layout, signal)
    else await schemaOf(client, this.#settings, signal)
    this.#isReady = true
  }

  /** If two databases archive under one name, the first one writes. */
  async #claim({ before }: ArchiveBatch, signal: AbortSignal): Promise<void> {
    const { clock, instance } = this.#host
    if (clock.monotonicMs() - this.#claimedMs < CLAIM_EVERY_MS) return
    const loss = before === 0 ? undefined : await this.#lossSince(before, signal)
    const { client } = this.#open
    const table = qualified(this.#layout.database, 'causeways')
    const { causeway } = this.#settings
    const alive = `seen > now64(3) - INTERVAL ${CLAIM_LASTS_S} SECOND`
    const options = { query_params: { causeway, instance }, abort_signal: signal }
    await client.command({
      ...options,
      query: `INSERT INTO ${table} (causeway, instance, since, seen) SELECT {causeway:String}, {instance:String},
        if(countIf(${alive}) > 0, max(since), now64(6)), now64(3) FROM ${table} FINAL
        WHERE causeway = {causeway:String} AND instance = {instance:String}`,
    })
    if (loss !== undefined) this.#host.onLoss(`${loss}; ${AFTER_LOSS}`)
    const answer = await client.query({
      ...options,
      query: `SELECT instance FROM ${table} FINAL WHERE causeway = {causeway:String} AND ${alive} ORDER BY since, instance LIMIT 1`,
      format: 'JSONEachRow',
    })
    const [first] = await answer.json<{ instance: string }>()
    if (first !== undefined && first.instance !== instance)
      throw new Error(
        `another Causeway archives under the name ${causeway} (its database is ${first.instance.slice(0, 8)}, this one ` +
          `${instance.slice(0, 8)}); give one of them another exporters::…::causeway. If it is gone for good, this one writes ` +
          `${CLAIM_LASTS_S / 60} minutes after it was last seen`,
      )
    this.#claimedMs = clock.monotonicMs()
  }

  /** Why the archive lacks data written up to a version, judged by when this database last wrote its claim; undefined if it does not. */
  async #lossSince(version: number, signal: AbortSignal): Promise<string | undefined> {
    const { clock, instance } = this.#host
    const answer = await this.#open.client.query({
      query: `SELECT count() AS claims, toInt64(now64(3)) - toInt64(max(seen)) AS age
        FROM ${qualified(this.#layout.database, 'causeways')} FINAL WHERE instance = {instance:String}`,
      query_params: { instance },
      format: 'JSONEachRow',
      abort_signal: signal,
    })
    const [row] = await answer.json<{ claims: string; age: string }>()
    if (Number(row?.claims ?? 0) === 0)
      return 'holds nothing of what was written to it: it was dropped or is another one'
    const writtenMs = clock.wallMs() - version / 1_000
    const lackingMs = Number(row?.age) * 1_000 - writtenMs
    if (writtenMs < 0 || lackingMs < OLDER_COPY_MS) return undefined
    return `ends ${Math.round(lackingMs / 60_000)} minutes before what was last written to it: it is an older copy`
  }

  async #insertAll(
    { facts, version, nowMs }: ArchiveBatch,
    signal: AbortSignal,
    onSent: () => void,
  ): Promise<ArchiveOutcome> {
    if (version !== this.#version) this.#done = new Set()
    this.#version = version
    const { causeway, raw } = this.#settings
    const at: Writing = { causeway, raw, version, nowMs }
    const total: Total = { rows: 0, refused: 0, message: '' }
    const failures: unknown[] = []
    const inserts: Promise<unknown>[] = []
    for (const table of TABLES) {
      const rows = table.rows(facts, at)
      if (rows.count === 0) continue
      const name = `${this.#layout.database}.${table.name}`
      const insert = this.#insert(name, table.columns, rows, total, signal)
      inserts.push(insert.catch((error: unknown) => failures.push(error)))
      // ClickHouse receives these rows while those of the next table are encoded.
      await untilSent()
    }
    const stored = Promise.all(inserts).then(() => {
      if (failures.length > 0) throw failures[0]
    })
    // Last: a table that the Collector made stores twice what is inserted again.
    const traced = this.#insertTraces(facts.sentSpans, total, signal, stored)
    const sent = stored.then(untilSent).then(onSent)
    await Promise.all([stored, traced, sent])
    return { kind: 'written', ...total }
  }

  async #insertTraces(
    spans: readonly ArchivedSentSpan[],
    total: Total,
    signal: AbortSignal,
    after: Promise<void>,
  ): Promise<void> {
    if (this.#layout.tracesTable === undefined) return
    await this.#insert(nameOfTraces(this.#layout), OTEL_COLUMNS, otelRows(spans), total, signal, after)
  }

  /** Skips single rows that ClickHouse refuses; if it refuses many, or for another reason, retries all. Sends nothing before `after`. */
  async #insert(
    table: string,
    columns: readonly { name: string }[],
    rows: Rows,
    total: Total,
    signal: AbortSignal,
    after?: Promise<void>,
  ): Promise<void> {
    const left: [from: number, upTo: number][] = []
    for (let from = 0; from < rows.count; from += ROWS_AT_ONCE)
      left.unshift([from, Math.min(from + ROWS_AT_ONCE, rows.count)])
    let refused = 0
    for (let part; (part = left.pop()) !== undefined;) {
      const [from, upTo] = part
      try {
        const block = rows.block(from, upTo)
        await after
        await this.#insertPart(table, columns, block, signal)
        total.rows += upTo - from
      } catch (error) {
        const reason = reasonOfRow(error)
        if (reason === undefined) throw error
        if (upTo - from > 1) {
          const middle = Math.ceil((from + upTo) / 2)
          left.push([middle, upTo], [from, middle])
        } else if (++refused > MOST_REFUSED) {
          throw new Error(
            `${table} refuses row after row, the last with ${reason}; give it the columns that causeway archive init --print prints`,
            { cause: error },
          )
        } else {
          total.refused++
          total.message = `${table}: ${reason}`
        }
      }
    }
  }

  async #insertPart(
    table: string,
    columns: readonly { name: string }[],
    block: Buffer,
    signal: AbortSignal,
  ): Promise<void> {
    const token = createHash('sha256').update(`${table}\n`).update(block).digest('hex')
    if (this.#done.has(token)) return
    const [database = '', name = ''] = table.split('.')
    // An insert whose answer was lost is repeated with the same token, and not stored twice.
    const settings: QuerySettings = { insert_deduplication_token: token }
    // Rows of one insert rarely replace one another. Deduplicating them takes a third of the insert, and merges do it anyway.
    if (columns === OTEL_COLUMNS) settings.optimize_on_insert = 0
    const { compression } = this.#settings
    const { stream } = await this.#open.client.exec({
      query: `INSERT INTO ${qualified(database, name)} (${quotedAll(columns.map((column) => column.name))}) FORMAT Native`,
      values: Readable.from([this.#packed(block)], { objectMode: false }),
      ...(compression !== 'none' && { http_headers: { 'Content-Encoding': compression } }),
      clickhouse_settings: settings,
      abort_signal: signal,
    })
    for await (const said of stream as AsyncIterable<Buffer>)
      throw new Error(
        `an insert was answered with "${said.toString('utf8', 0, MAX_PAGE)}", which is not from ClickHouse; check what answers at this endpoint`,
      )
    this.#done.add(token)
  }

  /** Compresses a block at the lowest level: the data is repetitive, and higher levels cost several times as much for a tenth. */
  #packed(block: Buffer): Buffer {
    switch (this.#settings.compression) {
      case 'zstd':
        return zstdCompressSync(block, { params: { [zlib.ZSTD_c_compressionLevel]: 1 } })
      case 'gzip':
        return gzipSync(block, { level: 1 })
      case 'none':
        return block
    }
  }
}

/** Rows that were stored, and those that were refused. */
interface Total {
  rows: number
  refused: number
  message: string
}

/** After this many turns of the event loop a request has been passed to the kernel. */
const TURNS = 8

async function untilSent(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await setImmediate()
}

/** Why a row cannot be stored; undefined if the error is not about a row. */
function reasonOfRow(error: unknown): string | undefined {
  if (error instanceof UnwritableValue) return error.message
  return error instanceof ClickHouseError && OF_ROWS.has(error.code) ? shortOf(error) : undefined
}

/** How many bytes of an unexpected answer the error quotes. */
const MAX_PAGE = 100
const NO_TABLE = new Set(['60', '81'])

/** The newest migration of the archive; 0 for none. */
async function newestOf(
  client: ClickHouseClient,
  { database }: ArchiveLayout,
  signal: AbortSignal,
): Promise<number> {
  try {
    const answer = await client.query({
      query: `SELECT toUInt32(max(number)) AS newest FROM ${qualified(database, 'schema_migrations')}`,
      format: 'JSONEachRow',
      abort_signal: signal,
    })
    const [row] = await answer.json<{ newest: number }>()
    return row?.newest ?? 0
  } catch (error) {
    if (error instanceof ClickHouseError && NO_TABLE.has(error.code)) return 0
    throw error
  }
}

/** Throws if the tables differ from those of this version and may not be migrated. */
async function schemaOf(
  client: ClickHouseClient,
  settings: ClickHouseSettings,
  signal: AbortSignal,
): Promise<void> {
  const newest = await newestOf(client, layoutOf(settings), signal)
  refuseNewer(newest)
  if (newest < NEWEST && !settings.createsSchema)
    throw new Error(
      `its schema is of migration ${newest}, and this Causeway writes that of ${NEWEST}; run what causeway archive init --print prints`,
    )
}

function refuseNewer(newest: number): void {
  if (newest > NEWEST)
    throw new Error(
      `its schema is newer (migration ${newest}) than this Causeway knows (${NEWEST}); upgrade this Causeway, what it has waits here`,
    )
}

/** Several Causeways may migrate at once: every statement may be run again. */
async function migrate(
  client: ClickHouseClient,
  layout: ArchiveLayout,
  signal: AbortSignal,
): Promise<string[]> {
  const before = await newestOf(client, layout, signal)
  refuseNewer(before)
  const done: string[] = []
  const run = async (query: string, query_params: Record<string, unknown> = {}): Promise<void> => {
    await client.command({ query, query_params, abort_signal: signal })
  }
  if (before === 0) for (const statement of firstStatements(layout)) await run(statement)
  for (const { number, name, statements } of MIGRATIONS.filter((migration) => migration.number > before)) {
    for (const statement of statements(layout)) await run(statement)
    await run(
      `INSERT INTO ${qualified(layout.database, 'schema_migrations')} (number, name) VALUES ({number:UInt32}, {name:String})`,
      { number, name },
    )
    done.push(name)
  }
  // It may have been renamed since the migrations.
  if (before > 0 && !(await hasTraces(client, layout, signal)))
    for (const statement of tracesStatements(layout)) await run(statement)
  return done
}

async function hasTraces(
  client: ClickHouseClient,
  layout: ArchiveLayout,
  signal: AbortSignal,
): Promise<boolean> {
  if (layout.tracesTable === undefined) return true
  const [database = '', name = ''] = nameOfTraces(layout).split('.')
  const answer = await client.query({
    query: 'SELECT 1 FROM system.tables WHERE database = {database:String} AND name = {name:String}',
    query_params: { database, name },
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  return (await answer.json()).length > 0
}

function reasonOf(error: unknown, limits: AnswerLimits): string {
  if (!(error instanceof ClickHouseError)) return failureText(error, limits)
  const advice = WHAT_TO_DO.get(error.code)
  return `${shortOf(error)}${advice === undefined ? '' : `; ${advice}`}`
}

const MAX_TEXT = 300

function shortOf({ code, type, message }: ClickHouseError): string {
  const line = message.split('\n', 1)[0] ?? ''
  return `${type ?? 'ClickHouse'} (${code}): ${line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line}`
}
