import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Authority } from '../../lab/harness/certificates.ts'
import { ApiServer } from '../../src/kube/cluster/api-server.ts'
import { serviceAccountAccess } from '../../src/kube/cluster/cluster-access.ts'
import { kubeconfigAccess } from '../../src/kube/cluster/kubeconfig.ts'

const authority = new Authority()
let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'causeway-kubeconfig-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

interface Asker {
  readonly authorization: string | undefined
  readonly certificate: string | undefined
  readonly groups: string | string[] | undefined
  readonly as: Readonly<Record<string, string | string[] | undefined>>
}

/** An API server that answers who asks; what it does not take it answers 401. */
async function startWhoAsks(takes: (asker: Asker) => boolean = () => true) {
  const server = createServer(
    { ...authority.issue(), ca: authority.cert, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const asker = askerOf(request)
      if (takes(asker)) response.end(JSON.stringify(asker))
      else response.writeHead(401).end(JSON.stringify({ kind: 'Status', message: 'Unauthorized' }))
    },
  )
  return await listening(server)
}

async function listening(server: Server) {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  // Those too whose handshake is not over, of which the server knows nothing yet.
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1', () => resolve(undefined))
  await promise
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<undefined>()
      server.close(() => closed.resolve(undefined))
      for (const socket of sockets) socket.destroy()
      await closed.promise
    },
  }
}

function askerOf(request: IncomingMessage): Asker {
  const { authorization } = request.headers
  const { socket } = request
  if (!(socket instanceof TLSSocket)) throw new Error('it asks without TLS')
  const { subject } = socket.getPeerCertificate() as { subject?: { CN?: string } }
  const as = Object.entries(request.headers).filter(([name]) => name.startsWith('impersonate-'))
  const groups = request.headers['impersonate-group']
  return { authorization, certificate: subject?.CN, groups, as: Object.fromEntries(as) }
}

function writeKubeconfig(server: string, user: object, cluster: object = {}): string {
  const path = join(directory, 'config')
  writeFileSync(join(directory, 'ca.crt'), authority.cert)
  const config = {
    'current-context': 'mine',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority': 'ca.crt', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'mine', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

async function asks(path: string): Promise<unknown> {
  using server = new ApiServer(kubeconfigAccess({ path }))
  return await server.json('/version', 60_000)
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

test('a token, a password, a certificate: each is shown as the kubeconfig says', async () => {
  await using api = await startWhoAsks()
  const { cert, key } = authority.issue({ name: 'alice' })
  const token = writeKubeconfig(api.url, { token: 'secret' })
  expect(await asks(token)).toMatchObject({ authorization: 'Bearer secret' })
  const basic = writeKubeconfig(api.url, { username: 'a', password: 'b' })
  expect(await asks(basic)).toMatchObject({ authorization: `Basic ${base64('a:b')}` })
  const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) }
  expect(await asks(writeKubeconfig(api.url, user))).toMatchObject({ certificate: 'alice' })
  const as = { token: 't', as: 'bob', 'as-groups': ['one', 'two'] }
  expect(await asks(writeKubeconfig(api.url, as))).toMatchObject({ groups: 'one, two' })
})

test('who asks as somebody else is that in all that the kubeconfig says, and nobody else without a name', async () => {
  await using api = await startWhoAsks()
  const rest = {
    'as-uid': '7',
    'as-groups': ['one', 'two'],
    'as-user-extra': { scopes: ['view', 'edit'], 'example.com/Where at%': ['here'], none: [] },
  }
  expect(await asks(writeKubeconfig(api.url, { token: 't', as: 'bob', ...rest }))).toMatchObject({
    as: {
      'impersonate-user': 'bob',
      'impersonate-uid': '7',
      'impersonate-group': 'one, two',
      'impersonate-extra-scopes': 'view, edit',
      'impersonate-extra-example.com%2fwhere%20at%25': 'here',
    },
  })
  expect(await asks(writeKubeconfig(api.url, { token: 't', ...rest }))).toMatchObject({ as: {} })
})

test('a token of the kubeconfig is shown rather than one of its plugin, as kubectl does', async () => {
  await using api = await startWhoAsks()
  const printed = {
    apiVersion: 'client.authentication.k8s.io/v1',
    ...{ kind: 'ExecCredential', status: { token: 'of the plugin' } },
  }
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    ...{ command: process.execPath, args: ['-p', JSON.stringify(JSON.stringify(printed))] },
  }
  expect(await asks(writeKubeconfig(api.url, { exec }))).toMatchObject({
    authorization: 'Bearer of the plugin',
  })
  expect(await asks(writeKubeconfig(api.url, { exec, token: 'own' }))).toMatchObject({
    authorization: 'Bearer own',
  })
})

test('a file with a token is read for each request, so that nobody asks with one that ran out', async () => {
  let good = 'first'
  await using api = await startWhoAsks(({ authorization }) => authorization === `Bearer ${good}`)
  const path = writeKubeconfig(api.url, { tokenFile: 'token' })
  writeFileSync(join(directory, 'token'), 'first\n')
  using server = new ApiServer(kubeconfigAccess({ path }))
  await server.json('/version', 60_000)
  good = 'second'
  await expect(server.json('/version', 60_000)).rejects.toThrow('Unauthorized')
  writeFileSync(join(directory, 'token'), 'second\n')
  await server.json('/version', 60_000)
})

test('a plugin is run once, and again when what it gave is refused', async () => {
  let good = '1'
  await using api = await startWhoAsks(({ authorization }) => authorization === `Bearer ${good}`)
  const plugin = `
    const { spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO)
    const fs = require('node:fs')
    fs.appendFileSync(process.env.RUNS, spec.cluster.server + '\\n')
    const token = String(fs.readFileSync(process.env.RUNS, 'utf8').trim().split('\\n').length)
    console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } }))`
  const path = writeKubeconfig(api.url, {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', plugin],
      env: [{ name: 'RUNS', value: join(directory, 'runs') }],
      provideClusterInfo: true,
    },
  })
  using server = new ApiServer(kubeconfigAccess({ path }))
  await Promise.all([server.json('/version', 60_000), server.json('/version', 60_000)])
  good = '2'
  expect(await server.json('/version', 60_000)).toMatchObject({ authorization: 'Bearer 2' })
  good = '4'
  await expect(server.json('/version', 60_000)).rejects.toThrow('Unauthorized')
})

test('an id token that ran out is refreshed at its issuer, whose certificate the kubeconfig vouches for', async () => {
  const grants: string[] = []
  const idToken = (expiresMs: number): string =>
    ['{"alg":"none"}', JSON.stringify({ exp: Math.trunc(expiresMs / 1_000) }), 'x']
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.')
  const later = idToken(Date.now() + 3_600_000)
  const claims = { iss: '', sub: 's', aud: 'causeway', iat: Math.trunc(Date.now() / 1_000) }
  await using issuer = await listening(
    createServer(authority.issue(), (request, response) => {
      let form = ''
      request.on('data', (part: Buffer) => (form += part.toString()))
      request.on('end', () => {
        response.setHeader('content-type', 'application/json')
        if (request.url === '/.well-known/openid-configuration')
          response.end(JSON.stringify({ issuer: issuer.url, token_endpoint: `${issuer.url}/token` }))
        else {
          grants.push(form)
          const exp = Math.trunc(Date.now() / 1_000) + 3_600
          const fresh = ['{"alg":"RS256"}', JSON.stringify({ ...claims, iss: issuer.url, exp }), 'x']
          const id_token = fresh.map((part) => Buffer.from(part).toString('base64url')).join('.')
          const answer = { access_token: 'a', token_type: 'bearer', id_token, refresh_token: 'next' }
          response.end(JSON.stringify(answer))
        }
      })
    }),
  )
  await using api = await startWhoAsks()
  const config = {
    'idp-issuer-url': issuer.url,
    'client-id': 'causeway',
    'refresh-token': 'first',
    'idp-certificate-authority': 'ca.crt',
  }
  const userWith = (token: string): object => ({
    'auth-provider': { name: 'oidc', config: { ...config, 'id-token': token } },
  })
  expect(await asks(writeKubeconfig(api.url, userWith(later)))).toMatchObject({
    authorization: `Bearer ${later}`,
  })
  expect(grants).toEqual([])
  const asked = (await asks(writeKubeconfig(api.url, userWith(idToken(0))))) as Asker
  expect(asked.authorization).toMatch(/^Bearer .+\.eA$/)
  expect(grants.map((form) => new URLSearchParams(form).get('refresh_token'))).toEqual(['first'])
})

test.each([
  [204, 'answered 204'],
  [304, 'answered 304'],
  [101, 'switches to another protocol'],
  [999, 'answered 999'],
])('an issuer that answers %i, as no issuer does, gives no token and ends nothing', async (status, says) => {
  await using api = await startWhoAsks()
  await using issuer = await listening(
    createServer(authority.issue(), (_, response) => {
      const isSwitching = status === 101
      response.writeHead(status, isSwitching ? { connection: 'upgrade', upgrade: 'else' } : {}).end()
    }),
  )
  const config = {
    'idp-issuer-url': issuer.url,
    'client-id': 'causeway',
    'refresh-token': 'first',
    'idp-certificate-authority-data': base64(authority.cert),
  }
  const user = { 'auth-provider': { name: 'oidc', config } }
  await expect(asks(writeKubeconfig(api.url, user))).rejects.toThrow(says)
})

test('a Pod is its service account', async () => {
  await using api = await startWhoAsks()
  writeKubeconfig('', {})
  writeFileSync(join(directory, 'token'), 'of the Pod')
  const env = { KUBERNETES_SERVICE_HOST: 'localhost', KUBERNETES_SERVICE_PORT: new URL(api.url).port }
  using server = new ApiServer(serviceAccountAccess(directory, env))
  expect(await server.json('/version', 60_000)).toMatchObject({ authorization: 'Bearer of the Pod' })
  expect(() => serviceAccountAccess(directory, {})).toThrow('write auth_type: kubeConfig')
  rmSync(join(directory, 'ca.crt'))
  expect(() => serviceAccountAccess(directory, env)).toThrow('automountServiceAccountToken')
})

test.each([
  [{ token: 't' }, {}, { context: 'theirs' }, 'has no "theirs" among its contexts; there are mine'],
  [{ token: 't' }, { server: 'nowhere' }, {}, 'has no server for this cluster, but "nowhere"'],
  [{ 'client-certificate': 'none.crt' }, {}, {}, "the kubeconfig's client-certificate cannot be read"],
  [{ 'auth-provider': { name: 'gcp' } }, {}, {}, 'auth-provider gcp is no longer part of Kubernetes'],
  [{ exec: { apiVersion: 'v1alpha1', command: 'x' } }, {}, {}, 'the exec plugin speaks "v1alpha1"'.slice(4)],
])('%j: it is said what is wrong', (user: object, cluster: object, choice: object, message: string) => {
  const path = writeKubeconfig('https://localhost:1', user, cluster)
  expect(() => kubeconfigAccess({ path, ...choice })).toThrow(message)
})

test('a plugin that is not there is told of with what its vendor says', async () => {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './no-such-plugin',
    installHint: 'install it from example.com',
  }
  const path = writeKubeconfig('https://localhost:1', { exec })
  await expect(asks(path)).rejects.toThrow(/no-such-plugin cannot be run: .*; install it from example.com/)
})
