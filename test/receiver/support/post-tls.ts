import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request, type RequestOptions } from 'node:https'

export interface TlsAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** POSTs a body over TLS to this machine. */
export async function postTls(body: string | Buffer, options: RequestOptions): Promise<TlsAnswer> {
  const sent = request({ host: 'localhost', family: 4, method: 'POST', agent: false, ...options })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part as Buffer)
  const { statusCode: status = 0, headers } = response
  return { status, headers, body: Buffer.concat(parts).toString() }
}
