import { expect, test } from '@jest/globals'
import { propagation } from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { traceCluster } from '../../packages/instrumentation/src/kubernetes/index.ts'
import { requestTarget } from '../../packages/instrumentation/src/kubernetes/request-target.ts'
import { cpid } from '../support/otlp-requests.ts'
import { startServer } from './support/asked-server.ts'
import { startSdk } from './support/start-sdk.ts'
import { carried, object, told, traced, WEB } from './support/traced-scene.ts'

const PROXIED = '/api/v1/namespaces/default/services/shop/proxy/orders/7'
const answerStored = (): [number, object] => [200, object(1, '8')]

test('a deletion of one version alone is marked for that version, and is then for the one that came of it', async () => {
  await using sdk = startSdk()
  await using server = await startServer(answerStored)
  const { api } = traced()
  const preconditions = { uid: 'u1', resourceVersion: '7' }
  await api.ask('DELETE', server.url + WEB, { propagationPolicy: 'Orphan', preconditions })
  expect(server.asked.map(({ method, body }) => [method, body])).toEqual([
    [
      'PATCH',
      {
        metadata: {
          ...preconditions,
          annotations: { 'causeway.io/cpid': cpid(100), 'causeway.io/ancestor-cpids': '' },
        },
      },
    ],
    ['DELETE', { propagationPolicy: 'Orphan', preconditions: { uid: 'u1', resourceVersion: '8' } }],
  ])
  expect(told(sdk)).toEqual([cpid(100)])
})

test('a deletion whose mark is refused is asked for as it is', async () => {
  await using server = await startServer(({ method }) => (method === 'PATCH' ? [409, {}] : answerStored()))
  const { api } = traced()
  const body = { preconditions: { resourceVersion: '7' } }
  await api.ask('DELETE', server.url + WEB, body)
  expect(server.asked[1]).toMatchObject({ method: 'DELETE', body })
})

test.each([
  ['DELETE', WEB, { dryRun: ['All'] }],
  ['POST', '/api/v1/namespaces/default/pods/web/eviction', { deleteOptions: { dryRun: ['All'] } }],
  ['DELETE', PROXIED, { some: 'order' }],
  ['POST', PROXIED, { some: 'order' }],
  ['PUT', `${WEB}?dryRun=All`, { spec: {} }],
])('what stores nothing goes as it is: %s %s', async (method, path, body) => {
  await using sdk = startSdk()
  await using server = await startServer(answerStored)
  await traced().api.ask(method, server.url + path, body)
  expect(server.asked).toMatchObject([{ method, path, body }])
  expect([...sdk.spans(), ...sdk.records()]).toEqual([])
})

test('what proxies answer is no object that a reconcile read', async () => {
  await using sdk = startSdk()
  await using server = await startServer(answerStored)
  const { api, reconciler } = traced({ keepsIdleSpans: true })
  await reconciler('reconcile', () => api.ask('GET', server.url + PROXIED))('web')
  expect(sdk.spans()[0]?.attributes).toEqual({})
})

test('a deletion that asks for no version asks for none when it was marked; the mark has no query', async () => {
  await using server = await startServer(answerStored)
  const body = { preconditions: { uid: 'u1' } }
  await traced().api.ask('DELETE', `${server.url}${WEB}?gracePeriodSeconds=1`, body)
  expect(server.asked).toMatchObject([{ path: WEB }, { path: `${WEB}?gracePeriodSeconds=1` }])
  expect(server.asked[1]?.body).toEqual(body)
})

test('what is refused was not read, and a status is sent as it is', async () => {
  await using sdk = startSdk()
  await using server = await startServer(({ method }) =>
    method === 'GET' ? [404, object(5)] : answerStored(),
  )
  const { api, reconciler } = traced()
  const status = { status: { replicas: 1 } }
  await reconciler('reconcile', async () => {
    await api.ask('GET', server.url + WEB)
    await api.ask('PUT', `${server.url}${WEB}/status`, status)
  })('web')
  expect(server.asked[1]?.body).toEqual(status)
  expect(sdk.records()[0]?.attributes['cpid.sources']).toEqual([])
})

test('a watch of one object is no object', () => {
  expect(requestTarget('GET', 'https://a/api/v1/watch/namespaces/b/pods/c')).toBeUndefined()
})

test('a subresource that is deleted is not patched', async () => {
  await using sdk = startSdk()
  await using server = await startServer(answerStored)
  await traced().api.ask('DELETE', `${server.url}${WEB}/custom`)
  expect(server.asked.map(({ method }) => method)).toEqual(['DELETE'])
  expect(told(sdk)).toEqual([cpid(100)])
})

test.each([
  [{ metadata: { annotations: null } }],
  [{ metadata: null }],
  [{ metadata: { annotations: { $patch: 'delete' } } }],
  [{ $patch: 'delete' }],
])('a patch that takes annotations away does so: %j', async (patch) => {
  await using sdk = startSdk()
  await using server = await startServer(answerStored)
  const { api, instrumentation } = traced()
  const { answer } = await api.ask('PATCH', server.url + WEB, patch)
  expect(server.asked[0]?.body).toEqual(patch)
  expect(told(sdk)).toEqual([cpid(100)])
  expect(instrumentation.extractFromObject(answer)?.cpid).toBe(cpid(100))
  // In a whole object it is nothing.
  await api.ask('PUT', server.url + WEB, patch)
  expect(carried(server.asked[1]!)).toBeDefined()
})

test('an object whose deletion was refused is of the change that it carries, once it was written again', async () => {
  await using server = await startServer(({ method }) =>
    method === 'DELETE' ? [403, { kind: 'Status', message: 'no' }] : answerStored(),
  )
  const { api, instrumentation } = traced()
  await api.ask('DELETE', server.url + WEB)
  expect(instrumentation.extractFromObject(object(1, '8'))?.cpid).toBe(cpid(100))
  expect(instrumentation.extractFromObject(object(1, '9'))?.cpid).toBe(cpid(1))
})

test('spans hold nothing of the objects that were refused', async () => {
  await using sdk = startSdk()
  const causes = [{ field: 'data[key]', message: 'Invalid value: "hidden"' }]
  const refusals: object[] = [
    {
      reason: 'Invalid',
      message: 'Secret "a" is invalid: data[key]: Invalid value: "hidden"',
      details: { causes },
    },
    { reason: 'Invalid', message: 'Invalid value: "hidden"' },
    { reason: 'Forbidden', message: `${'a'.repeat(256)}hidden` },
    {},
  ]
  await using server = await startServer(() => [422, refusals.shift()!])
  const { api, reconciler } = traced()
  const write = () =>
    api.ask('POST', `${server.url}/api/v1/namespaces/default/secrets`, { data: { key: 'hidden' } })
  while (refusals.length > 0) await write()
  expect(sdk.spans().map(({ status }) => status.message)).toEqual([
    'the object is invalid: data[key]',
    'the object is invalid',
    'a'.repeat(256),
    'the API server refused',
  ])
  const failing = (error: unknown) =>
    expect(reconciler('reconcile', () => Promise.reject(error as Error))('web')).rejects.toBe(error)
  // What the client throws.
  await failing(new Error('HTTP-Code: 422\nMessage: Unknown\nBody: {"data":"hidden"}'))
  await failing(Object.create(null))
  expect(
    sdk
      .spans()
      .slice(4)
      .map(({ status }) => status.message),
  ).toEqual(['HTTP-Code: 422', 'an error'])
})

test('what fails in tracing is no concern of the controller', async () => {
  const fail = (): never => {
    throw new Error('tracing fails')
  }
  const nothing = (): Promise<void> => Promise.resolve()
  let failsAtStart = true
  const processor = {
    onStart: () => (failsAtStart ? fail() : undefined),
    onEnd: fail,
    ...{ forceFlush: nothing, shutdown: nothing },
  }
  const sdk = new NodeSDK({
    autoDetectResources: false,
    spanProcessors: [processor],
    logRecordProcessors: [],
    metricReaders: [],
    textMapPropagator: { inject: fail, extract: (context) => context, fields: () => [] },
  })
  sdk.start()
  try {
    await using server = await startServer(answerStored)
    const { api, reconciler } = traced()
    for (const atStart of [true, false]) {
      failsAtStart = atStart
      const reconcile = reconciler(
        'reconcile',
        async () => (await api.ask('PUT', server.url + WEB, {})).status,
      )
      await expect(reconcile('web')).resolves.toBe(200)
    }
    const broken = new Error('its own')
    await expect(reconciler('reconcile', () => Promise.reject(broken))('web')).rejects.toBe(broken)
  } finally {
    await sdk.shutdown()
    propagation.disable()
  }
})

test('informers are made of whatever the plain function makes them of', async () => {
  const items = [Object.freeze({ metadata: { name: 'a' } })]
  const cluster = traceCluster({ makeApiClient: () => undefined })
  let list: (() => Promise<unknown>) | undefined
  const make = (_config: unknown, _path: string, given: () => Promise<unknown>) => {
    list = given
    return { on: () => undefined, get: () => undefined, list: () => items }
  }
  const informer = cluster.informers(make as never) as unknown as typeof make
  expect(informer({}, '/api/v1/namespaces/%E0%A4%A/pods', () => Promise.resolve({ items })).list()).toBe(
    items,
  )
  await expect(list?.()).resolves.toEqual({ items })
})
