import { expect, test } from '@jest/globals'
import { context, logs, metrics, propagation, SpanStatusCode, trace } from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { createInstrumentation } from '../../packages/instrumentation/src/create-instrumentation.ts'
import { CpidSpanProcessor, withTraceContext } from '../../packages/instrumentation/src/index.ts'
import { ReportedChanges } from '../../packages/instrumentation/src/testing/index.ts'

const SETTINGS = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'web', uid: 'u1' } }
const WEB = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', uid: 'u2' } }

/** The SDK with nothing but what is kept in memory, as a test of a controller starts it. */
async function withSdk(hasLogs: boolean, play: (told: ReportedChanges) => void): Promise<ReportedChanges> {
  const told = new ReportedChanges()
  const environment = process.env
  process.env = { ...environment, OTEL_LOGS_EXPORTER: 'none' }
  const sdk = new NodeSDK({
    autoDetectResources: false,
    spanProcessors: [new CpidSpanProcessor(), told.spanProcessor],
    ...(hasLogs && { logRecordProcessors: [told.logRecordProcessor] }),
    metricReaders: [],
  })
  sdk.start()
  process.env = environment
  try {
    play(told)
  } finally {
    await sdk.shutdown()
    for (const api of [trace, logs, metrics, context, propagation]) api.disable()
  }
  return told
}

test.each([
  ['log records', true],
  ['events of spans', false],
])('mergelogs that are %s and spans can be looked at', async (_, hasLogs) => {
  const { newRoot, merge, observed, wrote } = createInstrumentation()
  const cpids: string[] = []
  const told = await withSdk(hasLogs, () => {
    trace.getTracer('test').startActiveSpan('reconcile', (span) => {
      const settings = newRoot({ object: SETTINGS, reason: 'by hand' })
      const web = newRoot({ object: WEB })
      observed(SETTINGS)
      const merged = merge([settings, web], { object: WEB, reason: 'image' })
      cpids.push(settings.cpid, web.cpid, merged.cpid)
      withTraceContext(merged, () => {
        trace.getTracer('test').startActiveSpan('update', (update) => {
          wrote(WEB)
          update.setStatus({ code: SpanStatusCode.ERROR }).end()
        })
      })
      span.end()
    })
  })
  const [settings = '', web = '', merged = ''] = cpids
  expect(told.mergelogOf(merged)).toEqual({
    cpid: merged,
    sources: [settings, web],
    object: 'apps/v1/deployments/web?uid=u2',
    reason: 'image',
  })
  expect(told.mergelogOf(settings)?.reason).toBe('by hand')
  expect(told.rootsOf(merged).sort()).toEqual([settings, web].sort())
  expect(told.spans).toEqual([
    { name: 'update', cpid: merged, observed: [], wrote: ['apps/v1/deployments/web?uid=u2'], isFailed: true },
    {
      name: 'reconcile',
      cpid: undefined,
      observed: ['v1/configmaps/web?uid=u1'],
      wrote: [],
      isFailed: false,
    },
  ])
  told.clear()
  expect([told.mergelogs, told.spans]).toEqual([[], []])
})
