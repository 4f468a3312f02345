import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Authority } from '../../lab/harness/certificates.ts'
import { ApiServer } from '../../src/kube/cluster/api-server.ts'
import { kubeconfigAccess } from '../../src/kube/cluster/kubeconfig.ts'

const authority = new Authority()
let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'causeway-proxy-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

async function listening(server: Server) {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  server.listen(0, '127.0.0.1', () => resolve(undefined))
  await promise
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<undefined>()
      server.close(() => closed.resolve(undefined))
      for (const socket of sockets) socket.destroy()
      await closed.promise
    },
  }
}

/** The one cluster behind this proxy: its name is known to the proxy alone. */
function startApiServer() {
  const certificate = authority.issue({ dns: ['api.behind.test'] })
  return listening(
    createTlsServer(certificate, (request, response) => {
      response.end(
        JSON.stringify({ host: request.headers.host, authorization: request.headers.authorization }),
      )
    }),
  )
}

/** A proxy (RFC 9110, section 9.3.6) that connects whoever asks with the server behind it, and keeps what it was asked. */
async function startProxy(behind: number) {
  const asked: { target: string | undefined; credential: string | undefined }[] = []
  const server = createServer((_, response) => void response.writeHead(405).end())
  server.on('connect', (request, socket: Socket, head: Buffer) => {
    asked.push({ target: request.url, credential: request.headers['proxy-authorization'] })
    const through = connect(behind, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      through.write(head)
      through.pipe(socket).pipe(through)
    })
    for (const end of [through, socket]) end.on('error', () => [through, socket].map((one) => one.destroy()))
  })
  const running = await listening(server)
  return { ...running, asked, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
}

function kubeconfigThrough(proxy: string): string {
  const path = join(directory, 'config')
  writeFileSync(join(directory, 'ca.crt'), authority.cert)
  const cluster = {
    server: 'https://api.behind.test:6443',
    'certificate-authority': 'ca.crt',
    'proxy-url': proxy,
  }
  const config = {
    'current-context': 'mine',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'mine', context: { cluster: 'c', user: 'u' } }],
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

test('a server is asked through the proxy of its kubeconfig, which sees nothing of what is asked', async () => {
  await using api = await startApiServer()
  await using proxy = await startProxy(api.port)
  const path = kubeconfigThrough(`http://user:pass@127.0.0.1:${proxy.port}`)
  using server = new ApiServer(kubeconfigAccess({ path }))
  expect(await server.json('/version', 60_000)).toEqual({
    host: 'api.behind.test:6443',
    authorization: 'Bearer secret',
  })
  const credential = `Basic ${Buffer.from('user:pass').toString('base64')}`
  expect(proxy.asked).toEqual([{ target: 'api.behind.test:6443', credential }])
})

test.each([
  [
    'socks5://user:hidden@127.0.0.1:1080',
    'a proxy-url that is of the kind socks5; Causeway goes through proxies at http://',
  ],
  ['127.0.0.1:3128', 'a proxy-url that is no URL; '],
  ['http://', 'a proxy-url that is of the kind http'],
])('%s is refused, with what can be had', (proxy, message) => {
  const reading = (): unknown => kubeconfigAccess({ path: kubeconfigThrough(proxy) })
  expect(reading).toThrow(message)
  expect(reading).not.toThrow('hidden')
})
