import { test, expect } from '@jest/globals'
import { createNoopLogger, logs, metrics, trace, type LoggerProvider } from '@opentelemetry/api'
import {
  createLoggerConfigurator,
  InMemoryLogRecordExporter,
  LoggerProvider as SdkLoggerProvider,
  SimpleLogRecordProcessor,
} from '@opentelemetry/sdk-logs'
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace'
import { withTraceContext } from '../../packages/instrumentation/src/context/active-trace-context.ts'
import { CpidLogRecordProcessor } from '../../packages/instrumentation/src/telemetry/cpid-log-record-processor.ts'
import { createInstrumentation } from '../../packages/instrumentation/src/create-instrumentation.ts'
import { cpid } from '../support/otlp-requests.ts'
import { startSdk } from './support/start-sdk.ts'

const LOST = 'cpid.instrumentation.lost_mergelogs'
const NOW_MS = Date.UTC(2026, 0, 1)
const ALPHA = { cpid: cpid(1), ancestors: [] }
const BETA = { cpid: cpid(2), ancestors: [] }
const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'web', uid: 'u1', resourceVersion: '7' },
}

function instrumentation() {
  let next = 100
  return createInstrumentation({ newCpid: () => cpid(next++), nowMs: () => NOW_MS })
}

/** Does work in a span of its own. */
function inSpan(work: () => void): void {
  trace.getTracer('test').startActiveSpan('reconcile', (span) => {
    work()
    span.end()
  })
}

test('a merge that needs a new CPID sends a mergelog as a log record', async () => {
  await using sdk = startSdk()
  const { merge } = instrumentation()
  const gamma = merge([ALPHA, undefined, BETA], { object: POD, reason: 'scale up' })
  expect(gamma).toEqual({ cpid: cpid(100), ancestors: [cpid(1), cpid(2)] })
  expect(sdk.records()).toHaveLength(1)
  expect(sdk.records()[0]).toMatchObject({
    eventName: 'cpid.mergelog',
    hrTime: [NOW_MS / 1000, 0],
    body: `2 changes merge into ${cpid(100)}`,
    attributes: {
      'cpid.new': cpid(100),
      'cpid.sources': [cpid(1), cpid(2)],
      'cpid.object': 'v1/pods/default/web?uid=u1',
      'cpid.reason': 'scale up',
    },
  })
})

test.each([
  ['long before the process began', 1_500.25, [1, 500_250_000]],
  ['just now', Math.floor(performance.timeOrigin) + 60_000, undefined],
  ['in the far future', Date.UTC(2126, 0, 1) + 0.5, [Date.UTC(2126, 0, 1) / 1000, 500_000]],
] as const)('a mergelog has the time of the clock given, also %s', async (_, nowMs, expected) => {
  const time = expected ?? [Math.floor(nowMs / 1000), (nowMs % 1000) * 1_000_000]
  {
    await using sdk = startSdk()
    createInstrumentation({ nowMs: () => nowMs }).newRoot()
    expect(sdk.records()[0]?.hrTime).toEqual(time)
  }
  await using sdk = startSdk({ withLogs: false })
  inSpan(() => createInstrumentation({ nowMs: () => nowMs }).newRoot())
  expect(sdk.spans()[0]?.events[0]?.time).toEqual(time)
})

test('a merge that needs no new CPID sends nothing', async () => {
  await using sdk = startSdk()
  const { merge } = instrumentation()
  const gamma = { cpid: cpid(3), ancestors: [cpid(1)] }
  expect(merge([ALPHA, gamma])).toEqual(gamma)
  expect(sdk.records()).toEqual([])
})

test.each<[string, (from: ReturnType<typeof instrumentation>) => unknown]>([
  ['a change of its own', ({ newRoot }) => newRoot({ object: 'v1/pods/default/web' })],
  ['a merge of nothing', ({ merge }) => merge([], { object: 'v1/pods/default/web' })],
  [
    'a merge of objects without CPIDs',
    ({ merge }) => merge([undefined, undefined], { object: 'v1/pods/default/web' }),
  ],
])('%s begins a root', async (_, begin) => {
  await using sdk = startSdk()
  expect(begin(instrumentation())).toEqual({ cpid: cpid(100), ancestors: [] })
  expect(sdk.records()[0]).toMatchObject({
    body: `change ${cpid(100)} begins`,
    attributes: { 'cpid.new': cpid(100), 'cpid.sources': [], 'cpid.object': 'v1/pods/default/web' },
  })
})

test('more sources than a mergelog may have merge in steps', async () => {
  await using sdk = startSdk()
  let next = 100
  const { merge } = createInstrumentation({ maxSources: 2, newCpid: () => cpid(next++) })
  const contexts = [1, 2, 3, 4, 5].map((number) => ({ cpid: cpid(number), ancestors: [] }))
  const merged = merge(contexts, { reason: 'scale up' })
  expect(merged).toEqual({ cpid: cpid(100), ancestors: contexts.map((context) => context.cpid) })
  const told = sdk.records().map(({ attributes }) => attributes)
  expect(told.map((attributes) => [attributes['cpid.new'], attributes['cpid.sources']])).toEqual([
    [cpid(101), [cpid(1), cpid(2)]],
    [cpid(102), [cpid(3), cpid(4)]],
    [cpid(103), [cpid(101), cpid(102)]],
    [cpid(100), [cpid(103), cpid(5)]],
  ])
  expect(told.map((attributes) => attributes['cpid.reason'])).toEqual([
    undefined,
    undefined,
    undefined,
    'scale up',
  ])
})

test('a mergelog belongs to the active span and has no CPID but its own', async () => {
  await using sdk = startSdk()
  inSpan(() => withTraceContext(ALPHA, () => instrumentation().merge([ALPHA, BETA])))
  expect(sdk.records()[0]?.spanContext).toEqual(sdk.spans()[0]?.spanContext())
  expect(sdk.records()[0]?.attributes).not.toHaveProperty('cpid.id')
})

test('without a logger provider a mergelog is an event of the active span', async () => {
  await using sdk = startSdk({ withLogs: false })
  const tracing = instrumentation()
  inSpan(() => tracing.merge([ALPHA, BETA], { reason: 'scale up' }))
  expect(sdk.spans()[0]?.events).toMatchObject([
    {
      name: 'cpid.mergelog',
      time: [NOW_MS / 1000, 0],
      attributes: { 'cpid.new': cpid(100), 'cpid.sources': [cpid(1), cpid(2)], 'cpid.reason': 'scale up' },
    },
  ])
  expect(tracing.losses).toBe(0)
})

test('a logger provider that only marks records takes no mergelogs', async () => {
  await using sdk = startSdk({ withLogs: false })
  logs.setGlobalLoggerProvider(new SdkLoggerProvider({ processors: [new CpidLogRecordProcessor()] }))
  inSpan(() => instrumentation().newRoot())
  expect(sdk.spans()[0]?.events).toMatchObject([{ name: 'cpid.mergelog' }])
})

test('with neither a logger nor a span the mergelog is lost, and counted', async () => {
  const tracing = instrumentation()
  tracing.newRoot()
  expect(tracing.losses).toBe(1)
  await using sdk = startSdk({ withLogs: false })
  tracing.merge([ALPHA, BETA])
  expect(tracing.losses).toBe(2)
  expect(await sdk.counter(LOST)).toBe(2)
})

test('the counter of losses is there before there is one', async () => {
  await using sdk = startSdk()
  instrumentation().newRoot()
  expect(await sdk.counter(LOST)).toBe(0)
})

test('the losses of all instrumentations of a process add up', async () => {
  await using sdk = startSdk({ withLogs: false })
  instrumentation().newRoot()
  const other = instrumentation()
  other.newRoot()
  other.newRoot()
  expect(await sdk.counter(LOST)).toBe(3)
})

test('an event of a span that is not sampled would be lost, so it counts as that', async () => {
  await using sdk = startSdk({ withLogs: false, sampler: new AlwaysOffSampler() })
  const tracing = instrumentation()
  inSpan(() => tracing.newRoot())
  expect({ losses: tracing.losses, spans: sdk.spans() }).toEqual({ losses: 1, spans: [] })
})

test('a logger that passes over spans that are not sampled gets the mergelog without the span', async () => {
  await using sdk = startSdk({ withLogs: false, sampler: new AlwaysOffSampler() })
  const exporter = new InMemoryLogRecordExporter()
  logs.setGlobalLoggerProvider(
    new SdkLoggerProvider({
      processors: [new SimpleLogRecordProcessor({ exporter })],
      loggerConfigurator: createLoggerConfigurator([{ pattern: '*', config: { traceBased: true } }]),
    }),
  )
  inSpan(() => instrumentation().newRoot())
  expect(exporter.getFinishedLogRecords()).toMatchObject([{ eventName: 'cpid.mergelog' }])
  expect(exporter.getFinishedLogRecords()[0]?.spanContext).toBeUndefined()
  expect(sdk.spans()).toEqual([])
})

test.each<[string, LoggerProvider]>([
  [
    'that throws',
    {
      getLogger: () => {
        throw new Error('broken')
      },
    },
  ],
  [
    'whose logger throws',
    {
      getLogger: () => ({
        enabled: () => true,
        emit: () => {
          throw new Error('broken')
        },
      }),
    },
  ],
  ['that takes nothing', { getLogger: createNoopLogger }],
])('a logger provider %s costs the mergelog and nothing else', async (_, provider) => {
  await using sdk = startSdk({ withLogs: false })
  logs.setGlobalLoggerProvider(provider)
  const tracing = instrumentation()
  expect(tracing.merge([ALPHA, BETA]).cpid).toBe(cpid(100))
  expect({ losses: tracing.losses, counted: await sdk.counter(LOST) }).toEqual({ losses: 1, counted: 1 })
})

test('a meter provider that throws does no harm', () => {
  metrics.setGlobalMeterProvider({
    getMeter: () => {
      throw new Error('broken')
    },
  })
  const tracing = instrumentation()
  expect(tracing.newRoot().cpid).toBe(cpid(100))
  expect(tracing.losses).toBe(1)
  metrics.disable()
})
