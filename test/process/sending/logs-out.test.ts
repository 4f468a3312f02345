import { expect, test } from '@jest/globals'
import { logsRequest, type LogSketch } from '../../support/otlp-requests.ts'
import { cascadeLoad, type ExpectedSpan } from '../support/cascade-load.ts'
import { startCauseway } from '../../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from '../support/leave-nothing-behind.ts'
import {
  exporterTo,
  freshSettings,
  type CausewaySettings,
} from '../../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import { LogBackend, type ReceivedLog } from '../../../lab/harness/sinks/log-backend.ts'
import { ownMetric } from '../../../lab/harness/causeway/scraped-metrics.ts'
import { RequestSender, type SendableRequest } from '../../../lab/harness/clients/request-sender.ts'
import { drawBetween, seededRandom, shuffled } from '../../../lab/harness/seeded-random.ts'
import { askStored, storedPositions } from '../../../lab/harness/causeway/stored-data.ts'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'

const SEED = 20_261_121
const KILLS = 4

leaveNothingBehind()

test(`killed ${KILLS} times under load, every log record arrives where its span is and repeats are identical (seed ${SEED})`, async () => {
  const random = seededRandom(SEED)
  const load = cascadeLoad(random, 60)
  const requests = shuffled(random, [...load.requests, ...logsOf(load.spans)])
  await using backend = await LogBackend.up()
  await using traces = await TraceBackend.up()
  const settings = await freshSettings({
    exporters: { 'otlp_grpc/traces': exporterTo(traces.port) },
    logExporters: { 'otlp_grpc/logs': exporterTo(backend.port) },
  })
  using sender = new RequestSender(settings.ports.grpc)

  let causeway = await startCauseway(settings)
  const sending = sender.sendAll(requests)
  for (let kill = 0; kill < KILLS; kill++) {
    await Promise.race([momentOfKill(random, { sender, backend }), sending])
    expect(await causeway.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
    causeway = await startCauseway(settings)
  }
  await sending

  const traceOfSpan = new Map<string, string>()
  await eventually(() => {
    expectArrived(load.spans, backend.logs)
    expect(countStoredLogs(settings)).toBe(oneOfEach(backend.logs).length)
  })
  // The span that is no copy and its log record stand in the same trace.
  await eventually(() => {
    for (const { spanId, traceId, content } of traces.spans)
      if (!content.includes(COPY)) traceOfSpan.set(spanId, traceId)
    for (const { spanId } of load.spans) expect(traceOfSpan.has(spanId)).toBe(true)
  })
  for (const log of backend.logs) if (log.spanId !== '') expect(log.traceId).toBe(traceOfSpan.get(log.spanId))
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(countUnsent(settings)).toBe(0)
})

test('one exporter for both signals, one backend for each: what is down holds up only itself', async () => {
  const load = cascadeLoad(seededRandom(3), 5)
  await using logs = await LogBackend.down()
  await using traces = await TraceBackend.up()
  const settings = await freshSettings({
    exporters: { 'otlp_grpc/both': exporterTo(traces.port) },
    logExporters: { 'otlp_grpc/both': exporterTo(traces.port), 'otlp_grpc/logs': exporterTo(logs.port) },
  })
  using sender = new RequestSender(settings.ports.grpc)
  const first = await startCauseway(settings)
  await sender.sendAll([...load.requests, ...logsOf(load.spans)])
  const stored = await eventually(() => {
    const count = countStoredLogs(settings)
    // The trace backend has no logs service, so that it refuses every record for good.
    expect(storedPositions(settings, 'log_exporters')).toEqual({
      'otlp_grpc/both': count,
      'otlp_grpc/logs': 0,
    })
    return count
  })
  expect(await ownMetric(settings, 'otelcol_exporter_send_failed_log_records', 'otlp_grpc/both')).toBe(stored)
  expect(await ownMetric(settings, 'otelcol_exporter_queue_size', 'otlp_grpc/logs')).toBe(stored)
  await first.end('SIGKILL')
  await using second = await startCauseway(settings)
  await logs.comeUp()
  await eventually(async () => {
    expectArrived(load.spans, logs.logs)
    expect(await ownMetric(settings, 'otelcol_exporter_sent_log_records', 'otlp_grpc/logs')).toBe(stored)
  })
  expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(countUnsent(settings)).toBe(0)
})

/** `cpid.copy` as it stands in a span's bytes. */
const COPY = Buffer.from('cpid.copy').toString('hex')

/** A log record of each span, without a CPID. */
function logsOf(spans: readonly ExpectedSpan[]): SendableRequest[] {
  return spans.map(({ origin, spanId }, at) => {
    const log: LogSketch = {
      body: spanId,
      trace: Number(`0x${origin}`),
      span: Number(`0x${spanId}`),
      time: at,
    }
    return { signal: 'logs', bytes: logsRequest(`controller-${at % 3}`, [log]) }
  })
}

/** The record of each span came, with a trace that the span is in, and its span id. */
function expectArrived(spans: readonly ExpectedSpan[], received: readonly ReceivedLog[]): void {
  const byBody = new Map(oneOfEach(received).map((log) => [log.what, log]))
  for (const { spanId, traces, origin } of spans) {
    const log = byBody.get(spanId)
    expect(log?.spanId).toBe(spanId)
    expect(traces).toContain(log?.traceId)
    const moved = log?.traceId === origin ? undefined : origin
    expect(log?.attributes['cpid.original_trace_id']).toBe(moved)
  }
}

/** The records, one of each; one that came again with other content counts twice and so fails. */
function oneOfEach(logs: readonly ReceivedLog[]): ReceivedLog[] {
  return [...new Map(logs.map((log) => [log.content, log])).values()]
}

const countStoredLogs = (settings: CausewaySettings): number =>
  askStored(settings, (db) => db.prepare<[], number>('SELECT count(*) FROM logs').pluck().get() ?? -1)

const countUnsent = (settings: CausewaySettings): number =>
  askStored(settings, (db) => db.prepare<[], number>('SELECT count(*) FROM log_outbox').pluck().get() ?? -1)

function momentOfKill(
  random: () => number,
  { sender, backend }: { sender: RequestSender; backend: LogBackend },
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const isExport = random() < 0.5
  let left = isExport ? drawBetween(random, 1, 4) : drawBetween(random, 1, 150)
  const countdown = (): void => {
    if (--left === 0) resolve(undefined)
  }
  if (isExport) backend.onRequest = countdown
  else sender.onAcknowledged = countdown
  return promise
}
