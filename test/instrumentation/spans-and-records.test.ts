import { test, expect } from '@jest/globals'
import { context, logs, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  activeTraceContext,
  withTraceContext,
} from '../../packages/instrumentation/src/context/active-trace-context.ts'
import { changeAttributes } from '../../packages/instrumentation/src/telemetry/change-attributes.ts'
import { cpid } from '../support/otlp-requests.ts'
import { startSdk } from './support/start-sdk.ts'

const ALPHA = { cpid: cpid(1), ancestors: [] }
const GAMMA = { cpid: cpid(3), ancestors: [cpid(2), cpid(1)] }
const tracer = () => trace.getTracer('test')
const logger = () => logs.getLogger('test')

test('spans and log records made inside a trace context are of its change, also later', async () => {
  await using sdk = startSdk()
  await withTraceContext(GAMMA, async () => {
    await sleep(1)
    tracer().startActiveSpan('reconcile', (span) => {
      tracer().startSpan('update').end()
      logger().emit({ body: 'updated' })
      span.end()
    })
  })
  const expected = { 'cpid.id': cpid(3), 'cpid.ancestors': [cpid(2), cpid(1)] }
  expect(sdk.spans().map(({ name, attributes }) => [name, attributes])).toEqual([
    ['update', expected],
    ['reconcile', expected],
  ])
  expect(sdk.records().map(({ attributes }) => attributes)).toEqual([expected])
})

test('a change without ancestors has no such attribute', async () => {
  await using sdk = startSdk()
  withTraceContext(ALPHA, () => tracer().startSpan('reconcile').end())
  expect(sdk.spans()[0]?.attributes).toEqual({ 'cpid.id': cpid(1) })
})

test('the innermost trace context counts, and outside there is none', async () => {
  await using sdk = startSdk()
  withTraceContext(ALPHA, () => {
    withTraceContext(GAMMA, () => tracer().startSpan('inner').end())
    withTraceContext(undefined, () => tracer().startSpan('outer').end())
  })
  tracer().startSpan('outside').end()
  logger().emit({ body: 'outside' })
  expect(sdk.spans().map(({ attributes }) => attributes['cpid.id'])).toEqual([cpid(3), cpid(1), undefined])
  expect(sdk.records()[0]?.attributes).toEqual({})
})

test('what whoever began the span or wrote the record says stays', async () => {
  await using sdk = startSdk()
  withTraceContext(GAMMA, () => {
    tracer()
      .startSpan('other', { attributes: { 'cpid.id': cpid(9) } })
      .end()
    logger().emit({ attributes: { 'cpid.id': cpid(9) } })
  })
  expect(sdk.spans()[0]?.attributes).toEqual({ 'cpid.id': cpid(9) })
  expect(sdk.records()[0]?.attributes).toEqual({ 'cpid.id': cpid(9) })
})

test('a span begun in another context is of the change of that', async () => {
  await using sdk = startSdk()
  withTraceContext(GAMMA, () => {
    tracer().startSpan('elsewhere', {}, ROOT_CONTEXT).end()
    logger().emit({ context: ROOT_CONTEXT })
  })
  expect(sdk.spans()[0]?.attributes).toEqual({})
  expect(sdk.records()[0]?.attributes).toEqual({})
})

test('a span that began before its change was known can be given it', async () => {
  await using sdk = startSdk()
  tracer().startActiveSpan('reconcile', (span) => {
    span.setAttributes(changeAttributes(undefined)).setAttributes(changeAttributes(GAMMA)).end()
  })
  expect(sdk.spans()[0]?.attributes).toEqual({ 'cpid.id': cpid(3), 'cpid.ancestors': [cpid(2), cpid(1)] })
})

test('withTraceContext returns what the work returns and throws what it throws', async () => {
  await using sdk = startSdk()
  expect(withTraceContext(GAMMA, () => activeTraceContext())).toBe(GAMMA)
  expect(() =>
    withTraceContext(GAMMA, () => {
      throw new Error('conflict')
    }),
  ).toThrow('conflict')
  expect(activeTraceContext()).toBeUndefined()
  expect(sdk.spans()).toEqual([])
})

test('without any SDK the work is done all the same', () => {
  expect(context.active()).toBe(ROOT_CONTEXT)
  expect(withTraceContext(GAMMA, () => 7)).toBe(7)
  expect(withTraceContext(GAMMA, activeTraceContext)).toBeUndefined()
})
