import * as http from 'node:http'
import * as https from 'node:https'

export interface HttpReply {
  status: number
  headers: http.IncomingHttpHeaders
  body: Buffer
  /** The body was longer than the limit, or broke off; `body` is its beginning. */
  cut: boolean
}

export interface PostLimits {
  /** From the first byte out to the last byte in, connecting included. */
  timeoutMs: number
  maxReplyBytes: number
  signal: AbortSignal
}

/** Posts a body and reads the reply. Rejects when none comes in time, the connection fails or the signal aborts. */
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

  const timer = setTimeout(() => fail(new Error(`no answer within ${limits.timeoutMs} ms`)), limits.timeoutMs)
  const onAbort = (): void => fail(new Error('stopped while sending'))
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
    // A backend that turns a large body away closes before reading it all; its status counts all the same.
    if (response?.statusCode !== undefined && response.statusCode >= 400) finish(response, true)
    else fail(error)
  }

  request.on('error', broken)
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
