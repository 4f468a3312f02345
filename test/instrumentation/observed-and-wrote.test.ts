import { test, expect } from '@jest/globals'
import { trace } from '@opentelemetry/api'
import { createInstrumentation } from '../../packages/instrumentation/src/create-instrumentation.ts'
import { startSdk } from './support/start-sdk.ts'

const { observed, wrote } = createInstrumentation({ resources: { Mouse: 'mice' } })
const object = (kind: string, name: string) => ({ apiVersion: 'v1', kind, metadata: { name } })

function inSpan(name: string, work: () => void): void {
  trace.getTracer('test').startActiveSpan(name, (span) => {
    work()
    span.end()
  })
}

test('several calls add up on the span they are made in, each object once', async () => {
  await using sdk = startSdk()
  inSpan('outer', () => {
    observed(object('Pod', 'a'))
    inSpan('inner', () => wrote(object('Node', 'n')))
    observed([object('Pod', 'b'), object('Pod', 'a')])
    wrote(object('Mouse', 'm'))
  })
  expect(sdk.spans().map(({ name, attributes }) => ({ name, attributes }))).toEqual([
    { name: 'inner', attributes: { 'cpid.wrote': ['v1/nodes/n'] } },
    {
      name: 'outer',
      attributes: { 'cpid.observed': ['v1/pods/a', 'v1/pods/b'], 'cpid.wrote': ['v1/mice/m'] },
    },
  ])
})

test('the type of what a list brought is told once for all', async () => {
  await using sdk = startSdk()
  const items = [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }]
  inSpan('list', () => observed(items, { apiVersion: 'v1', resource: 'pods' }))
  expect(sdk.spans()[0]?.attributes).toEqual({ 'cpid.observed': ['v1/pods/a', 'v1/pods/b'] })
})

test('objects that cannot be referred to are passed over', async () => {
  await using sdk = startSdk()
  inSpan('reconcile', () => {
    observed(undefined)
    observed([null, { kind: 'Pod' }])
    wrote({})
  })
  expect(sdk.spans()[0]?.attributes).toEqual({})
})

test('a span takes no more than 128', async () => {
  await using sdk = startSdk()
  inSpan('reconcile', () => {
    for (let number = 0; number < 200; number++) observed(object('Pod', `p${number}`))
  })
  expect(sdk.spans()[0]?.attributes['cpid.observed']).toHaveLength(128)
})

test('outside of spans nothing happens', () => {
  expect(() => observed(object('Pod', 'a'))).not.toThrow()
})
