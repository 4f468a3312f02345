import { expect, test } from '@jest/globals'
import { withTraceContext } from '../../packages/instrumentation/src/context/active-trace-context.ts'
import { promised, type HttpApi } from '../../packages/instrumentation/src/kubernetes/client-types.ts'
import { derivedRoot } from '../../packages/instrumentation/src/kubernetes/derived-root.ts'
import { traceCluster } from '../../packages/instrumentation/src/kubernetes/index.ts'
import { cpid } from '../support/otlp-requests.ts'
import { Api, startServer, type Stored } from './support/asked-server.ts'
import { startSdk } from './support/start-sdk.ts'
import { carried, object, told, traced, WEB } from './support/traced-scene.ts'

const ALPHA = { cpid: cpid(1), ancestors: [] }

test('a reconcile that meets a conflict makes one merge of all that it read, and tells it when it is written', async () => {
  await using sdk = startSdk()
  let refusals = 2
  await using server = await startServer(({ method, path }) => {
    if (method === 'GET') return [200, path.endsWith('/web') ? object(2) : object(3, '4', 'settings')]
    if (refusals-- > 0) return [409, { kind: 'Status', message: 'the object has been modified' }]
    return [200, object(100, '8')]
  })
  const { api, reconciler } = traced()
  const reconcile = reconciler('reconcile', async () => {
    const { answer: web } = await api.ask('GET', server.url + WEB)
    await api.ask('GET', `${server.url}/apis/apps/v1/namespaces/default/deployments/settings`)
    const { status, answer } = await api.ask('PUT', server.url + WEB, web)
    if (status === 409) throw new Error('conflict')
    expect(answer.metadata.resourceVersion).toBe('8')
  })
  reconcile.wokenBy('web', object(3, '4', 'settings'))
  await expect(reconcile('web')).rejects.toThrow('conflict')
  await expect(reconcile('web')).rejects.toThrow('conflict')
  expect(told(sdk)).toEqual([])
  await reconcile('web')
  expect(told(sdk)).toEqual([cpid(100)])
  expect(sdk.records()[0]?.attributes['cpid.sources']).toEqual([cpid(3), cpid(2)])
  expect(server.asked.filter(({ method }) => method === 'PUT').map(carried)).toEqual([
    cpid(100),
    cpid(100),
    cpid(100),
  ])
  const settings = 'apps/v1/deployments/default/settings?uid=u3&rv=4'
  const [write, failed, , , written, done] = sdk.spans()
  expect(write).toMatchObject({
    name: 'update apps/v1/deployments',
    status: { code: 2, message: 'the object has been modified' },
    attributes: { 'error.type': '409', 'cpid.id': cpid(3) },
  })
  expect(failed).toMatchObject({
    name: 'reconcile',
    status: { code: 2 },
    attributes: { 'cpid.observed': [settings], 'cpid.id': cpid(3) },
  })
  expect(written?.attributes).toMatchObject({
    'cpid.wrote': ['apps/v1/deployments/default/web?uid=u100&rv=8'],
    'cpid.observed': ['apps/v1/deployments/default/web?uid=u2&rv=7', settings],
  })
  // Who woke it first is known still.
  expect(done?.attributes).toMatchObject({ 'cpid.observed': [settings], 'cpid.id': cpid(100) })
  const traceIds = server.asked.map(({ traceparent }) => traceparent?.split('-')[1])
  expect(traceIds).toEqual(
    [failed, sdk.spans()[3], done].flatMap((span) => Array<unknown>(3).fill(span?.spanContext().traceId)),
  )
})

test('what the last change of a key came from is not named again, though no object has room for it', async () => {
  await using sdk = startSdk()
  let version = 7
  await using server = await startServer(({ body }) => {
    const annotations = body?.metadata?.annotations ?? {}
    const web = object(1, String(++version))
    return [200, { ...web, metadata: { ...web.metadata, annotations } }]
  })
  const { api, reconciler, informer } = traced({ maxAncestors: 2 })
  const many = [11, 12, 13, 14, 15].map((number) => object(number, '5', `app-${number}`))
  let summary: Stored | undefined
  const apps = informer(
    { on: () => undefined, get: () => summary, list: () => many },
    { apiVersion: 'apps/v1', kind: 'Deployment' },
  )
  const reconcile = reconciler('reconcile', async () => {
    apps.list()
    const { answer } = await api.ask('PUT', server.url + WEB, apps.get() ?? { metadata: { name: 'web' } })
    summary = answer
  })
  await reconcile('web')
  expect(sdk.records()[0]?.attributes['cpid.sources']).toHaveLength(5)
  many.push(object(16, '5', 'app-16'))
  await reconcile('web')
  expect(sdk.records()[1]?.attributes['cpid.sources']).toEqual([cpid(16), cpid(100)])
})

test('what is deleted is marked first; a status keeps its change; asides go as they are', async () => {
  await using sdk = startSdk()
  await using server = await startServer(({ method, path, body }) => {
    if (method === 'DELETE') return [200, { kind: 'Status', status: 'Success', details: { uid: 'u1' } }]
    const stored = object(1, method === 'PATCH' ? '9' : '8')
    const annotations = path.endsWith('/status') ? undefined : body?.metadata?.annotations
    return [
      200,
      annotations === undefined ? stored : { ...stored, metadata: { ...stored.metadata, annotations } },
    ]
  })
  const { api, instrumentation } = traced()
  await withTraceContext(ALPHA, () =>
    api.ask('PUT', `${server.url}/apis/coordination.k8s.io/v1/namespaces/a/leases/b`, object(2)),
  )
  await api.ask('PUT', `${server.url}${WEB}?dryRun=All`, object(2))
  expect(server.asked.map(carried)).toEqual([cpid(2), cpid(2)])
  expect(sdk.spans()).toEqual([])

  const change = { cpid: cpid(50), ancestors: [cpid(1)] }
  const status = await withTraceContext(change, () =>
    api.ask('PATCH', `${server.url}${WEB}/status`, { status: {} }),
  )
  expect(instrumentation.extractFromObject(status.answer)?.cpid).toBe(cpid(50))

  await api.ask('DELETE', server.url + WEB)
  const [mark, deletion] = server.asked.slice(-2)
  expect([mark?.method, deletion?.method]).toEqual(['PATCH', 'DELETE'])
  expect(carried(mark!)).toBe(cpid(100))
  expect(told(sdk)).toEqual([cpid(100)])
  expect(instrumentation.extractFromObject(object(1, '10'))?.cpid).toBe(cpid(100))
  expect(sdk.spans().at(-1)).toMatchObject({
    name: 'delete apps/v1/deployments',
    attributes: { 'cpid.wrote': [expect.stringContaining('rv=9'), 'apps/v1/deployments/default/web?uid=u1'] },
  })

  const { api: unmarking } = traced({ marksDeletions: false })
  await unmarking.ask('DELETE', server.url + WEB)
  expect(server.asked.slice(-2).map(({ method }) => method)).toEqual(['DELETE', 'DELETE'])
})

test('what goes with a collection goes for the change of that call, though an informer is faster than the answer', async () => {
  await using sdk = startSdk()
  const handlers: Record<string, (version: Stored) => void> = {}
  const tell = (verb: string, version: Stored): void => handlers[verb]?.(version)
  const made = (number: number, name: string): Stored => {
    const { metadata, ...one } = object(number, '7', name)
    const creationTimestamp = name === 'late' ? '9999-01-01T00:00:00Z' : '2026-01-01T00:00:00Z'
    const labels = { app: name === 'other' ? 'blog' : 'shop' }
    return { ...one, metadata: { ...metadata, ...{ creationTimestamp, labels } } }
  }
  const [first, second] = [made(1, 'first'), made(2, 'second')]
  const [other, late] = [made(3, 'other'), made(4, 'late')]
  await using server = await startServer(({ path }) => {
    const isRefused = path.includes('other')
    if (!isRefused) tell('delete', first)
    return isRefused ? [403, { kind: 'Status' }] : [200, { kind: 'DeploymentList', metadata: {} }]
  })
  const { api, informer, instrumentation } = traced({ cluster: 'prod' })
  const on = (verb: string, one: (version: Stored) => void): void => void (handlers[verb] = one)
  informer({ on } as never, { apiVersion: 'apps/v1', kind: 'Deployment' })
  for (const one of [first, second, other, late]) tell('add', one)
  const all = `${server.url}/apis/apps/v1/namespaces/default/deployments?labelSelector=`
  await api.ask('DELETE', `${all}app%3Dshop`)
  await api.ask('DELETE', `${all}app+in+(other,blog)`)
  for (const one of [second, other, late]) tell('delete', one)
  const changes = [first, second, other, late].map((one) => instrumentation.extractFromObject(one)?.cpid)
  const begun = (uid: string): string => derivedRoot('prod', uid, '7')
  expect(changes).toEqual([cpid(100), cpid(100), begun('u3'), begun('u4')])
  expect(told(sdk)).toEqual([cpid(100), begun('u3'), begun('u4')])
  expect(server.asked.map(({ method }) => method)).toEqual(['DELETE', 'DELETE'])
})

test.each([
  ['that is not marked', { marksDeletions: false }, {}, 'u1'],
  ['that may not be marked', {}, {}, 'u1'],
  [
    'of one object and no other of its name',
    { marksDeletions: false },
    { preconditions: { uid: 'u9' } },
    'u9',
  ],
])(
  'a deletion %s is of its change, though an informer is faster than the answer',
  async (_, settings, options, uid) => {
    await using sdk = startSdk()
    const handlers: Record<string, (version: Stored) => void> = {}
    const { metadata, ...web } = object(1)
    const gone = { ...web, metadata: { ...metadata, uid } }
    await using server = await startServer(({ method }) => {
      if (method === 'PATCH') return [403, { kind: 'Status', message: 'may not patch' }]
      handlers['delete']?.(gone)
      return [200, { kind: 'Status', status: 'Success', details: { uid } }]
    })
    const { api, informer, instrumentation } = traced(settings)
    const on = (verb: string, one: (version: Stored) => void): void => void (handlers[verb] = one)
    informer({ on } as never, { apiVersion: 'apps/v1', kind: 'Deployment' })
    handlers['add']?.(object(1))
    await api.ask('DELETE', server.url + WEB, options)
    expect(instrumentation.extractFromObject(gone)?.cpid).toBe(cpid(100))
    expect(told(sdk)).toEqual([cpid(100)])
  },
)

const REFUSALS = [
  [422, 'Deployment "web" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes'],
  [403, 'admission webhook "policy" denied the request: annotation causeway.io/cpid is not allowed'],
  [
    409,
    'Apply failed with 1 conflict: conflict with "other": .metadata.annotations.causeway.io/ancestor-cpids',
  ],
] as const

test.each(REFUSALS)(
  'what is refused for its annotations alone, with %i, is written as it was',
  async (status, message) => {
    await using sdk = startSdk()
    let version = 7
    await using server = await startServer((asked) =>
      carried(asked) === undefined
        ? [200, object(1, String(++version))]
        : [status, { kind: 'Status', message }],
    )
    const { api, instrumentation } = traced()
    for (const method of ['PUT', 'PATCH']) {
      const body = { metadata: { name: 'web' }, spec: { replicas: 3 } }
      const answer = await withTraceContext(ALPHA, () => api.ask(method, server.url + WEB, body))
      expect(answer.status).toBe(200)
      expect(server.asked.at(-1)).toMatchObject({ method, body })
      expect(instrumentation.extractFromObject(answer.answer)?.cpid).toBe(ALPHA.cpid)
    }
    expect(server.asked).toHaveLength(4)
    expect(sdk.spans()).toMatchObject(
      ['update', 'patch'].map((verb) => ({ name: `${verb} apps/v1/deployments`, status: { code: 0 } })),
    )
  },
)

test('what is refused for anything else is sent once', async () => {
  await using sdk = startSdk()
  await using server = await startServer(() => [
    422,
    { kind: 'Status', message: 'spec.replicas: Invalid value' },
  ])
  const { api } = traced()
  const { status } = await withTraceContext(ALPHA, () => api.ask('PUT', server.url + WEB, object(1)))
  expect([status, server.asked.length]).toEqual([422, 1])
  expect(sdk.spans()).toHaveLength(1)
})

test('a deletion that is refused is not that of whoever deletes it then', async () => {
  await using sdk = startSdk()
  const handlers: Record<string, (version: Stored) => void> = {}
  await using server = await startServer(() => [403, { kind: 'Status', message: 'no' }])
  const { api, informer, instrumentation } = traced({ marksDeletions: false, cluster: 'prod' })
  const on = (verb: string, one: (version: Stored) => void): void => void (handlers[verb] = one)
  informer({ on } as never, { apiVersion: 'apps/v1', kind: 'Deployment' })
  handlers['add']?.(object(1))
  await api.ask('DELETE', server.url + WEB)
  handlers['delete']?.(object(1, '8'))
  expect(instrumentation.extractFromObject(object(1, '8'))?.cpid).toBe(derivedRoot('prod', 'u1', '8'))
  expect(told(sdk)).toEqual([derivedRoot('prod', 'u1', '8')])
})

test('a write that takes away the last finalizer names no version: the answer has that of the deletion', async () => {
  await using sdk = startSdk()
  const going = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 }
  await using server = await startServer(({ body }) => {
    const { metadata } = object(1, '8')
    const changed = { ...metadata, ...going, ...body?.metadata, resourceVersion: '8' }
    return [200, { ...object(1, '8'), metadata: changed }]
  })
  const { api } = traced()
  const wrote = async (more: object, version = '7'): Promise<unknown> => {
    const body = object(1, version)
    await api.ask('PUT', server.url + WEB, { ...body, metadata: { ...body.metadata, ...more } })
    return sdk.spans().at(-1)?.attributes['cpid.wrote']
  }
  expect(await wrote({ finalizers: ['example.com/held'] })).toEqual([expect.stringContaining('rv=8')])
  expect(await wrote({ finalizers: [], deletionGracePeriodSeconds: 30 })).toEqual([
    expect.stringContaining('rv=8'),
  ])
  expect(await wrote({ finalizers: [] }, '8')).toEqual(['apps/v1/deployments/default/web?uid=u1'])
})

test('a delete goes on where it cannot be marked, and a path that cannot be read is let through', async () => {
  await using sdk = startSdk()
  const asked: string[] = []
  const failing: HttpApi = {
    send: (request) => {
      asked.push(request.getHttpMethod())
      if (request.getHttpMethod() === 'PATCH') throw new Error('the connection is gone')
      const text = () => Promise.resolve('{"kind":"Status"}')
      return promised(Promise.resolve({ httpStatusCode: 200, body: { text, binary: text } }))
    },
  }
  const config = { makeApiClient: (type: typeof Api) => new type({ httpApi: failing }) }
  const api = traceCluster(config).kubeConfig.makeApiClient(Api)
  expect((await api.ask('DELETE', `http://localhost${WEB}`)).status).toBe(200)
  expect((await api.ask('POST', 'http://localhost/api/v1/namespaces/%E0%A4%A/pods', {})).status).toBe(200)
  expect(asked).toEqual(['PATCH', 'DELETE', 'POST'])
  expect(sdk.spans()).toHaveLength(1)
})
