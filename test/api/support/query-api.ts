import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openGrpcHandler } from '../../../src/query/grpc/grpc-handler.ts'
import { startQueryServer } from '../../../src/query/http/query-server.ts'
import { QueryThreads } from '../../../src/query/threads/query-threads.ts'
import type { TestWriter } from '../../support/test-writer.ts'

/** What the API says about itself in tests. */
export const ABOUT = { version: '1.2.3', traceUrl: 'http://jaeger/trace/{trace_id}' }

/** What a request was answered, its body parsed. */
interface Answered {
  status: number
  headers: Headers
  body: unknown
}

interface Asking {
  method?: string
  headers?: Record<string, string>
}

/** The API over a real file, answered by a real query thread. */
export class QueryApi implements AsyncDisposable {
  readonly url: string
  readonly writer: TestWriter
  readonly troubles: string[]
  readonly #open: AsyncDisposableStack

  private constructor(url: string, writer: TestWriter, troubles: string[], open: AsyncDisposableStack) {
    this.url = url
    this.writer = writer
    this.troubles = troubles
    this.#open = open
  }

  /** Opens a database with `fill`, and asks it from a thread of its own. The machine's clock unless one is given. */
  static async over(
    fill: (path: string) => Promise<TestWriter>,
    clock?: { wallMs(): number },
  ): Promise<QueryApi> {
    await using open = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'causeway-api-'))
    open.defer(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'causeway.db')
    const writer = open.use(await fill(path))
    const troubles: string[] = []
    const queries = open.use(new QueryThreads(path))
    const server = open.use(
      await startQueryServer({
        host: '127.0.0.1',
        port: 0,
        queries,
        about: ABOUT,
        openGrpcHandler: (settings) => Promise.resolve(openGrpcHandler(settings)),
        // All of them come from one address.
        connections: { max: 2_000 },
        ...(clock && { clock }),
        onTrouble: (reason) => troubles.push(reason),
      }),
    )
    return new QueryApi(`http://127.0.0.1:${server.port}`, writer, troubles, open.move())
  }

  /**
   * Asks on a connection of its own: one that is kept may be closed by the server for its silence while the client, which is on
   * the same thread, has not heard of it and asks on it again.
   */
  fetch(path: string, { headers = {}, ...init }: Asking = {}): Promise<Response> {
    return fetch(this.url + path, { ...init, headers: { ...headers, connection: 'close' } })
  }

  async get(path: string, init?: Asking): Promise<Answered> {
    const response = await this.fetch(`/api/v1/${path}`, init)
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#open.disposeAsync()
  }
}
