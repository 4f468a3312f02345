import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { startGrpcBackend, tookAll } from '../../lab/harness/sinks/grpc-backend.ts'
import { startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import { receivedLogs } from '../../lab/harness/sinks/log-backend.ts'
import { COMPONENTS } from '../../src/app/components.ts'
import type { ComponentConfig, ExporterConfig } from '../../src/config/causeway-config.ts'
import { Drain, type DrainProgress, outgoingLogs } from '../../src/exporter/drain.ts'
import { openTransport } from '../../src/exporter/open-transport.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { SqliteLogOutbox, SqliteOutbox } from '../../src/store/sqlite/outbox.ts'
import { cpid } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'
import { partialSuccess } from './otlp-bytes.ts'

const LOGS = 20
const CHANGE = cpid(1)
const LOGIN: ComponentConfig = {
  id: 'basicauth/out',
  type: 'basicauth',
  settings: { clientAuth: { username: 'causeway', password: 'word' } },
}
const SHOWN = `Basic ${Buffer.from('causeway:word').toString('base64')}`
const COMMON = {
  tls: {
    insecure: true,
    insecureSkipVerify: false,
    minVersion: 'TLSv1.2' as const,
    cipherSuites: [],
    curves: [],
    reloadIntervalMs: 0,
  },
  headers: {},
  compression: 'none' as const,
  timeoutMs: 20_000,
}
const RETRY = {
  enabled: true,
  initialIntervalMs: 1,
  randomizationFactor: 0,
  multiplier: 1,
  maxIntervalMs: 1,
  maxElapsedMs: 0,
}
const exporter = (type: string, settings: object): ExporterConfig => ({
  id: 'otlp/test',
  type,
  settings: { ...COMMON, ...settings },
  destinations: {},
  sending: { batchMaxItems: 8, consumers: 2, retry: RETRY },
})
const overGrpc = (port: number): ExporterConfig => exporter('otlp_grpc', { host: '127.0.0.1', port })
const overHttp = (urls: object, encoding: 'proto' | 'json'): ExporterConfig =>
  exporter('otlp_http', { urls, encoding })
const BODIES = Array.from({ length: LOGS }, (_, at) => `record ${at + 1}`)

/** Records of one change, after the record of its mergelog. */
async function filled(): Promise<TestWriter> {
  const writer = await TestWriter.open({ linking: { logs: true } })
  writer.mergelogs('kubectl', [{ new: CHANGE }])
  writer.link()
  writer.keepExporters('logs', ['otlp/test'], 1)
  writer.logs(
    'controller',
    BODIES.map((body) => ({ body, cpid: CHANGE })),
  )
  writer.link()
  return writer
}

interface Sent {
  delivered: number
  refused: number
  shown: string[]
}

/** Sends what is decided, to the end. */
async function sendAll(config: ExporterConfig): Promise<Sent> {
  using writer = await filled()
  const stop = new AbortController()
  const sent: Sent = { delivered: 0, refused: 0, shown: [] }
  await using transport = await openTransport(config, 'logs', {
    components: COMPONENTS,
    userAgent: 'test',
    authenticators: [LOGIN],
    onTrouble: () => undefined,
    writeLine: (line) => sent.shown.push(line),
    onRetry: () => undefined,
  })
  const last = writer.writer.lastDecisions.logs
  const onProgress = ({ position, delivered, refused }: DrainProgress): void => {
    sent.delivered += delivered
    sent.refused += refused
    if (position === last) stop.abort()
  }
  const outbox = outgoingLogs(new SqliteLogOutbox(writer.db, new SqliteOutbox(writer.db)))
  const settings = { batchMaxItems: 8, batchMaxBytes: 1_000_000, consumers: 2 }
  const hooks = {
    onProgress,
    onDrop: () => undefined,
    onInFlight: () => undefined,
    onUnreadable: () => undefined,
    onBroken: () => undefined,
  }
  await new Drain(settings, 1, outbox, transport, hooks).run(stop.signal)
  return sent
}

test('over gRPC to the logs service, in batches, after an answer that says to try again', async () => {
  let asked = 0
  await using backend = await startGrpcBackend((reply) => {
    if (++asked === 1) reply({ code: status.UNAVAILABLE, details: 'not yet' })
    else tookAll(reply)
  })
  expect(await sendAll(overGrpc(backend.port))).toMatchObject({ delivered: LOGS, refused: 0 })
  expect(new Set(backend.requests.map(({ path }) => path))).toEqual(
    new Set(['/opentelemetry.proto.collector.logs.v1.LogsService/Export']),
  )
  const records = backend.requests.flatMap(({ body }) => receivedLogs(body))
  expect(new Set(records.map(({ what }) => what))).toEqual(new Set(BODIES))
  expect(new Set(records.map(({ traceId }) => traceId))).toEqual(new Set([traceOf(CHANGE)]))
})

test('over HTTP to the URL for logs, as JSON', async () => {
  await using backend = await startHttpBackend((response) =>
    response.setHeader('content-type', 'application/json').end('{}'),
  )
  const base = `http://127.0.0.1:${backend.port}`
  const sent = await sendAll(overHttp({ traces: `${base}/not/here`, logs: `${base}/otlp/v1/logs` }, 'json'))
  expect(sent).toMatchObject({ delivered: LOGS, refused: 0 })
  expect(new Set(backend.requests.map(({ url }) => url))).toEqual(new Set(['/otlp/v1/logs']))
  const records = backend.requests.flatMap(({ body }) =>
    receivedLogs(Buffer.from(protobufOfJson('logs', body))),
  )
  expect(records.map(({ what }) => what).sort()).toEqual([...BODIES].sort())
})

test('one refused record is found by halving; a partial success counts what it names', async () => {
  await using picky = await startGrpcBackend((reply, request) => {
    const isPoisoned = receivedLogs(request.body).some(({ what }) => what === 'record 13')
    if (isPoisoned) reply({ code: status.INVALID_ARGUMENT, details: 'not that one' })
    else tookAll(reply)
  })
  expect(await sendAll(overGrpc(picky.port))).toMatchObject({ delivered: LOGS - 1, refused: 1 })
  let answered = 0
  await using partial = await startGrpcBackend((reply) =>
    reply(null, ++answered === 1 ? partialSuccess(3, 'three were bad') : Buffer.alloc(0)),
  )
  expect(await sendAll(overGrpc(partial.port))).toMatchObject({ delivered: LOGS - 3, refused: 3 })
})

test('debug shows log records', async () => {
  const { shown } = await sendAll(exporter('debug', { verbosity: 'normal' }))
  expect(shown.filter((line) => line.startsWith('Logs {"resource logs": 1'))).not.toEqual([])
  expect(shown.filter((line) => line.includes('"record 7"'))).toHaveLength(1)
})

test.each(['traces', 'logs', 'metrics'] as const)(
  '%s are sent with the login that auth names',
  async (signal) => {
    const hooks = {
      components: COMPONENTS,
      userAgent: 'test',
      authenticators: [LOGIN],
      onTrouble: () => undefined,
      writeLine: () => undefined,
      onRetry: () => undefined,
    }
    await using backend = await startGrpcBackend(tookAll)
    const overGrpcWithLogin = { ...overGrpc(backend.port), auth: LOGIN.id }
    await using transport = await openTransport(overGrpcWithLogin, signal, hooks)
    await transport.send(Buffer.alloc(0), new AbortController().signal)
    expect(backend.requests.map(({ metadata }) => metadata.get('authorization'))).toEqual([[SHOWN]])

    await using web = await startHttpBackend((response) => response.end())
    const url = `http://127.0.0.1:${web.port}/v1/${signal}`
    const overHttpWithLogin = { ...overHttp({ [signal]: url }, 'proto'), auth: LOGIN.id }
    await using other = await openTransport(overHttpWithLogin, signal, hooks)
    await other.send(Buffer.alloc(0), new AbortController().signal)
    expect(web.requests.map(({ headers }) => headers.authorization)).toEqual([SHOWN])
  },
)
