import { test, expect } from '@jest/globals'
import { defaultTextMapGetter, defaultTextMapSetter, ROOT_CONTEXT } from '@opentelemetry/api'
import {
  getTraceContext,
  setTraceContext,
} from '../../packages/instrumentation/src/context/active-trace-context.ts'
import {
  CpidPropagator,
  type PropagatorSettings,
} from '../../packages/instrumentation/src/context/cpid-propagator.ts'
import { cpid } from '../support/otlp-requests.ts'

const carried = setTraceContext(ROOT_CONTEXT, { cpid: cpid(3), ancestors: [cpid(2), cpid(1)] })

function extract(carrier: Record<string, unknown>, settings?: PropagatorSettings) {
  return getTraceContext(new CpidPropagator(settings).extract(ROOT_CONTEXT, carrier, defaultTextMapGetter))
}

test('a trace context goes into a carrier and comes out of it', () => {
  const carrier = {}
  new CpidPropagator().inject(carried, carrier, defaultTextMapSetter)
  expect(carrier).toEqual({ cpid: cpid(3), 'cpid-ancestors': `${cpid(2)},${cpid(1)}` })
  expect(extract(carrier)).toEqual({ cpid: cpid(3), ancestors: [cpid(2), cpid(1)] })
})

test('without a trace context the carrier stays as it is', () => {
  const carrier = { cpid: cpid(1) }
  new CpidPropagator().inject(ROOT_CONTEXT, carrier, defaultTextMapSetter)
  expect(carrier).toEqual({ cpid: cpid(1) })
})

test('a carrier used again keeps nothing of the change before', () => {
  const carrier = { cpid: cpid(2), 'cpid-ancestors': cpid(1) }
  const root = setTraceContext(ROOT_CONTEXT, { cpid: cpid(9), ancestors: [] })
  new CpidPropagator().inject(root, carrier, defaultTextMapSetter)
  expect(extract(carrier)).toEqual({ cpid: cpid(9), ancestors: [] })
})

test('the keys and the number of ancestors can be chosen', () => {
  const settings = { cpidKey: 'x-change', ancestorsKey: 'x-before', maxAncestors: 1 }
  const propagator = new CpidPropagator(settings)
  const carrier = {}
  propagator.inject(carried, carrier, defaultTextMapSetter)
  expect(Object.keys(carrier)).toEqual(propagator.fields())
  expect(extract(carrier, settings)).toEqual({ cpid: cpid(3), ancestors: [cpid(2)] })
})

test.each<[string, Record<string, unknown>, unknown]>([
  ['nothing', {}, undefined],
  ['no UUID', { cpid: 'x' }, undefined],
  ['only ancestors', { 'cpid-ancestors': cpid(1) }, undefined],
  ['upper case', { cpid: cpid(0xa).toUpperCase() }, { cpid: cpid(0xa), ancestors: [] }],
  [
    'a header that came twice',
    { cpid: [cpid(3)], 'cpid-ancestors': [cpid(2), cpid(1)] },
    { cpid: cpid(3), ancestors: [cpid(2), cpid(1)] },
  ],
  ['two CPIDs, of which neither can be told', { cpid: [cpid(3), cpid(2)] }, undefined],
  ['a value that is no text', { cpid: 7 }, undefined],
])('a carrier with %s', (_, carrier, expected) => {
  expect(extract(carrier)).toEqual(expected)
})

test('a carrier without a CPID leaves the context as it is', () => {
  expect(new CpidPropagator().extract(carried, {}, defaultTextMapGetter)).toBe(carried)
})

test.each([-1, 1.5, Number.NaN])('%p ancestors are refused', (maxAncestors) => {
  expect(() => new CpidPropagator({ maxAncestors })).toThrow(
    new RangeError(`maxAncestors is ${maxAncestors}; give a whole number from 0 on`),
  )
})
