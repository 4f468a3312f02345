import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { divertHttp2, listen } from '../../src/platform/http-listener.ts'
import { acceptProxyHeaders, TrustedProxies } from '../../src/platform/trusted-proxies.ts'
import { soon } from './support/held-server.ts'

const HERE = '127.0.0.1'
const KINDS = {
  plain: () => createServer(),
  'with gRPC': () => {
    const server = createServer()
    divertHttp2(server, (socket) => socket.destroy())
    return server
  },
  'behind a proxy': () => {
    const server = createServer()
    acceptProxyHeaders(server, new TrustedProxies([HERE]))
    return server
  },
  'with TLS': () => createTlsServer(),
}
const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[]

/** A listener, and a connection to it that has said no more than this. */
async function connected(kind: keyof typeof KINDS, said: string) {
  const listening = await listen(KINDS[kind](), { host: HERE, port: 0 }, { what: 'It', setting: 'none' })
  const caller = connect({ port: listening.port, host: HERE, allowHalfOpen: true }).resume()
  caller.on('error', () => undefined).write(said)
  await soon('the connection is taken', () => listening.connections === 1)
  return { listening, caller }
}

const isClosed = (caller: Socket) => (): boolean => caller.closed || caller.readableEnded

test.each(kinds)('a listener that ends waits for nobody who has asked nothing: %s', async (kind) => {
  for (const said of ['', 'P']) {
    const { listening, caller } = await connected(kind, said)
    let hasEnded = false
    const ending = listening[Symbol.asyncDispose]().then(() => (hasEnded = true))
    await soon('the listener has ended', () => hasEnded)
    await soon('the connection is closed', isClosed(caller))
    caller.destroy()
    await ending
  }
})

test.each(kinds)('whoever ends the connection before asking keeps none open: %s', async (kind) => {
  for (const said of ['', 'P']) {
    const { listening, caller } = await connected(kind, said)
    caller.end()
    await soon('the connection is closed', () => listening.connections === 0)
    caller.destroy()
    await listening[Symbol.asyncDispose]()
    expect(listening.connections).toBe(0)
  }
})
