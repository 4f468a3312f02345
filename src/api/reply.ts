import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { FAILURES, type Failure } from './failure.ts'
import type { ReplyText } from './query-service.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

/** Answers with the text as it is made, no faster than the caller reads. Rejects when it was cut short. */
export async function sendText(response: ServerResponse, text: ReplyText): Promise<void> {
  response.writeHead(200, JSON_TYPE)
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
