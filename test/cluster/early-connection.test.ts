import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { Authority } from '../../lab/harness/certificates.ts'
import { freePorts } from '../../lab/harness/free-ports.ts'
import { ApiServer } from '../../src/kube/cluster/api-server.ts'
import {
  type ClusterAccess,
  type Credential,
  fixedCredential,
} from '../../src/kube/cluster/cluster-access.ts'

const authority = new Authority()
const TOKEN = fixedCredential({ headers: { authorization: 'Bearer t' } })

function accessTo(port: number, credential: Credential = TOKEN): ClusterAccess {
  const server = new URL(`https://127.0.0.1:${port}`)
  return {
    name: 'test',
    server,
    tls: { ca: authority.cert, servername: 'localhost' },
    proxy: '',
    credential,
    namespace: '',
  }
}

/** An API server that counts who connects. */
async function startCounting(port = 0) {
  let connections = 0
  const server = createServer({ ...authority.issue(), ca: authority.cert }, (_, response) =>
    response.end('{}'),
  )
  server.on('secureConnection', () => connections++)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    server,
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

test('who connects early asks over that connection', async () => {
  await using counting = await startCounting()
  using api = new ApiServer(accessTo(counting.port))
  api.connect()
  await once(counting.server, 'secureConnection')
  for (let time = 0; time < 2; time++) expect(await api.json('/version', 60_000)).toEqual({})
  expect(counting.connections()).toBe(1)
})

test('what is asked while the connection is made waits for it', async () => {
  await using counting = await startCounting()
  using api = new ApiServer(accessTo(counting.port))
  api.connect()
  expect(await api.json('/version', 60_000)).toEqual({})
  expect(counting.connections()).toBe(1)
})

test('where the early connection did not come about, another one is made', async () => {
  const [port = 0] = await freePorts(1)
  using api = new ApiServer(accessTo(port))
  api.connect()
  // Whoever asks later hears later that nobody is there.
  using later = new ApiServer(accessTo(port))
  await expect(later.json('/version', 60_000)).rejects.toThrow('ECONNREFUSED')
  await using counting = await startCounting(port)
  expect(await api.json('/version', 60_000)).toEqual({})
  expect(counting.connections()).toBe(1)
})

test('nobody is asked for a credential before it is needed', async () => {
  await using counting = await startCounting()
  let asked = 0
  const credential = {
    present: async () => {
      asked++
      return await TOKEN.present()
    },
    refused: () => undefined,
  }
  using api = new ApiServer(accessTo(counting.port, credential))
  api.connect()
  expect(asked).toBe(0)
  await api.json('/version', 60_000)
  expect([asked, counting.connections()]).toEqual([1, 1])
})
