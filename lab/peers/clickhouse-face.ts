// The real ClickHouse engine (npm chdb, in this process) behind as much of ClickHouse's HTTP interface as its official client speaks:
// queries, parameters, settings, formats, compression, exceptions, the summary. Started with the folder of chdb's node_modules, a
// folder for the data, a user and a password; it prints the port. `POST /faults` has it fail, as servers and networks do.
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gunzipSync, gzipSync, zstdDecompressSync } from 'node:zlib'

interface Result {
  bytes(): Uint8Array
  readonly rowsRead: number
  readonly bytesRead: number
}
interface Session {
  queryBindAsync(sql: string, params: object, options: { format: string }): Promise<Result>
}
interface Chdb {
  Session: new (path: string) => Session
}

/** What goes wrong, and at how many more requests of those that `of` matches. */
export interface Fault {
  /** An exception of this code; the connection cut before, within the body, or after the work; an answer that never comes; or the page of a proxy. */
  readonly kind: 'exception' | 'cut before' | 'cut within' | 'cut after' | 'silent' | 'page'
  readonly code?: number
  readonly name?: string
  /** A regular expression that the statement matches. */
  readonly of?: string
  readonly times?: number
}

const [modules = '', data = '', user = '', password = ''] = process.argv.slice(2)
const { Session } = createRequire(`${modules}/`)('chdb') as Chdb
const session = new Session(data)
/** What an insert brings is read from a file: within the statement it would cost several times what the engine needs for it. */
const sent = join(data, 'sent')
const OF_BODY = /(?<=^INSERT .*)FORMAT \w+\s*$/is
let faults: (Fault & { left: number })[] = []
/** Settings are of the one session: one request at a time. */
let turn: Promise<unknown> = Promise.resolve()

class Exception extends Error {
  readonly code: number
  readonly status: number

  constructor(code: number, text: string, status = 500) {
    super(`Code: ${code}. DB::Exception: ${text}`)
    this.code = code
    this.status = status
  }
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    response.writeHead(500).end(String(error))
  })
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://face')
  const body = await bodyOf(request)
  if (url.pathname === '/ping') return void response.end('Ok.\n')
  if (url.pathname === '/faults') {
    faults = (JSON.parse(body.toString()) as Fault[]).map((fault) => ({
      ...fault,
      left: fault.times ?? Infinity,
    }))
    return void response.end()
  }
  const queryId = url.searchParams.get('query_id') ?? crypto.randomUUID()
  try {
    checkUser(request, url)
    const given = url.searchParams.get('query')
    const sql = given ?? body.toString()
    const fault = nextFault(sql)
    if (fault?.kind === 'exception')
      throw new Exception(fault.code ?? 1000, `As the test wants it. (${fault.name ?? 'POCO_EXCEPTION'})`)
    const asked = (upTo: number): Promise<Result> =>
      inTurn(() => {
        if (given !== null) writeFileSync(sent, body.subarray(0, upTo))
        const statement = sql.replace(OF_BODY, given === null ? '$&' : `FROM INFILE '${sent}' $&`)
        return run(statement, url, databaseOf(request, url))
      })
    if (fault?.kind === 'cut within') await asked(body.length / 2).catch(() => undefined)
    if (fault?.kind === 'cut before' || fault?.kind === 'cut within') return void request.socket.destroy()
    if (fault?.kind === 'silent') return
    if (fault?.kind === 'page') return void response.end('<html>Back soon</html>')
    const result = await asked(body.length)
    if (fault?.kind === 'cut after') return void request.socket.destroy()
    send(request, response, url, queryId, result)
  } catch (error) {
    fail(response, queryId, error)
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const body = Buffer.concat(await request.toArray())
  const coding = request.headers['content-encoding']
  if (coding === 'zstd') return zstdDecompressSync(body)
  return coding === 'gzip' ? gunzipSync(body) : body
}

function checkUser(request: IncomingMessage, url: URL): void {
  const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  const [name, secret] =
    basic === undefined
      ? [url.searchParams.get('user') ?? 'default', url.searchParams.get('password') ?? '']
      : Buffer.from(basic, 'base64').toString().split(/:(.*)/s)
  if (name !== user || secret !== password)
    throw new Exception(
      516,
      `${name}: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)`,
      403,
    )
}

function nextFault(sql: string): Fault | undefined {
  const found = faults.find(({ of = '', left }) => left > 0 && new RegExp(of, 'i').test(sql))
  if (found !== undefined) found.left--
  return found
}

/** As ClickHouse takes it: a header, or a parameter. */
function databaseOf(request: IncomingMessage, url: URL): string {
  const header = request.headers['x-clickhouse-database']
  return typeof header === 'string' ? header : (url.searchParams.get('database') ?? 'default')
}

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = turn.then(work, work)
  turn = done.catch(() => undefined)
  return done
}

/** What stands in the address but is no setting. */
const NO_SETTING =
  /^(query|query_id|database|user|password|session_id|enable_http_compression|default_format|param_.*)$/

async function run(sql: string, url: URL, database: string): Promise<Result> {
  const settings = [...url.searchParams].filter(([key]) => !NO_SETTING.test(key))
  const params = Object.fromEntries(
    [...url.searchParams].flatMap(([key, value]) =>
      key.startsWith('param_') ? [[key.slice(6), value]] : [],
    ),
  )
  const set = async (text: string): Promise<unknown> =>
    session.queryBindAsync(`SET ${text}`, {}, { format: 'TSV' })
  try {
    await session.queryBindAsync(`USE \`${database.replaceAll('`', '')}\``, {}, { format: 'TSV' })
    for (const [key, value] of settings)
      await set(`${key} = '${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`)
    return await session.queryBindAsync(sql, params, {
      format: url.searchParams.get('default_format') ?? 'TabSeparated',
    })
  } finally {
    for (const [key] of settings) await set(`${key} = DEFAULT`).catch(() => undefined)
  }
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  queryId: string,
  result: Result,
): void {
  const isPacked =
    url.searchParams.get('enable_http_compression') === '1' &&
    /gzip/.test(String(request.headers['accept-encoding']))
  const counts = {
    read_rows: String(result.rowsRead),
    read_bytes: String(result.bytesRead),
    written_rows: '0',
    written_bytes: '0',
  }
  const summary = JSON.stringify({
    ...counts,
    total_rows_to_read: '0',
    result_rows: '0',
    result_bytes: '0',
    elapsed_ns: '0',
  })
  response.writeHead(200, {
    'x-clickhouse-query-id': queryId,
    'x-clickhouse-server-display-name': 'face',
    'x-clickhouse-summary': summary,
    ...(isPacked && { 'content-encoding': 'gzip' }),
  })
  response.end(isPacked ? gzipSync(result.bytes()) : result.bytes())
}

function fail(response: ServerResponse, queryId: string, error: unknown): void {
  const text = error instanceof Error ? error.message.replace(/^Query failed: /, '') : String(error)
  const code = error instanceof Exception ? error.code : Number(/^Code: (\d+)/.exec(text)?.[1] ?? 1000)
  const status = error instanceof Exception ? error.status : 404
  response.writeHead(status, {
    'x-clickhouse-exception-code': String(code),
    'x-clickhouse-query-id': queryId,
  })
  response.end(`${text} (version 26.7)\n`)
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
process.on('SIGTERM', () => process.exit(0))
