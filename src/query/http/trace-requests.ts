import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseRfc3339 } from '../../model/time-and-size.ts'
import {
  type Asker,
  BadQuestion,
  isBinary,
  type QueryService,
  type TraceQuestion,
  type TraceShape,
} from '../question.ts'
import { nanosOfGo } from '../traceql/read-tokens.ts'
import { JSON_TYPE, readEtags, sendBody, sendNotModified, sendText } from './replies.ts'

/** Which API a client speaks: Jaeger's older one, its v3, or Tempo's. */
export type Dialect = 'jaeger' | 'jaegerV3' | 'tempo'

/** The request of a Jaeger or Tempo client. */
export type TraceRequest =
  | { readonly kind: 'question'; readonly question: TraceQuestion; readonly dialect: Dialect }
  | { readonly kind: 'fixed'; readonly text: string; readonly type: string }
  | TraceRefusal

interface TraceRefusal {
  readonly kind: 'refused'
  readonly status: number
  readonly message: string
  readonly dialect: Dialect
}

export function refused(dialect: Dialect, message: string, status = 400): TraceRefusal {
  return { kind: 'refused', status, message, dialect }
}

/** The latest time that the database can store for a span. */
export const LAST_NS = 2n ** 63n - 1n

/** A parameter is invalid. The message says what to write instead. */
export class BadParameter extends Error {}

/**
 * The query parameters of one request. Reading a parameter marks it as known. `refuseOthers` refuses the rest, since ignoring a filter
 * would answer with more than was asked for.
 */
export class TraceApiParameters {
  readonly #search: URLSearchParams
  readonly #known = new Set<string>()

  constructor(search: URLSearchParams) {
    this.#search = search
  }

  /** The value of the first of these parameters that is given; an empty one counts as absent. */
  text(...names: readonly string[]): string | undefined {
    for (const name of names) {
      this.#known.add(name)
      const texts = this.#search.getAll(name)
      if (texts.length > 1)
        throw new BadParameter(`parameter ${name} is given ${texts.length} times; give it once`)
    }
    const name = names.find((one) => this.#has(one))
    return name === undefined ? undefined : (this.#search.get(name) ?? undefined)
  }

  /** All values of this parameter. */
  all(name: string): string[] {
    this.#known.add(name)
    return this.#search.getAll(name)
  }

  /** Accepts a parameter and ignores it, if its value has the form that clients send. */
  pass(form: RegExp, ...names: readonly string[]): void {
    for (const name of names) this.matching(form, name)
  }

  matching(form: RegExp, name: string): string | undefined {
    const text = this.text(name)
    if (text !== undefined && !form.test(text)) throw malformed(name, text)
    return text
  }

  /** A positive integer, at most `most`. */
  count(names: readonly string[], otherwise: number, most: number): number {
    const text = this.text(...names)
    if (text === undefined) return otherwise
    if (!/^\d{1,9}$/.test(text) || Number(text) === 0)
      throw malformed(this.#nameOf(names), text, 'a whole number from 1')
    return Math.min(Number(text), most)
  }

  /** A time in whole units since 1970, in nanoseconds; 0 counts as absent. */
  time(name: string, unitNanos: bigint): bigint | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (!/^\d{1,16}$/.test(text)) throw malformed(name, text, 'a whole number')
    const nanos = BigInt(text) * unitNanos
    if (nanos > LAST_NS) throw malformed(name, text, `a whole number of at most ${LAST_NS / unitNanos}`)
    return nanos === 0n ? undefined : nanos
  }

  rfc3339(...names: readonly string[]): bigint | undefined {
    const text = this.text(...names)
    if (text === undefined) return undefined
    const time = parseRfc3339(text)
    if (time === undefined) throw malformed(this.#nameOf(names), text, '2026-01-31T08:00:00Z')
    return time
  }

  /** A duration in Go's syntax, in nanoseconds. */
  duration(...names: readonly string[]): number | undefined {
    const text = this.text(...names)
    if (text === undefined) return undefined
    const nanos = durationNanos(text)
    if (nanos === undefined) throw malformed(this.#nameOf(names), text, '100ms or 1.5s')
    return nanos
  }

  /** `minDuration` and `maxDuration` in nanoseconds; 0 is no limit. */
  durations(): { readonly least: number | undefined; readonly most: number | undefined } {
    const [least, most] = [this.duration('minDuration'), this.duration('maxDuration')]
    if (least !== undefined && most !== undefined && most !== 0 && least > most)
      throw new BadParameter('minDuration must not be longer than maxDuration')
    return { least, most }
  }

  oneOf(words: readonly string[], ...names: readonly string[]): string | undefined {
    const text = this.text(...names)
    if (text !== undefined && !words.includes(text))
      throw malformed(this.#nameOf(names), text, `one of ${words.join(', ')}`)
    return text
  }

  /** Throws BadParameter if there are parameters that were not read. */
  refuseOthers(): void {
    const unknown = [...this.#search.keys()].find((name) => !this.#known.has(name))
    if (unknown === undefined) return
    const known = this.#known.size === 0 ? 'none' : [...this.#known].join(', ')
    throw new BadParameter(`unknown parameter ${short(unknown)}; what is understood here: ${known}`)
  }

  #has(name: string): boolean {
    return (this.#search.get(name) ?? '') !== ''
  }

  #nameOf(names: readonly string[]): string {
    return names.find((one) => this.#has(one)) ?? ''
  }
}

export const ANY_BOOLEAN = /^(?:1|0|t|f|true|false)$/i
export const ANY_NUMBER = /^\d{1,20}$/
export const ANY_TEXT = /^/

export function malformed(name: string, text: string, form?: string): BadParameter {
  return new BadParameter(
    `malformed parameter ${name}: ${short(text)}${form === undefined ? '' : `; write ${form}`}`,
  )
}

const MAX_SHOWN = 100
const short = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN))

/** A part of a path, percent-decoded; unchanged if its encoding is invalid. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const TRACE_ID = /^[0-9a-f]{1,32}$/

/** A trace id of 32 hex digits; shorter ones are padded with zeros. */
export function traceIdOf(text: string): string | undefined {
  const lower = text.toLowerCase()
  return TRACE_ID.test(lower) ? lower.padStart(32, '0') : undefined
}

function durationNanos(text: string): number | undefined {
  if (text.length > MAX_SHOWN) return undefined
  const unsigned = text.replace(/^\+/, '')
  const nanos = unsigned === '0' ? 0n : nanosOfGo(unsigned)
  return nanos === undefined ? undefined : Number(nanos)
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Aborts when the client hangs up. */
  readonly gone: AbortSignal
  readonly asker: Asker
}

/** Answers as Jaeger or Tempo would. Rejects if the answer failed, or was cut short. */
export async function serveTraceRequest(
  queries: QueryService,
  asked: TraceRequest,
  exchange: Exchange,
): Promise<void> {
  const { response } = exchange
  if (asked.kind === 'fixed') sendBody(response, 200, asked.type, asked.text)
  else if (asked.kind === 'refused') sendRefusal(response, asked)
  else
    try {
      await serveTraceQuestion(queries, asked, exchange)
    } catch (error) {
      if (!(error instanceof BadQuestion) || response.headersSent) throw error
      sendRefusal(response, refused(asked.dialect, error.message))
    }
}

async function serveTraceQuestion(
  queries: QueryService,
  { question, dialect }: Extract<TraceRequest, { kind: 'question' }>,
  { request, response, gone, asker }: Exchange,
): Promise<void> {
  const shape = question.kind === 'sentTrace' ? question.shape : undefined
  // 304 is only for GET and HEAD (RFC 9110, section 13.1.2).
  const known = request.method === 'POST' ? [] : readEtags(request.headers['if-none-match'])
  const reply = await queries.ask(question, known, gone, asker)
  if (reply.kind === 'found') {
    const binary = shape !== undefined && isBinary(shape)
    const type = binary ? 'application/protobuf' : JSON_TYPE
    await sendText(response, reply.text, { type, etag: reply.etag, binary })
  } else if (reply.kind === 'notModified') sendNotModified(response, reply.etag)
  else if (shape === 'tempoProtobufV2' || shape === 'tempoJsonV2') sendNoTrace(response, shape)
  else sendRefusal(response, refused(dialect, NOT_FOUND[dialect], 404))
}

const NOT_FOUND = { jaeger: 'trace not found', jaegerV3: 'No traces found', tempo: 'trace not found' }

/** As Tempo's API v2 does, answers an unknown trace with an empty one. */
function sendNoTrace(response: ServerResponse, shape: TraceShape): void {
  if (isBinary(shape)) sendBody(response, 200, 'application/protobuf', '')
  else sendBody(response, 200, JSON_TYPE, '{"trace":{}}')
}

/** Writes a refusal in the form of the API that the client speaks. */
function sendRefusal(response: ServerResponse, { dialect, message, status }: TraceRefusal): void {
  const errors = [{ code: status, msg: message }]
  if (dialect === 'tempo') sendBody(response, status, 'text/plain; charset=utf-8', message)
  else if (dialect === 'jaeger')
    sendJson(response, status, { data: null, total: 0, limit: 0, offset: 0, errors })
  else sendJson(response, status, { error: { httpCode: status, message } })
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  sendBody(response, status, JSON_TYPE, JSON.stringify(body))
}
