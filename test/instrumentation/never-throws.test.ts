import { expect, test } from '@jest/globals'
import { context, diag, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import fc from 'fast-check'
import {
  CpidPropagator,
  createInstrumentation,
  type InstrumentationSettings,
  type KubernetesObject,
  linkFromTraceparent,
  parseCpidFromLine,
  type TraceContext,
  withTraceContext,
} from '../../packages/instrumentation/src/index.ts'
import { parseCpid } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import { startSdk } from './support/start-sdk.ts'

const anything = fc.anything({ withNullPrototype: true, withDate: true, withMap: true, withBigInt: true })
const trap = new Proxy(
  {},
  {
    get: () => {
      throw new Error('a trap')
    },
  },
)
const strange = fc.oneof(
  anything,
  fc.constant(trap),
  fc.record({ metadata: anything, kind: anything, apiVersion: anything }),
  fc.record({ metadata: fc.record({ annotations: anything, name: anything }) }),
  fc.record({ cpid: anything, ancestors: anything }),
  fc.record({ cpid: fc.constant(cpid(3)), ancestors: fc.array(fc.oneof(anything, fc.constant(cpid(1)))) }),
)

test('whatever a controller hands over, it gets an answer', async () => {
  await using sdk = startSdk()
  const tracing = createInstrumentation({ keepTraceparent: true })
  const good = { cpid: cpid(1), ancestors: [] }
  fc.assert(
    fc.property(strange, strange, (one, other) => {
      const object = one as KubernetesObject
      trace.getTracer('test').startActiveSpan('reconcile', (span) => {
        tracing.observed(object)
        tracing.wrote([object, other as KubernetesObject])
        tracing.extractFromObject(object)
        tracing.injectIntoObject(good, object)
        tracing.injectIntoObject(other as TraceContext, object)
        const merged = tracing.merge([other as TraceContext, good], { object, reason: one as string })
        expect(parseCpid(merged.cpid)).toBe(merged.cpid)
        expect(tracing.merge(one as TraceContext[]).cpid).toHaveLength(36)
        withTraceContext(one as TraceContext, () => trace.getTracer('test').startSpan('inside').end())
        span.end()
      })
    }),
  )
  expect(sdk.spans().length).toBeGreaterThan(0)
})

test('ancestors that are no CPIDs are left out, those in other letters are read', () => {
  const { merge, injectIntoObject } = createInstrumentation()
  const ancestors = [7, null, cpid(0xa).toUpperCase(), 'x', , {}, cpid(2)] as unknown as string[]
  const context = { cpid: cpid(1), ancestors }
  const sound = { cpid: cpid(1), ancestors: [cpid(0xa), cpid(2)] }
  expect(merge([context])).toEqual(sound)
  expect(merge([context, { cpid: cpid(0xa), ancestors: [] }])).toEqual(sound)
  expect(merge([context, { cpid: cpid(4), ancestors: [undefined, cpid(5)] as string[] }]).ancestors).toEqual([
    cpid(1),
    cpid(4),
    cpid(0xa),
    cpid(5),
    cpid(2),
  ])
  const object: KubernetesObject = {}
  expect(injectIntoObject(context, object).metadata?.annotations?.['causeway.io/ancestor-cpids']).toBe(
    sound.ancestors.join(),
  )
})

test('whatever text arrives, it is read or passed over', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      parseCpidFromLine(text)
      parseCpidFromLine(`{"cpid":${text}}`)
      linkFromTraceparent({ metadata: { annotations: { 'tracing.k8s.io/traceparent': text } } })
      new CpidPropagator().extract(ROOT_CONTEXT, text, { get: () => text, keys: () => [text] })
    }),
  )
})

test.each<[string, InstrumentationSettings]>([
  ['no UUID', { newCpid: () => 'change-1' }],
  ['nothing', { newCpid: () => undefined as unknown as string }],
  [
    'an exception',
    {
      newCpid: () => {
        throw new Error('no entropy')
      },
    },
  ],
])('where newCpid gives %s there is a random CPID', (_, settings) => {
  const { newRoot } = createInstrumentation(settings)
  expect(parseCpid(newRoot().cpid)).toBeDefined()
  expect(newRoot().cpid).not.toBe(newRoot().cpid)
})

test('what fails is told to the diagnostics of OpenTelemetry', () => {
  const told: unknown[] = []
  diag.setLogger({ ...console, verbose: () => undefined, error: (...values: unknown[]) => told.push(values) })
  told.length = 0
  expect(createInstrumentation().extractFromObject(trap)).toBeUndefined()
  diag.disable()
  context.disable()
  expect(told).toEqual([['causeway-instrumentation went on without', new Error('a trap')]])
})

test('trace contexts given in upper case are the same CPIDs', () => {
  const tracing = createInstrumentation()
  const upper = { cpid: cpid(0xa).toUpperCase(), ancestors: [] }
  expect(tracing.merge([upper, { cpid: cpid(0xa), ancestors: [] }])).toEqual({
    cpid: cpid(0xa),
    ancestors: [],
  })
  expect(tracing.losses).toBe(0)
})

test('only settings that make no sense are refused, when the instrumentation is made', () => {
  expect(() => createInstrumentation({ maxAncestors: -1 })).toThrow(
    'maxAncestors is -1; give a whole number from 0 on',
  )
  expect(() => createInstrumentation({ maxSources: 1 })).toThrow(
    'maxSources is 1; give a whole number from 2 on',
  )
})
