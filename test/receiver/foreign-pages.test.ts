import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, test } from '@jest/globals'
import { startHealthServer } from '../../src/extension/health-check/health-server.ts'
import { createMetrics, startMetricsServer } from '../../src/platform/metrics.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startHttp } from './support/start-receivers.ts'

const LOCAL = { host: '127.0.0.1', port: 0 }
const EVIL = 'attacker.example'
const service = { serviceName: 'causeway', serviceVersion: '0.1.0', serviceInstanceId: 'one' }

async function statusOf(
  port: number,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<number | undefined> {
  const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
  asked.end(method === 'POST' ? '{}' : undefined)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

test('a page that has the browser call this machine by another name reads no metrics and no health', async () => {
  await using metrics = await startMetricsServer({ ...LOCAL, metrics: createMetrics(service) })
  await using health = await startHealthServer({ ...LOCAL, path: '/' })
  for (const [port, path, well] of [
    [metrics.port, '/metrics', 200],
    [health.port, '/', 503],
  ] as const) {
    expect(await statusOf(port, path, { host: `localhost:${port}` })).toBe(well)
    expect(await statusOf(port, path, { host: `${EVIL}:${port}` })).toBe(403)
    expect(await statusOf(port, path, { host: `localhost:${port}`, origin: `http://${EVIL}` })).toBe(403)
  }
})

test('a page that has the browser call this machine by another name sends nothing', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const host = `${EVIL}:${receiver.port}`
  const json = { 'content-type': 'application/json' }
  expect(
    await statusOf(receiver.port, '/v1/traces', { ...json, host, origin: `http://${host}` }, 'POST'),
  ).toBe(403)
  expect(port.requests).toEqual([])
  expect(await statusOf(receiver.port, '/v1/traces', { ...json, host }, 'POST')).toBe(200)
})

test('a page whose origin is allowed sends by whatever name', async () => {
  const cors = { allowedOrigins: ['https://app.example.com'] }
  await using receiver = await startHttp(new RecordingPort(), { cors })
  const headers = {
    host: 'app.example.com',
    origin: 'https://app.example.com',
    'content-type': 'application/json',
  }
  expect(await statusOf(receiver.port, '/v1/traces', headers, 'POST')).toBe(200)
})
