import { expect, test } from '@jest/globals'
import { hashSync } from 'bcryptjs'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { request as requestPlain, type RequestOptions } from 'node:http'
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2'
import { request as requestTls } from 'node:https'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { Authority } from '../../../lab/harness/certificates.ts'
import type { CausewayPorts } from '../../../lab/harness/causeway/causeway-settings.ts'
import { EXPORT_METHODS } from '../../../lab/harness/export-methods.ts'
import { markerSpan } from '../../process/support/marker-span.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const REQUESTS = 100
const REST_MS = 10
/** Silent connections come again as soon as they are closed, and are there before the first request. */
const SETTLED_MS = 1_000
const ADDRESS = '127.0.0.1'
const AUTHORIZATION = `Basic ${Buffer.from('alice:wonderland').toString('base64')}`
const CREDENTIAL = { authorization: AUTHORIZATION }

leaveNothingBehind()

const authority = new Authority()

interface Listener {
  port: keyof CausewayPorts
  silent: number
  hasTls: boolean
  /** Resolves to whether one request on a connection of its own was answered as it should be. */
  ask: (port: number) => Promise<boolean>
}

const listeners: Listener[] = [
  { port: 'query', silent: 64, hasTls: true, ask: (port) => answered(port, '/api/v1/cascades', 'tls') },
  { port: 'http', silent: 256, hasTls: false, ask: (port) => answered(port, '/v1/traces', 'export') },
  { port: 'metrics', silent: 32, hasTls: false, ask: (port) => answered(port, '/metrics') },
  { port: 'health', silent: 32, hasTls: false, ask: (port) => answered(port, '/') },
  { port: 'grpc', silent: 256, hasTls: false, ask: exported },
]

test.each(listeners)(
  '$silent silent connections to the $port port keep out nobody of the same address',
  async ({ port, silent, hasTls, ask }) => {
    await using causeway = await AttackedCauseway.start(secured())
    const served = causeway.settings.ports[port]
    using held = new Silent(served, silent, hasTls)
    await pause(SETTLED_MS)
    let good = 0
    for (let at = 0; at < REQUESTS; at++) {
      if (await ask(served)) good++
      await pause(REST_MS)
    }
    process.stderr.write(`${held.size} silent connections to ${port}: ${good} of ${REQUESTS} answered\n`)
    expect(good).toBe(REQUESTS)
  },
)

function secured() {
  const home = mkdtempSync(join(tmpdir(), 'causeway-process-'))
  const { cert, key } = authority.issue()
  const [certFile, keyFile] = [join(home, 'server.crt'), join(home, 'server.key')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  const auth = { authenticator: 'basicauth' }
  return {
    query: { auth, tls: { cert_file: certFile, key_file: keyFile } },
    patch: {
      extensions: { basicauth: { htpasswd: { inline: `alice:${hashSync('wonderland', 5)}` } } },
      receivers: { otlp: { protocols: { grpc: { auth }, http: { auth } } } },
    },
  }
}

/** Holds so many connections on which nothing is asked, and takes each that is closed again. */
class Silent implements Disposable {
  readonly #held = new Set<Socket>()
  #isOver = false

  constructor(port: number, count: number, hasTls: boolean) {
    for (let at = 0; at < count; at++) this.#hold(port, hasTls)
  }

  get size(): number {
    return this.#held.size
  }

  #hold(port: number, hasTls: boolean): void {
    if (this.#isOver) return
    const socket = hasTls
      ? connectTls({ port, host: ADDRESS, rejectUnauthorized: false })
      : connect({ port, host: ADDRESS })
    this.#held.add(socket)
    socket.resume().on('error', () => undefined)
    socket.once('close', () => {
      this.#held.delete(socket)
      setTimeout(() => this.#hold(port, hasTls), REST_MS)
    })
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    for (const socket of this.#held) socket.destroy()
  }
}

function answered(port: number, path: string, how?: 'tls' | 'export'): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const headers = { ...CREDENTIAL, ...(how === 'export' && { 'content-type': 'application/x-protobuf' }) }
  const options: RequestOptions = {
    ...{ host: ADDRESS, port, path, headers, agent: false },
    method: how === 'export' ? 'POST' : 'GET',
  }
  const asked =
    how === 'tls'
      ? requestTls({ ...options, ca: authority.cert, servername: 'localhost' })
      : requestPlain(options)
  asked.on('response', (response) => {
    response.resume().on('error', () => resolve(false))
    response.on('end', () => resolve(response.statusCode === 200))
  })
  asked.on('error', () => resolve(false))
  asked.end(how === 'export' ? markerSpan('neighbour').bytes : undefined)
  return promise
}

function exported(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const session: ClientHttp2Session = connectHttp2(`http://${ADDRESS}:${port}`)
  const { bytes } = markerSpan('neighbour')
  const framed = Buffer.alloc(5 + bytes.length)
  framed.writeUInt32BE(bytes.length, 1)
  bytes.copy(framed, 5)
  const stream = session.request({
    ':method': 'POST',
    ':path': EXPORT_METHODS.traces.path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...CREDENTIAL,
  })
  let status: unknown
  for (const event of ['response', 'trailers'] as const)
    stream.on(event, (fields: Record<string, unknown>) => (status = fields['grpc-status'] ?? status))
  session.on('error', () => resolve(false))
  stream
    .on('error', () => resolve(false))
    .on('close', () => {
      session.destroy()
      resolve(Number(status) === 0)
    })
  stream.resume().end(framed)
  return promise
}
