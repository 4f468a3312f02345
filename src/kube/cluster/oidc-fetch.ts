import { request } from 'node:https'
import type { CustomFetch } from 'openid-client'

const MAX_BYTES = 1_048_576

/** A `fetch` for whom only this authority (PEM) signs certificates; Node's own cannot be told of one. */
export function fetchTrusting(ca: string): CustomFetch {
  return (url, { method, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    const asked = request(url, { method, headers, ca, ...(signal && { signal }) }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part
        if (text.length > MAX_BYTES) answer.destroy(new Error('the answer is too long'))
      })
      answer.on('error', reject).on('end', () => {
        const type = answer.headers['content-type']
        const init = {
          status: answer.statusCode ?? 0,
          ...(type !== undefined && { headers: { 'content-type': type } }),
        }
        resolve(new Response(text, init))
      })
    })
    asked.on('error', reject).end(body === undefined || body === null ? undefined : asText(body))
    return promise
  }
}

/** What is sent to an issuer is a form. */
function asText(body: unknown): string {
  if (body instanceof URLSearchParams || typeof body === 'string') return body.toString()
  throw new TypeError('only forms are sent to issuers')
}
