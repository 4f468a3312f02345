import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, type Socket } from 'node:net'

export interface HttpRequest {
  body: Buffer
  headers: IncomingMessage['headers']
  url: string
  socket: Socket
}

export interface HttpBackend extends AsyncDisposable {
  url: string
  port: number
  requests: HttpRequest[]
}

/** An HTTP server that reads each request whole and answers as told; it listens on 127.0.0.1 until disposed. */
export async function startHttpBackend(
  answer: (response: ServerResponse, request: HttpRequest) => void,
  server: Server = createServer(),
  scheme = 'http',
  port = 0,
): Promise<HttpBackend> {
  const requests: HttpRequest[] = []
  server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { headers, url = '', socket } = incoming
      const request = { body: Buffer.concat(chunks), headers, url, socket }
      requests.push(request)
      answer(response, request)
    })
  })
  const taken = await listenLocally(server, port)
  return {
    url: `${scheme}://127.0.0.1:${taken}/v1/traces`,
    port: taken,
    requests,
    [Symbol.asyncDispose]: () => closeServer(server),
  }
}

/** Has a server listen on 127.0.0.1 and tells the port. */
async function listenLocally(server: Server, port = 0): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  server.listen(port, '127.0.0.1', () => resolve(undefined))
  await promise
  return (server.address() as AddressInfo).port
}

/** Closes a server together with its connections. */
async function closeServer(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  server.close(() => resolve(undefined))
  server.closeAllConnections()
  await promise
}
