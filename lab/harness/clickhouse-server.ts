import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { Fault } from '../peers/clickhouse-face.ts'
import { installChdb } from '../peers/install-chdb.ts'
import { eventually } from './eventually.ts'
import { RunningProgram } from './processes/running-program.ts'

const FACE = fileURLToPath(new URL('../peers/clickhouse-face.ts', import.meta.url))
const STOP_MS = 5_000

/** ClickHouse's own engine behind its HTTP interface, with a user `writer` whose password is `secret`. */
export class ClickHouseServer implements AsyncDisposable {
  readonly endpoint: string
  readonly client: ClickHouseClient
  readonly #program: RunningProgram
  readonly #data: string

  private constructor(endpoint: string, program: RunningProgram, data: string) {
    this.endpoint = endpoint
    this.#program = program
    this.#data = data
    this.client = createClient({
      ...{ url: endpoint, username: 'writer', password: 'secret', request_timeout: 300_000 },
      log: { level: ClickHouseLogLevel.OFF },
    })
  }

  static async start(): Promise<ClickHouseServer> {
    const modules = await installChdb()
    const data = mkdtempSync(join(tmpdir(), 'causeway-clickhouse-'))
    const args = ['--no-warnings', FACE, modules, data, 'writer', 'secret']
    const program = new RunningProgram({ name: 'ClickHouse', command: process.execPath, args })
    const port = await eventually(() => {
      if (program.hasEnded) throw new Error(program.lastWords())
      const [printed] = /^\d+\n/.exec(program.printed) ?? []
      if (printed === undefined) throw new Error('it has not said where it listens')
      return printed.trim()
    })
    return new ClickHouseServer(`http://127.0.0.1:${port}`, program, data)
  }

  /** What goes wrong from now on; nothing where there is none. */
  async fails(...faults: Fault[]): Promise<void> {
    await fetch(`${this.endpoint}/faults`, { method: 'POST', body: JSON.stringify(faults) })
  }

  /** Rows, with times as RFC 3339. */
  async rows(
    query: string,
    params: Record<string, unknown> = {},
    database = 'default',
  ): Promise<Record<string, unknown>[]> {
    const answer = await this.client.query({
      http_headers: { 'x-clickhouse-database': database },
      query,
      query_params: params,
      format: 'JSONEachRow',
      clickhouse_settings: { date_time_output_format: 'iso', output_format_json_quote_64bit_integers: 0 },
    })
    return await answer.json()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close()
    await this.#program.stop(STOP_MS)
    rmSync(this.#data, { recursive: true, force: true })
  }
}
