import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { freePorts } from '../../lab/harness/free-ports.ts'
import { ApiServer } from '../../src/kube/cluster/api-server.ts'
import { fixedCredential } from '../../src/kube/cluster/cluster-access.ts'
import { environmentProxy } from '../../src/kube/cluster/environment-proxy.ts'

const PROXY = 'http://proxy.example:3128'

/** As Go's golang.org/x/net/http/httpproxy answers, by which kubectl goes: whether a server is asked directly. */
const ASKED: readonly (readonly [list: string, server: string, isDirect: boolean])[] = [
  ['', 'https://api.example.com:6443', false],
  ['', 'https://localhost:6443', true],
  ['', 'https://127.0.0.1:6443', true],
  ['', 'https://127.9.9.9:6443', true],
  ['', 'https://[::1]:6443', true],
  ['*', 'https://api.example.com', true],
  ['a.test, *', 'https://api.example.com', true],
  ['10.0.0.0/8', 'https://10.96.0.1:443', true],
  ['10.0.0.0/8', 'https://11.96.0.1:443', false],
  ['10.0.0.0/33', 'https://10.96.0.1:443', false],
  ['10.0.0.0/8', 'https://api.example.com', false],
  ['fd00::/8', 'https://[fd00::1]:6443', true],
  ['fd00::/8', 'https://[fe80::1]:6443', false],
  ['10.96.0.1', 'https://10.96.0.1:6443', true],
  ['10.96.0.1:6443', 'https://10.96.0.1:6443', true],
  ['10.96.0.1:443', 'https://10.96.0.1:6443', false],
  ['10.96.0.1:443', 'https://10.96.0.1', true],
  ['fd00:0::1', 'https://[fd00::1]:6443', true],
  ['[fd00::1]:6443', 'https://[fd00::1]:6443', true],
  ['[fd00::1]:443', 'https://[fd00::1]:6443', false],
  ['example.com', 'https://api.example.com', true],
  ['example.com', 'https://example.com', true],
  ['example.com', 'https://anexample.com', false],
  ['.example.com', 'https://api.example.com', true],
  ['.example.com', 'https://example.com', false],
  ['*.example.com', 'https://api.example.com', true],
  ['*.example.com', 'https://example.com', false],
  [' Example.COM , .svc', 'https://api.example.com', true],
  ['example.com:6443', 'https://api.example.com:6443', true],
  ['example.com:443', 'https://api.example.com:6443', false],
  ['.svc,.cluster.local', 'https://kubernetes.default.svc', true],
  [':443,,/8,::', 'https://api.example.com', false],
]

test.each(ASKED)('with NO_PROXY=%s %s is asked as kubectl asks it', (list, server, isDirect) => {
  const expected = isDirect ? '' : PROXY
  expect(environmentProxy(new URL(server), { HTTPS_PROXY: PROXY, NO_PROXY: list })).toBe(expected)
  expect(environmentProxy(new URL(server), { https_proxy: PROXY, no_proxy: list })).toBe(expected)
})

test('each scheme has its proxy, and one without a scheme is one of http', () => {
  const env = {
    HTTPS_PROXY: 'one.example:3128',
    http_proxy: 'https://two.example',
    ALL_PROXY: 'http://three',
  }
  expect(environmentProxy(new URL('https://a.test'), env)).toBe('http://one.example:3128')
  expect(environmentProxy(new URL('http://a.test'), env)).toBe('https://two.example')
  expect(environmentProxy(new URL('http://a.test'), { HTTPS_PROXY: PROXY })).toBe('')
})

async function listening(server: Server) {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  server.listen(0, '127.0.0.1', () => resolve(undefined))
  await promise
  return (server.address() as AddressInfo).port
}

test('a cluster on this machine is asked directly, whatever proxy there is', async () => {
  const api = createServer((_, response) => void response.end('{"gitVersion":"v1"}'))
  const [port, [nobody]] = [await listening(api), await freePorts(1)]
  const { http_proxy: before, no_proxy: except } = process.env
  Object.assign(process.env, { http_proxy: `http://127.0.0.1:${nobody}`, no_proxy: '' })
  try {
    const credential = fixedCredential({ headers: {} })
    const access = { name: 'c', tls: {}, proxy: '', credential, namespace: '' }
    using server = new ApiServer({ ...access, server: new URL(`http://127.0.0.1:${port}`) })
    expect(await server.json('/version', 60_000)).toEqual({ gitVersion: 'v1' })
  } finally {
    for (const [name, value] of Object.entries({ http_proxy: before, no_proxy: except }))
      if (value === undefined) Reflect.deleteProperty(process.env, name)
      else process.env[name] = value
    api.closeAllConnections()
    api.close()
  }
})
