import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promised, type HttpApi } from '../../../packages/instrumentation/src/kubernetes/client-types.ts'

export interface Stored {
  apiVersion?: string
  kind?: string
  metadata: {
    name: string
    namespace: string
    uid: string
    resourceVersion: string
    annotations?: Record<string, string>
  }
}
export interface Asked {
  method: string
  path: string
  body: { metadata?: { annotations?: Record<string, string> } } | undefined
  traceparent: string | undefined
}

/** A server that notes what it is asked, and answers as it is told to, or hangs up. */
export async function startServer(answer: (asked: Asked) => [number, object] | undefined) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const body = text === '' ? undefined : (JSON.parse(text) as Asked['body'])
      asked.push({ method, path: url, body, traceparent: headers['traceparent'] as string | undefined })
      const said = answer(asked.at(-1)!)
      if (said === undefined) {
        request.socket.destroy()
        return
      }
      const [status, object] = said
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(object))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    asked,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A request as generated clients make them. */
class Request {
  readonly #url: string
  readonly #method: string
  readonly #headers: Record<string, string> = {}
  #body: string | undefined

  constructor(url: string, method: string) {
    this.#url = url
    this.#method = method
  }
  getUrl = () => this.#url
  getHttpMethod = () => this.#method
  getHeaders = () => this.#headers
  getBody = () => this.#body
  setBody = (body: string) => void (this.#body = body)
  setHeaderParam = (name: string, value: string) => void (this.#headers[name] = value)
}

/** Sends as the client does. */
export const httpApi: HttpApi = {
  send: (request) => {
    const init = { method: request.getHttpMethod(), headers: request.getHeaders() }
    const body = request.getBody() as string | undefined
    const sent = fetch(request.getUrl(), { ...init, ...(body !== undefined && { body }) })
    return promised(
      sent.then((response) => ({
        httpStatusCode: response.status,
        body: { text: () => response.text(), binary: () => response.bytes() },
      })),
    )
  },
}

/** An API class, which is given the configuration that its requests go through. */
export class Api {
  readonly #httpApi: HttpApi
  constructor(configuration: { httpApi: HttpApi }) {
    this.#httpApi = configuration.httpApi
  }
  async ask(
    method: string,
    url: string,
    body?: object,
    type?: string,
  ): Promise<{ status: number; answer: Stored }> {
    const request = new Request(url, method)
    if (type !== undefined) request.setHeaderParam('Content-Type', type)
    if (body !== undefined) request.setBody(JSON.stringify(body))
    const response = await this.#httpApi.send(request).toPromise()
    return { status: response.httpStatusCode, answer: JSON.parse(await response.body.text()) as Stored }
  }
}
