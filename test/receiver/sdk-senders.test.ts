import { afterEach, expect, test } from '@jest/globals'
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { type JsonObject, jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const environment = process.env
afterEach(() => {
  process.env = environment
})

const CPID = '0af76519-16cd-43dd-8448-eb211c80319c'

/** Lets the OpenTelemetry SDK send one span to the port over the protocol; returns the request it made. */
async function sendSpan(port: number, protocol: string, received: RecordingPort): Promise<JsonObject> {
  process.env = {
    ...environment,
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_NODE_RESOURCE_DETECTORS: 'env',
    OTEL_SERVICE_NAME: 'replicaset-controller',
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  }
  const sdk = new NodeSDK({ instrumentations: [] })
  sdk.start()
  const span = trace.getTracer('controllers', '1.2').startSpan('reconcile', {
    kind: SpanKind.CONSUMER,
    startTime: [1_700_000_000, 123_456_789],
    attributes: { 'cpid.id': CPID, 'cpid.observed': ['a', 'b'], attempts: 3, ratio: 0.5, dry: false },
    links: [{ context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 } }],
  })
  span.addEvent('cpid.mergelog', { 'cpid.new': CPID }, [1_700_000_000, 223_456_789])
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'conflict' })
  span.end([1_700_000_001, 1])
  await sdk.shutdown()
  trace.disable()
  expect(received.requests).toHaveLength(1)
  return jsonOfProtobuf('ExportTraceServiceRequest', received.requests[0]!.request)
}

const EXPECTED_SPAN = {
  traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
  spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
  name: 'reconcile',
  kind: 5,
  startTimeUnixNano: '1700000000123456789',
  endTimeUnixNano: '1700000001000000001',
  attributes: [
    { key: 'cpid.id', value: { stringValue: CPID } },
    {
      key: 'cpid.observed',
      value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } },
    },
    { key: 'attempts', value: { intValue: '3' } },
    { key: 'ratio', value: { doubleValue: 0.5 } },
    { key: 'dry', value: { boolValue: false } },
  ],
  events: [
    {
      name: 'cpid.mergelog',
      timeUnixNano: '1700000000223456789',
      attributes: [{ key: 'cpid.new', value: { stringValue: CPID } }],
    },
  ],
  links: [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }],
  status: { code: 2, message: 'conflict' },
}

test.each([
  ['grpc', startGrpc],
  ['http/protobuf', startHttp],
  ['http/json', startHttp],
])('the OpenTelemetry SDK delivers a span over %s', async (protocol, start) => {
  const port = new RecordingPort()
  await using receiver = await start(port)
  const request = await sendSpan(receiver.port, protocol, port)
  expect(request).toMatchObject({
    resourceSpans: [
      {
        resource: {
          attributes: expect.arrayContaining([
            { key: 'service.name', value: { stringValue: 'replicaset-controller' } },
          ]),
        },
        scopeSpans: [{ scope: { name: 'controllers', version: '1.2' }, spans: [EXPECTED_SPAN] }],
      },
    ],
  })
  expect(receiver.answered).toMatchObject([{ signal: 'traces', outcome: { kind: 'accepted' } }])
})
