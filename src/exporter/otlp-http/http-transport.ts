import * as http from 'node:http'
import { STATUS_CODES } from 'node:http'
import * as https from 'node:https'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { errorText } from '../../model/faults.ts'
import { ownValue } from '../../model/untrusted-names.ts'
import type { Signal } from '../../model/otlp-requests.ts'
import { EXPORT_REQUEST } from '../../model/otlp/message-schema.ts'
import { jsonOfProtobuf } from '../../model/otlp/protobuf-to-json.ts'
import type { SendOutcome, Transport } from '../../model/outbox.ts'
import type { Clock } from '../../model/time-and-size.ts'
import {
  delivered,
  MAX_REPLY_BYTES,
  outcomeOfReply,
  readRpcStatus,
  shorten,
  textOf,
  UNREADABLE_REPLY,
} from '../backend-replies.ts'
import type { SendingHost } from '../exporter-type.ts'
import type { TransportSettings } from '../otlp-exporter-settings.ts'
import { agentFor } from '../../platform/http-agent.ts'
import { type OtlpHttpSettings, urlOf } from './otlp-http-exporter.ts'

/** The transport of a configured exporter. */
export function openTransport(settings: OtlpHttpSettings, signal: Signal, host: SendingHost): Transport {
  const { clock, userAgent, onTrouble, credentials, longestMs: timeoutMs = settings.timeoutMs } = host
  const toJson = (request: Uint8Array): string =>
    JSON.stringify(jsonOfProtobuf(EXPORT_REQUEST[signal], request))
  return openHttpTransport(
    {
      ...settings,
      userAgent,
      onTrouble,
      credentials,
      timeoutMs,
      url: urlOf(settings, signal),
      ...(settings.encoding === 'json' && { toJson }),
    },
    clock,
  )
}

export interface HttpTransportSettings extends TransportSettings {
  /** Where to post, path included, such as http://localhost:4318/v1/traces. */
  url: string
  /** Turns protobuf bytes into OTLP/JSON text; if present, requests are sent as JSON. */
  toJson?: (request: Uint8Array) => string
}

const compress = promisify(gzip)

/**
 * Opens OTLP/HTTP to one backend (OTLP specification, "OTLP/HTTP") over kept-alive connections. Throws when
 * the URL, a header or a certificate file is unusable.
 */
export function openHttpTransport(settings: HttpTransportSettings, clock: Pick<Clock, 'wallMs'>): Transport {
  const url = new URL(settings.url)
  const headers = headersOf(settings)
  const { credentials } = settings
  const { agent, secured } = agentFor(url, settings.tls, settings.onTrouble)
  let closed = false

  async function exportOnce(request: Uint8Array, signal: AbortSignal): Promise<SendOutcome> {
    const body = await encode(request, settings)
    const limits = { timeoutMs: settings.timeoutMs, maxReplyBytes: MAX_REPLY_BYTES, signal }
    const shown = credentials && { [credentials.header]: credentials.value() }
    const options = { agent, headers: { ...headers, ...shown, 'content-length': body.length } }
    const reply = await post(url, options, body, limits)
    return outcomeOfHttpReply(reply, clock.wallMs())
  }

  return {
    async send(request, signal) {
      if (signal.aborted || closed) return { kind: 'retry', reason: 'stopped before sending' }
      try {
        return await exportOnce(request, signal)
      } catch (error) {
        if (error instanceof Unencodable) return { kind: 'refused', splittable: true, reason: error.message }
        return { kind: 'retry', reason: errorText(error) }
      }
    },
    [Symbol.asyncDispose]() {
      closed = true
      secured?.[Symbol.dispose]()
      settings.credentials?.[Symbol.dispose]()
      agent.destroy()
      return Promise.resolve()
    },
  }
}

class Unencodable extends Error {}

async function encode(request: Uint8Array, settings: HttpTransportSettings): Promise<Uint8Array> {
  const plain = settings.toJson ? jsonBytes(request, settings.toJson) : request
  return settings.compression === 'gzip' ? compress(plain) : plain
}

function jsonBytes(request: Uint8Array, toJson: (request: Uint8Array) => string): Uint8Array {
  try {
    return Buffer.from(toJson(request))
  } catch (cause) {
    throw new Unencodable(`cannot be written as OTLP/JSON: ${errorText(cause)}`, { cause })
  }
}

/** Header values are often secrets, so an error names only the header. */
function headersOf(settings: HttpTransportSettings): Record<string, string> {
  const given = Object.entries(settings.headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  for (const [name, value] of given) {
    try {
      http.validateHeaderName(name)
      http.validateHeaderValue(name, value)
    } catch {
      throw new Error(
        `headers: ${name} cannot be sent over HTTP: use only letters, digits, - _ . and printable values`,
      )
    }
  }
  return {
    'user-agent': settings.userAgent,
    ...Object.fromEntries(given),
    'content-type': settings.toJson ? 'application/json' : 'application/x-protobuf',
    ...(settings.compression === 'gzip' && { 'content-encoding': 'gzip' }),
  }
}

interface HttpReply {
  status: number
  headers: http.IncomingHttpHeaders
  body: Buffer
  /** The body was longer than the limit, broke off or took too long; `body` is its beginning. */
  cut: boolean
}

interface PostLimits {
  /** From the first byte out to the last byte in, connecting included. */
  timeoutMs: number
  maxReplyBytes: number
  signal: AbortSignal
}

/** Posts a body and reads the reply. Rejects when none begins in time, or before the connection fails or the signal aborts. */
export function post(
  url: URL,
  options: https.RequestOptions,
  body: Uint8Array,
  limits: PostLimits,
): Promise<HttpReply> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpReply>()
  const request = (url.protocol === 'https:' ? https : http).request(url, { ...options, method: 'POST' })
  const chunks: Buffer[] = []
  let response: http.IncomingMessage | undefined

  const onTimeout = (): void => broken(new Error(`no answer within ${limits.timeoutMs} ms`))
  const timer = setTimeout(onTimeout, limits.timeoutMs)
  const onAbort = (): void => broken(new Error('stopped while sending'))
  limits.signal.addEventListener('abort', onAbort, { once: true })

  function settle(): void {
    clearTimeout(timer)
    limits.signal.removeEventListener('abort', onAbort)
  }
  function finish(answer: http.IncomingMessage, cut: boolean): void {
    settle()
    resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks), cut })
    if (cut) request.destroy()
  }
  function fail(error: Error): void {
    settle()
    request.destroy()
    reject(error)
  }
  function broken(error: Error): void {
    // A status that has arrived counts: after a success it has the data, and it may refuse a large body before reading all of it.
    if (response === undefined) fail(error)
    else finish(response, true)
  }

  request.on('error', broken)
  request.on('upgrade', (_, connection) => {
    connection.destroy()
    fail(new Error('it switches to another protocol (101), which nobody asked for; correct the endpoint'))
  })
  request.on('response', (answer) => {
    response = answer
    let size = 0
    answer.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limits.maxReplyBytes) finish(answer, true)
      else chunks.push(chunk)
    })
    answer.on('end', () => finish(answer, false))
    answer.on('error', broken)
  })
  request.end(body)
  return promise
}

const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** The field of rejected items, by signal. */
const REJECTED = ['rejectedSpans', 'rejectedLogRecords', 'rejectedDataPoints']

/** Refusals that may be about the size of the batch or about one span in it. */
const SPLITTABLE: ReadonlySet<number> = new Set([400, 413])

/** What a backend's answer means (OTLP specification, "OTLP/HTTP Response"); `nowMs` is Unix time. */
export function outcomeOfHttpReply(reply: HttpReply, nowMs: number): SendOutcome {
  if (reply.status >= 200 && reply.status < 300) return outcomeOfSuccess(reply)
  if (reply.status < 400) return { kind: 'retry', reason: redirected(reply) }
  const reason = reasonOf(reply)
  if (RETRYABLE.has(reply.status)) {
    const afterMs = retryAfterMs(reply.headers['retry-after'], backendMs(reply) ?? nowMs)
    return afterMs === undefined ? { kind: 'retry', reason } : { kind: 'retry', afterMs, reason }
  }
  return { kind: 'refused', splittable: SPLITTABLE.has(reply.status), reason }
}

/** The backend's clock, by which its Retry-After date counts, even if this machine's clock is wrong. */
function backendMs({ headers }: HttpReply): number | undefined {
  const ms = Date.parse(headers.date ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

const PROTOBUF_TYPES: ReadonlySet<string> = new Set(['application/x-protobuf', 'application/protobuf'])
const CORRECT_IT = 'correct the endpoint, or a proxy before it'

/** The outcome of a 2xx reply. A login page may answer instead of the backend, so a body that is not OTLP is retried. */
function outcomeOfSuccess(reply: HttpReply): SendOutcome {
  if (reply.body.length === 0 && !reply.cut) return delivered(0, '')
  const type = contentType(reply)
  const isOtlp = isJson(reply) || PROTOBUF_TYPES.has(type)
  if (isOtlp || type === '') {
    if (reply.cut) return UNREADABLE_REPLY
    const said = PROTOBUF_TYPES.has(type) ? undefined : outcomeOfJson(textOf(reply.body))
    if (said !== undefined) return said
    const outcome = isJson(reply) ? UNREADABLE_REPLY : outcomeOfReply(reply.body)
    if (outcome !== UNREADABLE_REPLY) return outcome
  }
  if (type === 'text/html' || /^\s*</.test(textOf(reply.body.subarray(0, 64))))
    return noAnswer(reply, 'a web page')
  // Some backends answer a success with their own text.
  return isOtlp ? noAnswer(reply, `a body (${type}) that is no OTLP answer`) : delivered(0, '')
}

function noAnswer(reply: HttpReply, body: string): SendOutcome {
  return { kind: 'retry', reason: `${lineOf(reply)} with ${body}; ${CORRECT_IT}` }
}

/** The outcome in a JSON reply; undefined if the text is not a JSON object. */
function outcomeOfJson(text: string): SendOutcome | undefined {
  const answer = parseJson(text)
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return undefined
  const partial = member(answer, 'partialSuccess')
  const rejected = REJECTED.map((name) => member(partial, name)).find((count) => count !== undefined)
  const message = member(partial, 'errorMessage')
  return delivered(Number(rejected ?? 0), typeof message === 'string' ? message : '')
}

function redirected(reply: HttpReply): string {
  const where = shorten(reply.headers.location ?? 'nowhere')
  return `${lineOf(reply)}: redirected to ${where}; ${CORRECT_IT}`
}

function reasonOf(reply: HttpReply): string {
  const said = messageOf(reply)
  return said === '' ? lineOf(reply) : shorten(`${lineOf(reply)}: ${said}`)
}

function lineOf({ status }: HttpReply): string {
  return `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd()
}

function messageOf(reply: HttpReply): string {
  if (isJson(reply)) {
    const message = member(parseJson(textOf(reply.body)), 'message')
    return typeof message === 'string' ? message : ''
  }
  if (contentType(reply) === 'application/x-protobuf') return readRpcStatus(reply.body)?.message ?? ''
  return textOf(reply.body).replaceAll(/\s+/g, ' ').trim()
}

const isJson = (reply: HttpReply): boolean => contentType(reply) === 'application/json'

function contentType(reply: HttpReply): string {
  return (reply.headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? ownValue(value as Record<string, unknown>, name)
    : undefined
}

/**
 * Milliseconds that a Retry-After header asks for: whole seconds or an HTTP-date (RFC 9110, section 10.2.3).
 * A date in the past is 0; undefined when the header is absent or unreadable.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  if (!/^[A-Za-z]+, .*GMT$/.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
