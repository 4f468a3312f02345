import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from '@jest/globals'
import { startHealthServer } from '../../src/extension/health-check/health-server.ts'
import { createMetrics, startMetricsServer } from '../../src/platform/metrics.ts'

const service = { serviceName: 'causeway', serviceVersion: '0.1.0', serviceInstanceId: 'one' }
const local = { host: '127.0.0.1', port: 0 }

test('metrics are at /metrics and nowhere else', async () => {
  const metrics = createMetrics(service)
  metrics.add('cpid_commits', 1)
  await using server = await startMetricsServer({ ...local, metrics })
  const base = `http://127.0.0.1:${server.port}`
  const found = await fetch(`${base}/metrics?x=y`)
  expect(found.status).toBe(200)
  expect(found.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  expect(await found.text()).toContain('\ncpid_commits 1\n')
  expect((await fetch(`${base}/`)).status).toBe(404)
  const posted = await fetch(`${base}/metrics`, { method: 'POST' })
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  expect((await fetch(`${base}/metrics`, { method: 'HEAD' })).status).toBe(200)
})

test('metrics that many ask for at once are read once', async () => {
  const metrics = createMetrics(service)
  let read = 0
  metrics.beforeScrape(() => {
    read++
  })
  await using server = await startMetricsServer({ ...local, metrics })
  const sockets = Array.from({ length: 10 }, () => connect(server.port, '127.0.0.1'))
  while (server.connections < sockets.length) await new Promise((resolve) => setImmediate(resolve))
  for (const socket of sockets) socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')
  for (const [answer] of await Promise.all(
    sockets.map((socket) => once(socket, 'data') as Promise<[Buffer]>),
  ))
    expect(answer.toString('latin1')).toContain('HTTP/1.1 200 ')
  expect(read).toBe(1)
  for (const socket of sockets) socket.destroy()
})

test('metrics that cannot be read are an error, not a silence', async () => {
  const metrics = createMetrics(service)
  metrics.beforeScrape(() => {
    throw new Error('database is closed')
  })
  await using server = await startMetricsServer({ ...local, metrics })
  const failed = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  expect([failed.status, await failed.text()]).toEqual([500, expect.stringContaining('database is closed')])
})

test('a port in use is an error that says what to change', async () => {
  await using first = await startHealthServer({ ...local, path: '/' })
  const taken = { host: '127.0.0.1', port: first.port }
  await expect(startMetricsServer({ ...taken, metrics: createMetrics(service) })).rejects.toThrow(
    `The metrics server cannot listen on 127.0.0.1:${first.port}: another program uses the port, perhaps a Causeway that already runs (causeway doctor says); ` +
      'change service.telemetry.metrics.readers[].pull.exporter.prometheus.{host,port}',
  )
  await expect(startHealthServer({ ...taken, path: '/' })).rejects.toThrow(
    'change extensions.health_check.endpoint',
  )
})

test('an address that is not here is an error that says so', async () => {
  await expect(startHealthServer({ host: '192.0.2.1', port: 0, path: '/' })).rejects.toThrow(
    'this machine has no such address',
  )
})

test('localhost is 127.0.0.1, and an empty host is everywhere', async () => {
  for (const host of ['localhost', '']) {
    await using server = await startHealthServer({ host, port: 0, path: '/' })
    expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(503)
  }
})

test('health names what was set aside, and stays well', async () => {
  await using server = await startHealthServer({ ...local, path: '/' })
  server.setReady(true)
  server.setWarning('set aside', 'look at it')
  const asked = async (): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/`)
    return [answer.status, await answer.json()]
  }
  expect(await asked()).toEqual([200, { status: 'Server available', warnings: ['look at it'] }])
  server.setWarning('set aside', undefined)
  expect(await asked()).toEqual([200, { status: 'Server available' }])
})

test('health is 503 until ready and 503 after', async () => {
  await using server = await startHealthServer({ ...local, path: '/' })
  const ask = async (): Promise<unknown[]> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/any?verbose`)
    return [answer.status, answer.headers.get('content-type'), await answer.json()]
  }
  const unavailable = [503, 'application/json', { status: 'Server not available' }]
  expect(await ask()).toEqual(unavailable)
  server.setReady(true)
  expect(await ask()).toEqual([200, 'application/json', { status: 'Server available' }])
  server.setReady(false)
  expect(await ask()).toEqual(unavailable)
})

test('health on a path of its own is only there', async () => {
  await using server = await startHealthServer({ ...local, path: '/health/status' })
  server.setReady(true)
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${server.port}${path}`)).status
  expect(await statusOf('/health/status')).toBe(200)
  expect(await statusOf('/health')).toBe(404)
  expect(await statusOf('/health/status/more')).toBe(404)
})

test('closing twice is safe, and ends a request that is still running', async () => {
  const metrics = createMetrics(service)
  const { promise: running, resolve } = Promise.withResolvers<undefined>()
  metrics.beforeScrape(() => {
    resolve(undefined)
    return new Promise(() => undefined)
  })
  const server = await startMetricsServer({ ...local, metrics })
  const cut = expect(fetch(`http://127.0.0.1:${server.port}/metrics`)).rejects.toThrow()
  await running
  await server[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await cut
})
