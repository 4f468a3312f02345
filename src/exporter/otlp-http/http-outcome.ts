import { STATUS_CODES } from 'node:http'
import { type SendOutcome } from '../../model/send-outcome.ts'
import { delivered, outcomeOfReply } from '../export-reply.ts'
import { type HttpReply } from './http-post.ts'
import { retryAfterMs } from './retry-after.ts'
import { readRpcStatus } from '../rpc-status.ts'
import { shorten } from '../shorten.ts'
import { textOf } from '../wire-fields.ts'
import { ownValue } from '../../model/own-value.ts'

const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** What was turned away, by signal. */
const REJECTED = ['rejectedSpans', 'rejectedLogRecords', 'rejectedDataPoints']

/** Refusals that may be about the size of the batch or about one span in it. */
const SPLITTABLE: ReadonlySet<number> = new Set([400, 413])

/** What a backend's answer means (OTLP specification, "OTLP/HTTP Response"); `nowMs` is Unix time. */
export function outcomeOfHttpReply(reply: HttpReply, nowMs: number): SendOutcome {
  if (reply.status >= 200 && reply.status < 300) return outcomeOfSuccess(reply)
  const reason = reasonOf(reply)
  if (RETRYABLE.has(reply.status)) {
    const afterMs = retryAfterMs(reply.headers['retry-after'], backendMs(reply) ?? nowMs)
    return afterMs === undefined ? { kind: 'retry', reason } : { kind: 'retry', afterMs, reason }
  }
  return { kind: 'refused', splittable: SPLITTABLE.has(reply.status), reason }
}

/** What the backend's own clock says: the date it asks for is by that one, however wrong this machine's is. */
function backendMs({ headers }: HttpReply): number | undefined {
  const ms = Date.parse(headers.date ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

function outcomeOfSuccess(reply: HttpReply): SendOutcome {
  if (reply.cut) return delivered(0, 'the backend accepted the request with a reply too large to read')
  if (isJson(reply)) return outcomeOfJson(textOf(reply.body))
  return outcomeOfReply(reply.body)
}

function outcomeOfJson(text: string): SendOutcome {
  const partial = member(parseJson(text), 'partialSuccess')
  const rejected = REJECTED.map((name) => member(partial, name)).find((count) => count !== undefined)
  const message = member(partial, 'errorMessage')
  return delivered(Number(rejected ?? 0), typeof message === 'string' ? message : '')
}

function reasonOf(reply: HttpReply): string {
  const line = `HTTP ${reply.status} ${STATUS_CODES[reply.status] ?? ''}`.trimEnd()
  const said = reply.status < 400 ? `redirected to ${reply.headers.location ?? 'nowhere'}` : messageOf(reply)
  return said === '' ? line : shorten(`${line}: ${said}`)
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
