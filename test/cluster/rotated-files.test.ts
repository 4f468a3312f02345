import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Authority, type Certificate } from '../../lab/harness/certificates.ts'
import { ApiServer } from '../../src/kube/cluster/api-server.ts'
import { serviceAccountAccess } from '../../src/kube/cluster/cluster-access.ts'
import { kubeconfigAccess } from '../../src/kube/cluster/kubeconfig.ts'

const [first, second] = [new Authority('the first'), new Authority('the second')]
const [one, two] = [first.issue({ name: 'one' }), first.issue({ name: 'two' })]

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'causeway-rotated-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const write = (name: string, text: string): void => writeFileSync(join(directory, name), text)
const base64 = (text: string): string => Buffer.from(text).toString('base64')

function writePair({ cert, key }: Certificate): void {
  write('client.crt', cert)
  write('client.key', key)
}

const OF_FILES = { 'client-certificate': 'client.crt', 'client-key': 'client.key' }

function writeKubeconfig(server: string, user: object, cluster: object = {}, current = 'mine'): string {
  const path = join(directory, 'config')
  const config = {
    'current-context': current,
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority': 'ca.crt', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'mine', context: { cluster: 'c', user: 'u' } }],
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

/** An API server that takes one user alone: the name of a certificate, or what stands in `authorization`. */
async function startTaking(user: string) {
  const state = { user, connections: 0 }
  const server = createServer(
    { ...first.issue(), ca: first.cert, requestCert: true, rejectUnauthorized: false },
    ({ socket, headers }, response) => {
      if (!(socket instanceof TLSSocket)) throw new Error('it asks without TLS')
      const { subject } = socket.getPeerCertificate() as { subject?: { CN?: string } }
      const who = headers.authorization ?? subject?.CN
      response.writeHead(who === state.user ? 200 : 401).end(JSON.stringify({ who, message: 'Unauthorized' }))
    },
  )
  server.on('secureConnection', () => state.connections++)
  const { promise, resolve } = Promise.withResolvers<undefined>()
  server.listen(0, '127.0.0.1', () => resolve(undefined))
  await promise
  return Object.assign(state, {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    /** Shows another certificate, by this authority, to whoever connects from now on. */
    certify(authority: Authority) {
      server.setSecureContext({ ...authority.issue(), ca: first.cert })
      server.closeAllConnections()
    },
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<undefined>()
      server.close(() => closed.resolve(undefined))
      server.closeAllConnections()
      await closed.promise
    },
  })
}

/** What is wrong with files, and nothing once that is over. */
const troubles: (string | undefined)[] = []
const onTrouble = (reason: string | undefined): unknown => troubles.push(reason)
beforeEach(() => {
  troubles.length = 0
})

const asks = async (server: ApiServer): Promise<unknown> => await server.json('/version', 60_000)

test('a client certificate that was rotated is shown, over new connections, and one that was not over the same', async () => {
  await using api = await startTaking('one')
  write('ca.crt', first.cert)
  writePair(one)
  using server = new ApiServer(kubeconfigAccess({ path: writeKubeconfig(api.url, OF_FILES), onTrouble }))
  await asks(server)
  await asks(server)
  expect(api.connections).toBe(1)
  writePair(two)
  api.user = 'two'
  expect(await asks(server)).toMatchObject({ who: 'two' })
  expect([api.connections, troubles]).toEqual([2, []])
})

test('while a certificate and its key do not fit, those before are shown, and it is said once', async () => {
  await using api = await startTaking('one')
  write('ca.crt', first.cert)
  writePair(one)
  using server = new ApiServer(kubeconfigAccess({ path: writeKubeconfig(api.url, OF_FILES), onTrouble }))
  await asks(server)
  write('client.crt', two.cert)
  await asks(server)
  await asks(server)
  const reason = expect.stringMatching(
    /^the client-certificate and client-key of the kubeconfig do not fit: .*; what was read before stays in use$/,
  )
  expect(troubles).toEqual([reason])
  write('client.key', '')
  await asks(server)
  expect(troubles).toEqual([
    reason,
    'the client-key of the kubeconfig is empty; what was read before stays in use',
  ])
  rmSync(join(directory, 'client.key'))
  await asks(server)
  expect(troubles).toHaveLength(3)
  write('client.key', two.key)
  api.user = 'two'
  expect(await asks(server)).toMatchObject({ who: 'two' })
  expect(troubles.slice(3)).toEqual([undefined])
})

test('an authority that was rotated is trusted, and one that is half written leaves the one before', async () => {
  await using api = await startTaking('one')
  write('ca.crt', first.cert)
  writePair(one)
  using server = new ApiServer(kubeconfigAccess({ path: writeKubeconfig(api.url, OF_FILES), onTrouble }))
  await asks(server)
  const both = first.cert + second.cert
  for (const half of ['', both.slice(0, -200)]) {
    write('ca.crt', half)
    await asks(server)
  }
  expect(troubles).toEqual(
    ['no certificate in it', 'a certificate in it that cannot be read'].map((fault) =>
      expect.stringContaining(`the certificate-authority of the kubeconfig has ${fault}`),
    ),
  )
  write('ca.crt', both)
  api.certify(second)
  expect(await asks(server)).toMatchObject({ who: 'one' })
  expect(troubles.slice(2)).toEqual([undefined])
})

test('the authority of a service account is read again too', async () => {
  await using api = await startTaking('Bearer of the Pod')
  write('ca.crt', first.cert)
  write('token', 'of the Pod')
  const env = { KUBERNETES_SERVICE_HOST: 'localhost', KUBERNETES_SERVICE_PORT: new URL(api.url).port }
  using server = new ApiServer(serviceAccountAccess(directory, env, onTrouble))
  await asks(server)
  write('ca.crt', 'half')
  await asks(server)
  expect(troubles).toEqual([
    `${join(directory, 'ca.crt')} has no certificate in it; what was read before stays in use`,
  ])
  write('ca.crt', second.cert)
  api.certify(second)
  expect(await asks(server)).toMatchObject({ who: 'Bearer of the Pod' })
  expect(troubles.slice(1)).toEqual([undefined])
})

test('a kubeconfig that was replaced is read again: its token, its certificates, and the files that it names now', async () => {
  await using api = await startTaking('Bearer old')
  write('ca.crt', first.cert)
  const path = writeKubeconfig(api.url, { token: 'old' })
  using server = new ApiServer(kubeconfigAccess({ path, onTrouble }))
  await asks(server)
  writeKubeconfig(api.url, { token: 'new' })
  api.user = 'Bearer new'
  await asks(server)
  const data = { 'client-certificate-data': base64(one.cert), 'client-key-data': base64(one.key) }
  writeKubeconfig(api.url, data, { 'certificate-authority-data': base64(first.cert + second.cert) })
  api.certify(second)
  api.user = 'one'
  await asks(server)
  write('other.crt', second.cert)
  writePair(one)
  writeKubeconfig(api.url, OF_FILES, { 'certificate-authority': 'other.crt' })
  await asks(server)
  writePair(two)
  api.user = 'two'
  await asks(server)
  expect(troubles).toEqual([])
})

test('a kubeconfig that is half written, or is of another server now, is not followed there', async () => {
  await using api = await startTaking('Bearer mine')
  await using other = await startTaking('Bearer other')
  write('ca.crt', first.cert)
  const path = writeKubeconfig(api.url, { token: 'mine' })
  const whole = { token: 'mine' }
  using server = new ApiServer(kubeconfigAccess({ path, onTrouble }))
  await asks(server)
  write('config', '{')
  await asks(server)
  writeKubeconfig(other.url, { token: 'other' })
  await asks(server)
  await asks(server)
  expect(troubles).toEqual([
    expect.stringContaining('cannot be read'),
    expect.stringContaining(`names the server ${other.url} now; reload Causeway to ask that one`),
  ])
  expect(other.connections).toBe(0)
  // Whatever is current later: what was asked for at the start is asked for.
  writeKubeconfig(api.url, whole, {}, 'another')
  await asks(server)
  expect(troubles.slice(2)).toEqual([undefined])
})

test('what is doubtful from the start is used until its files are better', async () => {
  await using api = await startTaking('one')
  write('ca.crt', first.cert)
  writePair({ ...one, key: two.key })
  using server = new ApiServer(kubeconfigAccess({ path: writeKubeconfig(api.url, OF_FILES), onTrouble }))
  for (let time = 0; time < 2; time++) await expect(asks(server)).rejects.toThrow('mismatch')
  const reason = expect.stringMatching(/do not fit: .*mismatch$/)
  expect(troubles).toEqual([reason])
  writePair(one)
  await asks(server)
  expect(troubles).toEqual([reason, undefined])
})

test('a plugin is not run anew for what else changes', async () => {
  await using api = await startTaking('Bearer 1')
  write('ca.crt', first.cert)
  const plugin = `
    const fs = require('node:fs')
    fs.appendFileSync(process.env.RUNS, '.')
    const token = String(fs.readFileSync(process.env.RUNS, 'utf8').length)
    console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } }))`
  const exec = {
    ...{ apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', plugin] },
    env: [{ name: 'RUNS', value: join(directory, 'runs') }],
  }
  const path = writeKubeconfig(api.url, { exec })
  using server = new ApiServer(kubeconfigAccess({ path, onTrouble }))
  await asks(server)
  write('ca.crt', first.cert + second.cert)
  api.certify(second)
  writeKubeconfig(api.url, { exec, as: 'somebody' })
  expect(await asks(server)).toMatchObject({ who: 'Bearer 1' })
  api.user = 'Bearer 2'
  expect(await asks(server)).toMatchObject({ who: 'Bearer 2' })
  expect(troubles).toEqual([])
})
