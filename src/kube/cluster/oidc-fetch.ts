import { request } from 'node:https'
import type { CustomFetch } from 'openid-client'
import { refuseUpgrade } from './api-server.ts'

const MAX_BYTES = 1_048_576
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * A `fetch` that trusts only this certificate authority (PEM), or those of the machine. Node's own accepts no certificate authority, and
 * does not limit the size of answers.
 */
export function fetchTrusting(ca: string | undefined): CustomFetch {
  return (url, { method, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    const asked = request(
      url,
      { method, headers, ...(ca !== undefined && { ca }), ...(signal && { signal }) },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part
          if (text.length > MAX_BYTES) answer.destroy(new Error('the answer is too long'))
        })
        answer.on('error', reject).on('end', () => {
          const { statusCode: status = 0, headers } = answer
          const type = headers['content-type']
          // The constructor of Response throws for other statuses, and an error thrown in this callback would be uncaught.
          if (status < 200 || status >= 600 || NO_BODY.has(status)) reject(new Error(`it answered ${status}`))
          else resolve(new Response(text, { status, ...(type && { headers: { 'content-type': type } }) }))
        })
      },
    )
    asked.on('upgrade', refuseUpgrade(reject))
    asked.on('error', reject).end(body === undefined || body === null ? undefined : asText(body))
    return promise
  }
}

/** The text of a request body; requests to an issuer are forms. */
function asText(body: unknown): string {
  if (body instanceof URLSearchParams || typeof body === 'string') return body.toString()
  throw new TypeError('only forms are sent to issuers')
}
