import { expect, test } from '@jest/globals'
import { loadText, mistakesIn, SMALLEST, WITH_EXPORTER } from './load-text.ts'

/** What is at work without being named. */
const UNNAMED = ['memory_limiter']

test('without an outgoing pipeline Causeway only stores and answers', () => {
  const { config } = loadText(SMALLEST)
  expect(config.exporters).toEqual([])
  expect(config.pipelines).toEqual({ outTraces: [], outLogs: [], outMetrics: [], forwardedMetrics: [] })
  expect(config.extensions.map(({ id }) => id)).toEqual(UNNAMED)
})

test('a bare protocol is on with its defaults, and one not named is off', () => {
  const [receiver] = loadText(SMALLEST).config.receivers
  expect(receiver?.settings).toMatchObject({ grpc: { host: 'localhost', port: 4317 } })
  expect(receiver?.settings).not.toHaveProperty('http')
})

test('components that no pipeline names are checked but off', () => {
  const more = `
receivers: { otlp/spare: { protocols: { http: } } }
exporters: { debug: }
extensions: { health_check: }`
  const { config } = loadText([WITH_EXPORTER, more])
  expect(config.receivers.map(({ id }) => id)).toEqual(['otlp'])
  expect(config.exporters.map(({ id }) => id)).toEqual(['otlp_grpc'])
  expect(config.extensions.map(({ id }) => id)).toEqual(UNNAMED)
  expect(mistakesIn([WITH_EXPORTER, 'exporters: { debug: { verbosity: loud } }'])).toHaveLength(1)
})

test('the older names of the exporters mean the same', () => {
  const yaml = WITH_EXPORTER.replaceAll('otlp_grpc', 'otlp/old')
  expect(loadText(yaml).config.exporters).toMatchObject([{ id: 'otlp/old', type: 'otlp_grpc' }])
})

test.each([
  ['tempo:4317', '', false],
  ['tempo:4317', 'insecure: true', true],
  ['tempo:4317', 'insecure: true, ca_file: ca.pem', false],
  ['https://tempo:4317', 'insecure: true', false],
  ['http://tempo:4317', '', true],
  ['dns:///tempo:4317', '', false],
])('endpoint %s with tls { %s } is plain text: %s', (endpoint, tls, insecure) => {
  const sets = [`exporters.otlp_grpc.endpoint=${endpoint}`, `exporters.otlp_grpc.tls={ ${tls} }`]
  const [exporter] = loadText(WITH_EXPORTER, { sets }).config.exporters
  expect(exporter?.settings).toMatchObject({ host: 'tempo', port: 4317, tls: { insecure } })
})

test.each([
  ['http://tempo:4318', 'http://tempo:4318/v1/traces', 'http://tempo:4318/v1/logs'],
  ['http://tempo:4318/otlp/', 'http://tempo:4318/otlp/v1/traces', 'http://tempo:4318/otlp/v1/logs'],
])('%s gets the path of the signal', (endpoint, tracesUrl, logsUrl) => {
  const yaml = WITH_EXPORTER.replaceAll('otlp_grpc', 'otlp_http')
  const [exporter] = loadText(yaml, { sets: [`exporters.otlp_http.endpoint=${endpoint}`] }).config.exporters
  const urls = { traces: tracesUrl, logs: logsUrl }
  expect(exporter?.settings).toMatchObject({ urls, encoding: 'proto', timeoutMs: 30_000 })
})

test('an IPv6 address keeps its brackets where it is shown', () => {
  const [exporter] = loadText(WITH_EXPORTER, { sets: ['exporters.otlp_grpc.endpoint="[::1]:4317"'] }).config
    .exporters
  expect(exporter?.destinations.traces).toMatchObject({ host: '::1', port: 4317, where: '[::1]:4317' })
})

test('the endpoint of a signal is used as it is', () => {
  const yaml = WITH_EXPORTER.replace(
    'otlp_grpc: { endpoint: tempo:4317 }',
    'otlp_http: { traces_endpoint: "http://tempo/in?a=b" }',
  ).replaceAll('otlp_grpc', 'otlp_http')
  const [exporter] = loadText(yaml).config.exporters
  expect(exporter?.settings).toMatchObject({ urls: { traces: 'http://tempo/in?a=b' } })
  expect(exporter?.settings).not.toHaveProperty('urls.logs')
})

test('an empty host listens on all addresses, and brackets mark IPv6', () => {
  const grpcOf = (endpoint: string) =>
    loadText(SMALLEST, { sets: [`receivers.otlp.protocols.grpc.endpoint="${endpoint}"`] }).config.receivers[0]
      ?.settings
  expect(grpcOf(':4317')).toMatchObject({ grpc: { host: '0.0.0.0', port: 4317 } })
  expect(grpcOf('[::1]:0')).toMatchObject({ grpc: { host: '::1', port: 0 } })
})

test('metrics that come in go to the connector and to exporters, beside those of cascades', () => {
  const more = `
exporters:
  debug: {}
service:
  pipelines:
    metrics/in: { receivers: [otlp], exporters: [cpid, debug, otlp_grpc] }
    metrics/out: { receivers: [cpid], exporters: [otlp_grpc] }`
  const { config } = loadText([WITH_EXPORTER, more])
  expect(config.pipelines).toMatchObject({
    outMetrics: ['otlp_grpc'],
    forwardedMetrics: ['debug', 'otlp_grpc'],
  })
  expect(config.receivers).toMatchObject([{ id: 'otlp', signals: ['traces', 'metrics'] }])
})

test('mergelogs may come as logs and go out as change spans', () => {
  const yaml = WITH_EXPORTER.replace('traces/in', 'logs/in')
  expect(loadText(yaml).config).toMatchObject({
    receivers: [{ signals: ['logs'] }],
    pipelines: { outTraces: ['otlp_grpc'], outLogs: [], outMetrics: [] },
  })
})

test('several pipelines of a signal are united', () => {
  const more = `
receivers: { otlp/b: { protocols: { http: } } }
exporters: { debug: { verbosity: detailed } }
service:
  pipelines:
    traces/b: { receivers: [otlp/b, otlp], exporters: [cpid] }
    traces/out2: { receivers: [cpid], exporters: [debug, otlp_grpc] }
    logs: { receivers: [otlp/b], exporters: [cpid] }
    logs/out: { receivers: [cpid], exporters: [debug] }
    metrics/out: { receivers: [cpid], exporters: [debug] }`
  const { config } = loadText([WITH_EXPORTER, more])
  expect(config.pipelines).toEqual({
    outTraces: ['otlp_grpc', 'debug'],
    outLogs: ['debug'],
    outMetrics: ['debug'],
    forwardedMetrics: [],
  })
  expect(config.receivers.map(({ id, signals }) => [id, signals])).toEqual([
    ['otlp', ['traces']],
    ['otlp/b', ['traces', 'logs']],
  ])
})

test.each([
  ['level=none', undefined],
  ['readers=[]', undefined],
  [
    'readers=[{ pull: { exporter: { prometheus: { host: 0.0.0.0, port: 9000 } } } }]',
    { level: 'normal', host: '0.0.0.0', port: 9000 },
  ],
])('metrics with %s', (set, metrics) => {
  const { config } = loadText(SMALLEST, { sets: [`service.telemetry.metrics.${set}`] })
  expect(config.telemetry.metrics).toEqual(metrics)
})

test('keys that are taken without effect are warned of', () => {
  const sets = [
    'exporters.otlp_grpc.sending_queue.enabled=false',
    'exporters.otlp_grpc.sending_queue.batch.flush_timeout=200ms',
  ]
  expect(loadText(WITH_EXPORTER, { sets }).warnings).toEqual([
    'exporters::otlp_grpc::sending_queue::enabled: has no effect: the outbox is always on',
    'exporters::otlp_grpc::sending_queue::batch::flush_timeout: has no effect: what is in the outbox is sent at once',
  ])
})

test('listeners that are off, or on any free port, share an endpoint with nobody', () => {
  const sets = [
    'receivers.otlp.protocols.grpc.endpoint=localhost:8888',
    'service.telemetry.metrics.level=none',
    'extensions.cpid_query.endpoint=localhost:0',
    'extensions.health_check.endpoint=localhost:0',
    'service.extensions=[cpid_query, health_check]',
  ]
  expect(mistakesIn(SMALLEST, { sets })).toEqual([])
})

test('retention limits are off at 0 with or without a unit', () => {
  const sets = ['max_age=0', 'max_bytes=0', 'max_cpids=0', 'interval=0s'].map(
    (set) => `connectors.cpid.retention.${set}`,
  )
  expect(loadText(SMALLEST, { sets }).config.cpid.retention).toEqual({
    maxCpids: 0,
    maxAgeMs: 0,
    maxBytes: 0,
    intervalMs: 0,
  })
})

test('headers keep their text', () => {
  const sets = ['exporters.otlp_grpc.headers={ authorization: "${env:TOKEN}", x-scope-orgid: "1" }']
  const [exporter] = loadText(WITH_EXPORTER, { sets, env: { TOKEN: '0123' } }).config.exporters
  expect(exporter?.settings).toHaveProperty('headers', { authorization: '0123', 'x-scope-orgid': '1' })
})

test('a memory limit that holds little more than the caches is warned of', () => {
  const limited = (mib: number): string[] =>
    loadText([SMALLEST, `extensions: { memory_limiter: { limit_mib: ${mib} } }`]).warnings
  expect(limited(200)).toEqual([
    expect.stringMatching(/^extensions::memory_limiter::limit_mib: .*below 400 requests/),
  ])
  expect(limited(400)).toEqual([])
})
