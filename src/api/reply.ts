import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { chargeAnswer } from '../listeners/unread-answers.ts'
import { FAILURES, type Failure } from './failure.ts'
import type { ReplyText } from './query-service.ts'

const JSON_TYPE = 'application/json'
/** Kept, but asked for again each time; with an etag that costs little. */
const REVALIDATE = { 'cache-control': 'no-cache' }

/** What an answer holds at most that is made as it is read: the pieces under way to it, at two bytes a character. */
const WINDOW_BYTES = 512 * 1024

export interface TextHeaders {
  readonly etag: string | undefined
  readonly type?: string
  /** The text has a character a byte. */
  readonly binary?: boolean
}

/** Answers with the text as it is made, no faster than the caller reads. Rejects when it was cut short. */
export async function sendText(
  response: ServerResponse,
  text: ReplyText,
  { etag, type = JSON_TYPE, binary = false }: TextHeaders,
): Promise<void> {
  const { whole } = text
  if (!chargeAnswer(response, whole?.length ?? WINDOW_BYTES)) {
    text.cancel()
    response.setHeader('retry-after', '1')
    sendFailure(response, 'busy', 'too many answers are waiting to be read; ask again in a second')
    return
  }
  const body = whole === undefined ? undefined : binary ? Buffer.from(whole, 'latin1') : whole
  response.writeHead(200, {
    'content-type': type,
    ...REVALIDATE,
    ...(etag !== undefined && { etag }),
    ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
  })
  if (response.req.method === 'HEAD') {
    text.cancel()
    response.end()
    return
  }
  if (body !== undefined) {
    response.end(body)
    return
  }
  try {
    const pieces = binary ? inBytes(text) : text
    await pipeline(Readable.from(pieces, { objectMode: true, highWaterMark: 1 }), response)
  } finally {
    text.cancel()
  }
}

async function* inBytes(text: ReplyText): AsyncGenerator<Buffer> {
  for await (const chunk of text) yield Buffer.from(chunk, 'latin1')
}

/** Says that the caller has the answer already. */
export function sendNotModified(response: ServerResponse, etag: string): void {
  response.writeHead(304, { ...REVALIDATE, etag })
  response.end()
}

/** Answers with a text that is at hand. */
export function sendBody(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

/** Answers `{"error":{"code","message"}}`, with a message of its own where one is given. */
export function sendFailure(
  response: ServerResponse,
  failure: Failure,
  message = FAILURES[failure].message,
): void {
  const { status, code } = FAILURES[failure]
  if (failure === 'methodNotAllowed') response.setHeader('allow', 'GET, HEAD')
  sendBody(response, status, JSON_TYPE, `${JSON.stringify({ error: { code, message } })}\n`)
}
