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

/** The API: Jaeger's older or newer one, or Tempo's. */
export type Dialect = 'jaeger' | 'jaegerV3' | 'tempo'

/** What a client of Jaeger or Tempo wants. */
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

/** The last time that a span can have in the database. */
export const LAST_NS = 2n ** 63n - 1n

/** The error for a parameter that is not understood. */
export class BadParameter extends Error {}

/**
 * The query parameters of one request. Parameters that are read count as known; `refuseOthers` refuses the rest, since an ignored
 * filter would answer with more than was asked for.
 */
export class TraceApiParameters {
  readonly #search: URLSearchParams
  readonly #known = new Set<string>()

  constructor(search: URLSearchParams) {
    this.#search = search
  }

  /** The text under the first of these names that has one; an empty one is none. */
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

  /** Every text under this name. */
  all(name: string): string[] {
    this.#known.add(name)
    return this.#search.getAll(name)
  }

  /** Accepts a parameter without effect, if it has the form that clients send. */
  pass(form: RegExp, ...names: readonly string[]): void {
    for (const name of names) this.matching(form, name)
  }

  matching(form: RegExp, name: string): string | undefined {
    const text = this.text(name)
    if (text !== undefined && !form.test(text)) throw malformed(name, text)
    return text
  }

  /** A whole number from 1; larger ones than `most` mean `most`. */
  count(names: readonly string[], otherwise: number, most: number): number {
    const text = this.text(...names)
    if (text === undefined) return otherwise
    if (!/^\d{1,9}$/.test(text) || Number(text) === 0)
      throw malformed(this.#nameOf(names), text, 'a whole number from 1')
    return Math.min(Number(text), most)
  }

  /** A time in whole units since 1970, in nanoseconds; 0 is none. */
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

  /** One of Go's durations, in nanoseconds. */
  duration(...names: readonly string[]): number | undefined {
    const text = this.text(...names)
    if (text === undefined) return undefined
    const nanos = durationNanos(text)
    if (nanos === undefined) throw malformed(this.#nameOf(names), text, '100ms or 1.5s')
    return nanos
  }

  /** From `minDuration` to `maxDuration`, in nanoseconds; 0 is no limit. */
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

  /** Throws if there are parameters that were not read. */
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

/** A part of a path without its percent-encoding, or as it is where it has none that can be read. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const TRACE_ID = /^[0-9a-f]{1,32}$/

/** A trace id in full; short ones have zeros before them. */
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
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal
  readonly asker: Asker
}

/** Answers as Jaeger or Tempo would. Rejects when the question could not be answered, or only in part. */
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
  // "Not modified" answers no POST (RFC 9110, section 13.1.2).
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

/** Version 2 of Tempo's API answers an empty trace. */
function sendNoTrace(response: ServerResponse, shape: TraceShape): void {
  if (isBinary(shape)) sendBody(response, 200, 'application/protobuf', '')
  else sendBody(response, 200, JSON_TYPE, '{"trace":{}}')
}

/** Refuses as the client's own backend would. */
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
