import { request } from 'node:http'
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { EXPORT_METHODS } from '../../lab/harness/export-methods.ts'
import type { CausewaySettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { markerSpan } from '../process/support/marker-span.ts'

/** An address of its own, as a victim in a cluster has. */
const VICTIM_ADDRESS = '127.0.0.2'
/** So long one answer may take, with what a sender does to get it: only what hangs takes longer. */
const HANG_MS = 40_000
const REST_MS = 20
const OK = 0
const PERCENT = 100

export interface VictimChoice {
  /** Shown with every request to the receivers and the query API. */
  headers?: Readonly<Record<string, string>>
  /** Its listeners; all of them unless given. */
  listeners?: readonly Listener[]
  /** Where it asks its question. */
  question?: string
}

const LISTENERS = ['gRPC', 'new gRPC', 'HTTP', 'query', 'metrics', 'health'] as const
/** `gRPC` is a connection that is kept; all others connect each time. */
type Listener = (typeof LISTENERS)[number]

/** What one try came to: nothing when it went well, or why it did not. Senders try again, as OTLP has them do. */
type Try = () => Promise<string | undefined>

/** Sends and asks through every listener again and again, one thing at a time through each, and notes how long each took. */
export class Victim implements Disposable {
  /** What was never answered as it should be. */
  readonly failures: string[] = []
  /** The spans that it was told are stored, by the number in their ids. */
  readonly acknowledged = new Set<number>()
  readonly #troubles = new Map<string, number>()
  readonly #tries: ReadonlyMap<Listener, Try>
  readonly #tookMs = new Map<Listener, number[]>()
  #kept: ClientHttp2Session | undefined
  readonly #over = new AbortController()
  #going: Promise<unknown> = Promise.resolve()

  constructor(
    { ports }: CausewaySettings,
    { headers = {}, listeners = LISTENERS, question = '/api/v1/cascades' }: VictimChoice = {},
  ) {
    const tries: Record<Listener, Try> = {
      gRPC: () =>
        this.#sends((bytes) => exportOver((this.#kept = living(this.#kept, ports.grpc)), headers, bytes)),
      'new gRPC': () => this.#sends((bytes) => exportOnce(ports.grpc, headers, bytes)),
      HTTP: () => this.#sends((bytes) => exchange(ports.http, '/v1/traces', headers, bytes)),
      query: () => exchange(ports.query, question, headers),
      metrics: () => exchange(ports.metrics, '/metrics', {}),
      health: () => exchange(ports.health, '/', {}),
    }
    this.#tries = new Map(listeners.map((listener) => [listener, tries[listener]]))
  }

  /** How often it was refused for now, or cut off, and came again. */
  get triedAgain(): number {
    return [...this.#troubles.values()].reduce((sum, count) => sum + count, 0)
  }

  /** How often it was answered through the listener where that was seldom. */
  get fewestAnswers(): number {
    return Math.min(...[...this.#tries.keys()].map((listener) => this.#tookMs.get(listener)?.length ?? 0))
  }

  /** For people. */
  get summary(): string {
    const listeners = [...this.#tookMs].map(([listener, times]) => {
      const sorted = times.toSorted((a, b) => a - b)
      const at = (percent: number): string =>
        (sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / PERCENT))] ?? 0).toFixed(1)
      return `${listener} ${sorted.length} × ${at(50)}/${at(99)}`
    })
    const troubles = [...this.#troubles].map(([trouble, count]) => `${trouble} × ${count}`)
    const why = troubles.length === 0 ? '' : ` (${troubles.join(', ')})`
    return `victim's answers, median/p99 ms: ${listeners.join(', ')}; tried again ${this.triedAgain} times${why}`
  }

  /** Once through every listener, at the same time. */
  async oneRound(): Promise<void> {
    await Promise.all([...this.#tries].map(([listener, attempt]) => this.#through(listener, attempt)))
  }

  /** Goes on through every listener by itself until it is stopped, or something was not answered. */
  goOn(): void {
    const going = [...this.#tries].map(async ([listener, attempt]) => {
      while (!this.#over.signal.aborted && this.failures.length === 0) {
        await this.#through(listener, attempt)
        await pause(REST_MS)
      }
    })
    this.#going = Promise.all(going)
  }

  /** Resolves when what is under way is answered. */
  async stop(): Promise<void> {
    this.#over.abort()
    await this.#going
  }

  [Symbol.dispose](): void {
    this.#over.abort()
    this.#kept?.destroy()
  }

  /** Sends a span of its own with each try. */
  async #sends(send: (bytes: Buffer) => Promise<string | undefined>): Promise<string | undefined> {
    const { id, bytes } = markerSpan('victim')
    const trouble = await send(bytes)
    if (trouble === undefined) this.acknowledged.add(id)
    return trouble
  }

  async #through(listener: Listener, attempt: Try): Promise<void> {
    const startedMs = performance.now()
    for (;;) {
      const late = new AbortController()
      const hangs = pause(HANG_MS, 'no answer', { signal: late.signal }).catch(() => undefined)
      const trouble = await Promise.race([attempt(), hangs])
      late.abort()
      const tookMs = performance.now() - startedMs
      if (trouble === undefined) {
        const times = this.#tookMs.get(listener) ?? []
        times.push(tookMs)
        this.#tookMs.set(listener, times)
        return
      }
      const told = `${listener} ${trouble}`
      this.#troubles.set(told, (this.#troubles.get(told) ?? 0) + 1)
      if (tookMs > HANG_MS) {
        this.failures.push(`${listener}: ${trouble}, after ${Math.round(tookMs)} ms`)
        return
      }
      await pause(REST_MS)
    }
  }
}

/** Resolves to what went wrong, if anything did. */
function exchange(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: Uint8Array,
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const asked = request(
    {
      host: '127.0.0.1',
      localAddress: VICTIM_ADDRESS,
      port,
      path,
      agent: false,
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...(body !== undefined && { 'content-type': 'application/x-protobuf' }), ...headers },
      timeout: HANG_MS,
    },
    (response) => {
      response.resume()
      response.on('error', (error) => resolve(error.message))
      response.on('end', () => resolve(response.statusCode === 200 ? undefined : `${response.statusCode}`))
    },
  )
  asked.on('error', (error) => resolve(error.message))
  asked.on('timeout', () => asked.destroy(new Error('no answer')))
  asked.end(body)
  return promise
}

function sessionTo(port: number): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${port}`, {
    createConnection: () => connect({ host: '127.0.0.1', port, localAddress: VICTIM_ADDRESS, noDelay: true }),
  })
  return session.on('error', () => undefined)
}

function living(session: ClientHttp2Session | undefined, port: number): ClientHttp2Session {
  return session === undefined || session.closed || session.destroyed ? sessionTo(port) : session
}

async function exportOnce(
  port: number,
  headers: Readonly<Record<string, string>>,
  bytes: Buffer,
): Promise<string | undefined> {
  const session = sessionTo(port)
  try {
    return await exportOver(session, headers, bytes)
  } finally {
    session.destroy()
  }
}

function exportOver(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  bytes: Buffer,
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const stream = session.request({
    ':method': 'POST',
    ':path': EXPORT_METHODS.traces.path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  let status: unknown
  const note = (fields: Record<string, unknown>): void => {
    status = fields['grpc-status'] ?? status
  }
  stream
    .on('response', note)
    .on('trailers', note)
    .on('error', () => undefined)
  stream.setTimeout(HANG_MS, () => stream.close(constants.NGHTTP2_CANCEL))
  stream.on('close', () => resolve(Number(status) === OK ? undefined : `gRPC status ${String(status)}`))
  const framed = Buffer.alloc(5 + bytes.length)
  framed.writeUInt32BE(bytes.length, 1)
  bytes.copy(framed, 5)
  stream.resume().end(framed)
  return promise
}
