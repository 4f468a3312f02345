import type { ServerResponse } from 'node:http'
import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { exporterTo, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { ownMetric } from '../../lab/harness/causeway/scraped-metrics.ts'
import { storedPositions, storedProgress } from '../../lab/harness/causeway/stored-data.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { seededRandom, shuffled } from '../../lab/harness/seeded-random.ts'
import { type HttpRequest, startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import {
  answersStatus,
  cancelsTheStream,
  endsWithoutStatus,
  failsInTheStream,
  hangsInItsReply,
  refusesTheStream,
  resetsTheConnection,
  startRawGrpcBackend,
} from '../../lab/harness/sinks/raw-grpc-backend.ts'
import { type ReceivedSpan, receivedSpans } from '../../lab/harness/sinks/received-spans.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'
import { WILL_RETRY } from '../../src/exporter/open-transport.ts'
import { rpcStatus } from '../exporter/otlp-bytes.ts'
import { cascadeLoad } from '../process/support/cascade-load.ts'
import { expectDelivered, expectStoredOnce } from '../process/support/expect-delivered.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'
import { spansRequest } from '../support/otlp-requests.ts'

const HARD = { sending_queue: { batch: { max_size: 20 } }, timeout: '500ms', compression: 'none' }
const ROUNDS = 3
const LONGEST_DELIVERY_MS = 240_000

leaveNothingBehind()

/** Every behaviour some times, in a drawn order. */
const drawn = <T>(seed: number, behaviours: readonly T[]): T[] =>
  shuffled(seededRandom(seed), Array.from({ length: ROUNDS }, () => behaviours).flat())

const retryInfo = rpcStatus('slower', { seconds: 0, nanos: 100_000_000 }).toString('base64')

test('over gRPC: hanging in its reply, resetting, refusing for now and asking for patience lose nothing and hold up nobody', async () => {
  const load = cascadeLoad(seededRandom(81), 40)
  await using backend = await startRawGrpcBackend(
    drawn(82, [
      hangsInItsReply,
      endsWithoutStatus,
      failsInTheStream,
      () => undefined,
      cancelsTheStream,
      refusesTheStream,
      resetsTheConnection,
      answersStatus(status.UNAVAILABLE),
      answersStatus(status.RESOURCE_EXHAUSTED, { 'grpc-status-details-bin': retryInfo }),
      answersStatus(status.DEADLINE_EXCEEDED),
    ]),
  )
  const settings = await freshSettings({ exporters: { otlp_grpc: exporterTo(backend.port, HARD) } })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.sendAll(load.requests)
  expect([...sender.failures]).toEqual([])
  await expectDelivered(settings, backend, load.spans, 60_000)
  expect(backend.requests).toBeGreaterThan(ROUNDS * 10)
  await eventually(() => expect(causeway.errors).toContain(WILL_RETRY))
  await eventually(() => {
    expect(storedPositions(settings)).toEqual({ otlp_grpc: storedProgress(settings).lastDecision })
  })
  expect(await ownMetric(settings, 'otelcol_exporter_send_failed_spans', 'otlp_grpc')).toBe(0)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expectStoredOnce(settings, load.spans)
})

type HttpBehaviour = (response: ServerResponse, request: HttpRequest) => void

/** Its head says yes, so the backend has the data, though the body never ends. */
const hangsInItsYes: HttpBehaviour = (response) =>
  response.writeHead(200, { 'content-length': '100' }).write('begun')

const HTTP_FAULTS: readonly HttpBehaviour[] = [
  () => undefined,
  (_, { socket }) => socket.destroy(),
  (_, { socket }) => socket.resetAndDestroy(),
  (_, { socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-le'),
  hangsInItsYes,
  (response) => response.writeHead(503).end(),
  (response) => response.writeHead(429, { 'retry-after': '1' }).end(),
  (response) => response.writeHead(502).end('<html>a proxy</html>'),
  (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>sign in</html>'),
  (response) => response.writeHead(302, { location: '/login' }).end(),
  (response) => void setTimeout(() => response.end(), 1_000),
]

test('over HTTP: the same, and answers that come too late, or never end', async () => {
  const load = cascadeLoad(seededRandom(83), 40)
  const faults = drawn(84, HTTP_FAULTS)
  const spans: ReceivedSpan[] = []
  let requests = 0
  await using backend = await startHttpBackend((response, request) => {
    const fault = faults[requests++]
    if (fault === undefined || fault === hangsInItsYes) spans.push(...receivedSpans(request.body))
    if (fault !== undefined) {
      fault(response, request)
      return
    }
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  const exporter = {
    ...(exporterTo(backend.port, HARD) as object),
    endpoint: `http://127.0.0.1:${backend.port}`,
  }
  const settings = await freshSettings({ exporters: { otlp_http: exporter } })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.sendAll(load.requests)
  expect([...sender.failures]).toEqual([])
  await expectDelivered(settings, { spans }, load.spans, 60_000)
  expect(requests).toBeGreaterThan(faults.length)
  await eventually(() => expect(causeway.errors).toContain(WILL_RETRY))
  expect(await ownMetric(settings, 'otelcol_exporter_send_failed_spans', 'otlp_http')).toBe(0)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expectStoredOnce(settings, load.spans)
})

test(
  'while a backend is down for long, what it is to get grows in the database, not in memory; then it gets all of it',
  async () => {
    await using backend = await TraceBackend.down()
    const settings = await freshSettings({
      exporters: { otlp_grpc: exporterTo(backend.port) },
      linking: { wait: '0s' },
    })
    await using causeway = await startCauseway(settings)
    using sender = new RequestSender(settings.ports.grpc)
    let traces = 0
    const store = async (requests: number): Promise<number> => {
      for (const last = traces + requests; traces < last;) {
        const ids = Array.from({ length: SPANS_A_REQUEST }, (_, at) => at + 1)
        const trace = ++traces
        const spans = ids.map((id) => ({ trace, id, attributes: { payload: `${trace} ${id} `.repeat(500) } }))
        await sender.send({ signal: 'traces', bytes: spansRequest('controller', spans) })
      }
      await eventually(async () => {
        expect(await ownMetric(settings, 'otelcol_exporter_queue_size')).toBe(traces * SPANS_A_REQUEST)
      })
      return (await ownMetric(settings, 'otelcol_process_memory_rss')) ?? NaN
    }
    const before = await store(25)
    const after = await store(60)
    const storedBytes = (await ownMetric(settings, 'cpid_storage_used_bytes')) ?? NaN
    expect(storedBytes).toBeGreaterThan(180 * MIB)
    expect(after - before).toBeLessThan(90 * MIB)

    await backend.comeUp()
    await eventually(() => {
      // Cheaper to ask again and again than what follows, while this process is the backend as well.
      expect(backend.spans.length).toBeGreaterThanOrEqual(traces * SPANS_A_REQUEST)
      expect(new Set(backend.spans.map(({ traceId, spanId }) => `${traceId}/${spanId}`)).size).toBe(
        traces * SPANS_A_REQUEST,
      )
    }, LONGEST_DELIVERY_MS)
    expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  },
  2 * LONGEST_DELIVERY_MS,
)

const MIB = 1024 * 1024
const SPANS_A_REQUEST = 800
