import { expect, test } from '@jest/globals'
import { withTraceContext } from '../../packages/instrumentation/src/context/active-trace-context.ts'
import { cpid } from '../support/otlp-requests.ts'
import { startServer, type Stored } from './support/asked-server.ts'
import { startSdk } from './support/start-sdk.ts'
import { carried, object, told, traced, WEB } from './support/traced-scene.ts'

const APPLIED = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'default' } }
const APPLY = 'application/apply-patch+yaml'
const caused = (number: number) => ({ cpid: cpid(number), ancestors: [] })

/** A server that stores what it is sent; it makes a version where the annotations are others. */
function startStore(stored: Stored | undefined) {
  let at = 7
  const server = startServer(({ method, body }) => {
    if (method === 'DELETE') return [200, { kind: 'Status', details: { uid: stored?.metadata.uid } }]
    const { metadata } = stored ?? object(1)
    const annotations = body?.metadata?.annotations ?? metadata.annotations ?? {}
    const isSame = JSON.stringify(annotations) === JSON.stringify(stored?.metadata.annotations)
    if (!isSame) stored = { ...object(1), metadata: { ...metadata, annotations, resourceVersion: `${++at}` } }
    return [200, stored ?? {}]
  })
  return server
}

test('an apply and a patch follow what an informer holds of the object, else what this process wrote last', async () => {
  await using sdk = startSdk()
  await using server = await startStore(object(1))
  const apply = async (scene: ReturnType<typeof traced>, number: number): Promise<unknown> => {
    await withTraceContext(caused(number), () => scene.api.ask('PATCH', server.url + WEB, APPLIED))
    return carried(server.asked.at(-1)!)
  }
  const followed = traced()
  const tell: ((version: Stored) => void)[] = []
  const informer = { on: (_: string, one: (version: Stored) => void) => tell.push(one) }
  followed.informer(informer as never, { apiVersion: 'apps/v1', kind: 'Deployment' })
  expect(await apply(followed, 2)).toBe(cpid(2))
  tell[0]?.(object(1))
  // What the informer holds is older than what was written, and then it is another object.
  expect(await apply(followed, 3)).toBe(cpid(100))
  expect(sdk.records().at(-1)?.attributes['cpid.sources']).toEqual([cpid(3), cpid(2)])
  tell[0]?.(object(5, '20'))
  expect(await apply(followed, 4)).toBe(cpid(101))
  expect(sdk.records().at(-1)?.attributes['cpid.sources']).toEqual([cpid(4), cpid(5)])

  const alone = traced({ newCpid: () => cpid(200) })
  expect([await apply(alone, 6), await apply(alone, 7)]).toEqual([cpid(6), cpid(200)])
  expect(sdk.records().at(-1)?.attributes['cpid.sources']).toEqual([cpid(7), cpid(6)])
  await withTraceContext(caused(8), () => alone.api.ask('DELETE', server.url + WEB))
  expect(await apply(alone, 9)).toBe(cpid(9))
})

test('a write that changed nothing is told by nobody, and what was read before stands on the next', async () => {
  await using sdk = startSdk()
  await using server = await startStore(object(1, '7'))
  const { api, reconciler } = traced()
  const settings = object(1, '4', 'settings')
  const reconcile = reconciler('reconcile', async (key: string) => {
    const { answer } = await api.ask('GET', server.url + WEB)
    if (key === 'own') await api.ask('PUT', server.url + WEB, answer)
    await api.ask('PATCH', server.url + WEB, APPLIED, APPLY)
    if (key !== 'idle') await api.ask('POST', `${server.url}/api/v1/namespaces/default/pods`, settings)
  })
  reconcile.wokenBy('first', settings)
  await reconcile('first')
  const names = (): string[] => sdk.spans().map(({ name }) => name)
  // For all that is known the first apply made a version.
  expect(names()).toEqual(['apply apps/v1/deployments', 'create v1/pods', 'reconcile'])
  for (const key of ['own', 'idle']) await reconcile(key)
  expect(names().slice(3)).toEqual(['create v1/pods', 'reconcile'])
  expect(sdk.spans()[3]?.attributes['cpid.observed']).toEqual(['apps/v1/deployments/default/web?uid=u1&rv=8'])
  expect(told(sdk)).toEqual([])
})

const PAUSED = { ...APPLIED, spec: { paused: false } }
test.each([
  ["another's status", PAUSED, { status: { replicas: 1 } }, { 'deployment.kubernetes.io/revision': '1' }, []],
  ['a spec', PAUSED, { spec: { paused: true } }, {}, ['apply', 'patch']],
  ['an annotation', PAUSED, {}, { is: 'new' }, ['apply', 'patch']],
  ['a status, which has no subresource', { status: {} }, { status: {} }, {}, ['apply', 'patch']],
  ['one version alone', { metadata: { resourceVersion: '5' } }, {}, {}, ['apply', 'patch']],
])(
  'an apply that changed nothing is none though its answer is new, and has %s',
  async (_, sent, more, annotations, names) => {
    await using sdk = startSdk()
    const web = { ...object(1, '5'), spec: { paused: false } }
    const now = { ...web, metadata: { ...web.metadata, resourceVersion: '6' }, ...more }
    Object.assign(now.metadata, { annotations: { ...annotations, ...web.metadata.annotations } })
    await using server = await startServer(() => [200, now])
    const on = (verb: string, tell: (version: Stored) => void): void => {
      if (verb === 'add') tell(web)
    }
    for (const type of [APPLY, 'application/merge-patch+json']) {
      const { api, informer } = traced()
      informer({ on } as never, { apiVersion: 'apps/v1', kind: 'Deployment' })
      await withTraceContext(caused(1), () => api.ask('PATCH', server.url + WEB, sent, type))
    }
    expect(sdk.spans().map(({ name }) => name)).toEqual(names.map((name) => `${name} apps/v1/deployments`))
  },
)
