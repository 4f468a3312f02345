import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { loadText, SMALLEST } from './load-text.ts'

const TLS_OFF = {
  insecure: true,
  insecureSkipVerify: false,
  minVersion: 'TLSv1.2',
  cipherSuites: [],
  curves: [],
  reloadIntervalMs: 60_000,
}

const TAKES = 'accepts spans and mergelogs from'
const RETRY = {
  enabled: true,
  initialIntervalMs: 5000,
  randomizationFactor: 0.5,
  multiplier: 1.5,
  maxIntervalMs: 30_000,
  maxElapsedMs: 0,
}
test('the configuration that comes with Causeway is the one in its documentation', () => {
  const text = readFileSync(new URL('../../otel-config.yaml', import.meta.url), 'utf8')
  const { config, warnings } = loadText(text)
  expect(warnings).toEqual([])
  expect(config).toEqual({
    receivers: [
      {
        id: 'otlp',
        type: 'otlp',
        settings: {
          grpc: {
            host: 'localhost',
            port: 4317,
            maxRecvMsgSizeBytes: 64 * 2 ** 20,
            maxConcurrentStreams: 100,
            keepalive: {
              maxConnectionIdleMs: 900_000,
              maxConnectionAgeMs: 0,
              maxConnectionAgeGraceMs: 0,
              timeMs: 120_000,
              timeoutMs: 20_000,
            },
          },
          http: {
            host: 'localhost',
            port: 4318,
            maxRequestBodyBytes: 64 * 2 ** 20,
            headersTimeoutMs: 10_000,
            requestTimeoutMs: 60_000,
            idleTimeoutMs: 75_000,
            writeTimeoutMs: 30_000,
            tracesUrlPath: '/v1/traces',
            logsUrlPath: '/v1/logs',
            metricsUrlPath: '/v1/metrics',
          },
        },
        listeners: [
          {
            path: 'receivers::otlp::protocols::grpc',
            host: 'localhost',
            port: 4317,
            what: 'OTLP/gRPC',
            exposes: TAKES,
          },
          {
            path: 'receivers::otlp::protocols::http',
            host: 'localhost',
            port: 4318,
            what: 'OTLP/HTTP',
            exposes: TAKES,
          },
        ],
        signals: ['traces', 'logs'],
      },
    ],
    cpid: {
      id: 'cpid',
      storage: { path: './data/causeway.db' },
      inference: {
        ...{ whoWaitMs: 2_000, tellingWaitMs: 7_000, windowMs: 500, fieldValues: 'plain' },
        ...{ operators: [], controllers: [], relations: [] },
      },
      linking: {
        mode: 'cascade',
        waitMs: 10_000,
        settleAfterMs: 300_000,
        maxOpenMs: 1_800_000,
        maxFanout: 8,
        maxTraceSpans: 10_000,
        maxTraceBytes: 4 * 2 ** 20,
      },
      retention: {
        maxCpids: 1_000_000,
        maxAgeMs: 168 * 3_600_000,
        maxBytes: 20 * 2 ** 30,
        intervalMs: 60_000,
      },
      maxSources: 1024,
      keepsFilters: false,
      admission: {
        maxInFlightBytes: 64 * 2 ** 20,
        maxFlowRequests: 64,
        maxFlowBytes: 8 * 2 ** 20,
        maxConnections: 1024,
        requestTimeoutMs: 60_000,
      },
      metrics: { intervalMs: 60_000, maxSeries: 500 },
    },
    exporters: [
      {
        id: 'otlp_grpc/jaeger',
        type: 'otlp_grpc',
        settings: {
          host: 'localhost',
          port: 14317,
          tls: TLS_OFF,
          headers: {},
          compression: 'gzip',
          timeoutMs: 5000,
          retry: RETRY,
          queue: { consumers: 4, batchMaxSpans: 512 },
        },
        destinations: {
          traces: {
            kind: 'backend',
            host: 'localhost',
            port: 14317,
            where: 'localhost:14317',
            speaks: 'OTLP/gRPC',
            isPlain: true,
          },
        },
        sending: { batchMaxItems: 512, consumers: 4, retry: RETRY },
      },
    ],
    extensions: [
      {
        id: 'health_check',
        type: 'health_check',
        settings: { host: 'localhost', port: 13133, path: '/' },
        listeners: [
          {
            path: 'extensions::health_check',
            host: 'localhost',
            port: 13133,
            what: 'health check',
            page: { path: '/', status: 200 },
          },
        ],
      },
      {
        id: 'cpid_query',
        type: 'cpid_query',
        settings: {
          host: 'localhost',
          port: 4319,
          allowedHosts: [],
          trustedProxies: [],
          proxyProtocol: false,
          maxConnections: 256,
          writeTimeoutMs: 30_000,
        },
        listeners: [
          {
            path: 'extensions::cpid_query',
            host: 'localhost',
            port: 4319,
            what: 'query API',
            exposes: 'shows everything that is stored to',
            connections: { maxConnections: 256 },
            page: { path: '/api/v1/cascades?limit=1', status: 200 },
          },
        ],
      },
      {
        id: 'memory_limiter',
        type: 'memory_limiter',
        settings: { checkIntervalMs: 1000, limitPercentage: 80 },
        listeners: [],
      },
    ],
    telemetry: {
      logLevel: 'info',
      logEncoding: 'console',
      metrics: { level: 'normal', host: 'localhost', port: 8888 },
    },
    pipelines: { outTraces: ['otlp_grpc/jaeger'], outLogs: [], outMetrics: [], forwardedMetrics: [] },
  })
})

test('every default of the connector is the one otel-config.yaml writes out', () => {
  const text = readFileSync(new URL('../../otel-config.yaml', import.meta.url), 'utf8')
  expect(loadText(SMALLEST).config.cpid).toEqual(loadText(text).config.cpid)
})
