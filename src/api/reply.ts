import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { FAILURES, type Failure } from './failure.ts'
import type { ReplyText } from './query-service.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
/** Kept, but asked for again each time; with an etag that costs little. */
const REVALIDATE = { 'cache-control': 'no-cache' }

/** Answers with the text as it is made, no faster than the caller reads. Rejects when it was cut short. */
export async function sendText(
  response: ServerResponse,
  text: ReplyText,
  etag: string | undefined,
): Promise<void> {
  response.writeHead(200, { ...JSON_TYPE, ...REVALIDATE, ...(etag !== undefined && { etag }) })
  if (response.req.method === 'HEAD') {
    text.cancel()
    response.end()
    return
  }
  try {
    await pipeline(Readable.from(text, { objectMode: true, highWaterMark: 1 }), response)
  } finally {
    text.cancel()
  }
}

/** Says that the caller has the answer already. */
export function sendNotModified(response: ServerResponse, etag: string): void {
  response.writeHead(304, { ...REVALIDATE, etag })
  response.end()
}

/** Answers with JSON that is at hand. */
export function sendJson(response: ServerResponse, json: string): void {
  response.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(json) })
  response.end(json)
}

/** Answers `{"error":{"code","message"}}`. */
export function sendFailure(response: ServerResponse, failure: Failure): void {
  const { status, code, message } = FAILURES[failure]
  const body = `${JSON.stringify({ error: { code, message } })}\n`
  response.writeHead(status, {
    ...JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    ...(failure === 'methodNotAllowed' && { allow: 'GET, HEAD' }),
  })
  response.end(body)
}
