import { test, expect } from '@jest/globals'
import { trace } from '@opentelemetry/api'
import { withTraceContext } from '../../packages/instrumentation/src/context/active-trace-context.ts'
import { createInstrumentation } from '../../packages/instrumentation/src/create-instrumentation.ts'
import { linkFromTraceparent } from '../../packages/instrumentation/src/context/traceparent-link.ts'
import { cpid } from '../support/otlp-requests.ts'
import { startSdk } from './support/start-sdk.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const LINK = { context: { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true } }
const written = (traceparent: string, annotations: Record<string, string> = {}) => ({
  metadata: { annotations: { ...annotations, 'tracing.k8s.io/traceparent': traceparent } },
})

test.each<[string, string, unknown]>([
  ['a traceparent', `00-${TRACE}-${SPAN}-01`, LINK],
  ['one of a later version', `01-${TRACE}-${SPAN}-01-more`, LINK],
  ['one that is not sampled', `00-${TRACE}-${SPAN}-00`, { context: { ...LINK.context, traceFlags: 0 } }],
  ['version 00 with more', `00-${TRACE}-${SPAN}-01-more`, undefined],
  ['version ff', `ff-${TRACE}-${SPAN}-01`, undefined],
  ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`, undefined],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`, undefined],
  ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
  ['nothing', '', undefined],
  ['256 KiB', `01-${TRACE}-${SPAN}-01-${'m'.repeat(256 * 1024)}`, undefined],
])('a link from %s', (_, traceparent, link) => {
  expect(linkFromTraceparent(written(traceparent))).toEqual(link)
})

test('no link from an object without the annotation', () => {
  expect([undefined, null, {}, { metadata: {} }].map(linkFromTraceparent)).toEqual(Array(4).fill(undefined))
})

test('a trace context keeps the link when that is asked for, and the outermost spans in it get the link', async () => {
  await using sdk = startSdk()
  const object = written(`00-${TRACE}-${SPAN}-01`, { 'causeway.io/cpid': cpid(1) })
  expect(createInstrumentation().extractFromObject(object)).toEqual({ cpid: cpid(1), ancestors: [] })
  const context = createInstrumentation({ keepTraceparent: true }).extractFromObject(object)
  expect(context).toEqual({ cpid: cpid(1), ancestors: [], link: LINK })
  const tracer = trace.getTracer('test')
  tracer.startActiveSpan('worker', (worker) => {
    withTraceContext(context, () => {
      tracer.startActiveSpan('reconcile', (reconcile) => {
        tracer.startSpan('update').end()
        reconcile.end()
      })
    })
    worker.end()
  })
  expect(sdk.spans().map(({ name, links }) => [name, links.map((link) => link.context)])).toEqual([
    ['update', []],
    ['reconcile', [LINK.context]],
    ['worker', []],
  ])
})

test('what merges into a new change links to none of the spans before', () => {
  const { extractFromObject, merge } = createInstrumentation({ keepTraceparent: true })
  const object = written(`00-${TRACE}-${SPAN}-01`, { 'causeway.io/cpid': cpid(1) })
  expect(merge([extractFromObject(object)])).toEqual({ cpid: cpid(1), ancestors: [] })
})
