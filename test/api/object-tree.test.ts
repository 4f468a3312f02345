import { afterAll, expect, test } from '@jest/globals'
import type { TouchedObjects, Why } from '../../src/query/object-answer-schemas.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './support/query-api.ts'
import { REPLICASET, WEB, webCascades } from './support/web-cascade.ts'

const POD = 'v1/pods/default/web-1-abc'
const JOB = 'batch/v1/jobs/default/sweep-1'

/** What alice scaled as inference tells of it, and a change of bob's of which nothing is left. */
async function seenFromOutside(path?: string): Promise<TestWriter> {
  const writer = await TestWriter.open({}, path)
  writer.clock.advance(1000)
  let id = 0
  const seen = (
    service: string,
    name: string,
    of: number,
    attributes: Record<string, unknown>,
    status = 0,
  ) => {
    id++
    const span = { trace: id, id, cpid: cpid(of), name, start: 1_000 + id * 10, end: 1_005 + id * 10, status }
    writer.spans(service, [{ ...span, attributes }])
  }
  writer.mergelogs('kubectl', [
    { new: cpid(2), time: 1_000, object: `${WEB}?uid=u1&rv=4`, reason: 'authored by bob' },
    { new: cpid(1), time: 1_010, object: `${WEB}?uid=u1&rv=5`, reason: 'scale by alice' },
    {
      new: cpid(3),
      time: 1_020,
      object: `${JOB}?uid=u9&rv=40`,
      reason: 'schedule: creation by cronjob-controller',
    },
  ])
  seen('kubectl', 'update apps/v1/deployments', 2, {
    'cpid.cause': 'operator',
    'user.name': 'bob',
    'cpid.wrote': [`${WEB}?uid=u1&rv=4`],
  })
  seen('kubectl', 'scale apps/v1/deployments', 1, {
    'cpid.cause': 'operator',
    'user.name': 'alice',
    'cpid.wrote': [`${WEB}?uid=u1&rv=5`],
    'cpid.changed': ['spec.replicas: 2 → 5'],
  })
  seen('kubectl', 'superseded apps/v1/deployments', 2, {
    'cpid.observed': [`${WEB}?uid=u1&rv=4`],
    'cpid.superseded_by': cpid(1),
  })
  seen('deployment-controller', 'update apps/v1/replicasets', 1, {
    'cpid.cause': 'exact',
    'cpid.owner': `${WEB}?uid=u1`,
    'cpid.observed': [`${WEB}?uid=u1&rv=5`],
    'cpid.wrote': [`${REPLICASET}?uid=u2&rv=6`],
  })
  seen('replicaset-controller', 'create v1/pods', 1, {
    'cpid.cause': 'exact',
    'cpid.owner': `${REPLICASET}?uid=u2`,
    'cpid.observed': [`${REPLICASET}?uid=u2&rv=6`],
    'cpid.wrote': [`${POD}?uid=u3&rv=7`],
  })
  seen('kubelet', 'update v1/pods status', 1, {
    'cpid.cause': 'inferred',
    'cpid.owner': `${REPLICASET}?uid=u2`,
    'cpid.observed': [`${POD}?uid=u3&rv=7`],
    'cpid.wrote': [`${POD}?uid=u3&rv=8`],
  })
  writer.spans('kubelet', [
    {
      ...{ trace: 90, id: 90, cpid: cpid(1), name: 'sync pod', start: 1_100, end: 1_110, status: 2 },
      attributes: { 'cpid.observed': [`${POD}?uid=u3&rv=8`] },
    },
  ])
  seen('cronjob-controller', 'create batch/v1/jobs', 3, {
    'cpid.cause': 'self',
    'cpid.reason': 'schedule',
    'cpid.wrote': [`${JOB}?uid=u9&rv=40`],
  })
  writer.link()
  return writer
}

const outside = await QueryApi.over(seenFromOutside)
const instrumented = await QueryApi.over(webCascades)
afterAll(async () => {
  await outside[Symbol.asyncDispose]()
  await instrumented[Symbol.asyncDispose]()
})

async function ask<T>(api: QueryApi, path: string): Promise<T> {
  return (await (await api.fetch(`/api/v1${path}`)).json()) as T
}

test('objects of a cascade stand below what owns them, with what was done to each and which fields changed', async () => {
  const { objects, truncated } = await ask<TouchedObjects>(outside, `/cascades/${cpid(1)}/objects`)
  expect(truncated).toBe(false)
  expect(objects.map(({ object, owner, deeds }) => ({ object, owner, deeds }))).toEqual([
    { object: WEB, owner: null, deeds: ['changed'] },
    { object: REPLICASET, owner: WEB, deeds: ['changed'] },
    { object: POD, owner: REPLICASET, deeds: ['made', 'failed'] },
  ])
  const [web, , pod] = objects
  expect(web?.writes[0]).toMatchObject({ version: '5', user: 'alice', changed: ['spec.replicas: 2 → 5'] })
  expect(pod).toMatchObject({ writeCount: 2, failed: 1, ownership: 'told' })
})

/** Commands as `causeway kubectl` and `causeway run` tell of them. */
async function commands(path?: string): Promise<TestWriter> {
  const writer = await TestWriter.open({}, path)
  const of = (name: string, known: string): string => `v1/configmaps/shop/${name}?${known}`
  for (const [at, name, wrote] of [
    [1, 'kubectl delete', [of('gone', 'uid=u1&rv=5'), of('gone', 'uid=u1')]],
    [2, 'kubectl create', [of('new', 'uid=u2&rv=6')]],
    [3, 'kubectl apply', [of('kept', 'uid=u3&rv=7'), of('pruned', 'uid=u4')]],
    [4, 'helm uninstall', [of('part', 'uid=u5&rv=8'), of('part', 'uid=u5')]],
  ] as const) {
    const [service = ''] = name.split(' ')
    writer.mergelogs(service, [{ new: cpid(at), object: wrote[0], reason: 'because' }])
    const span = { trace: at, id: at, cpid: cpid(at), name, start: at, end: at + 1 }
    writer.spans(service, [{ ...span, attributes: { 'cpid.wrote': wrote } }])
  }
  writer.link()
  return writer
}

test.each([
  [1, { gone: ['went'] }],
  [2, { new: ['made'] }],
  [3, { kept: ['changed'], pruned: ['went'] }],
  [4, { part: ['changed', 'went'] }],
])(
  'what command %d did to each object is told by its name, or by a version that is not there',
  async (at, expected) => {
    await using api = await QueryApi.over(commands)
    const { objects } = await ask<TouchedObjects>(api, `/cascades/${cpid(at)}/objects`)
    const did = objects.map(({ object, deeds }) => [object.replace('v1/configmaps/shop/', ''), deeds])
    expect(Object.fromEntries(did)).toEqual(expected)
  },
)

test('what an instrumented controller wrote stands below what was read for it, where it is called after that', async () => {
  const { objects } = await ask<TouchedObjects>(instrumented, `/cascades/${cpid(1)}/objects`)
  expect(objects.slice(0, 2).map(({ object, owner, ownership }) => ({ object, owner, ownership }))).toEqual([
    { object: WEB, owner: null, ownership: null },
    { object: REPLICASET, owner: WEB, ownership: 'name' },
  ])
})

test('of more objects than are asked for, owners stand above those that are shown, and the others are counted', async () => {
  const path = `/cascades/${cpid(1)}/objects?limit=2`
  const { objects, leftOut } = await ask<TouchedObjects>(outside, path)
  expect(objects.map(({ object }) => object)).toEqual([WEB, REPLICASET, POD])
  expect(leftOut).toBe(0)
  await using many = await QueryApi.over(manyPods)
  const found = await ask<TouchedObjects>(many, path)
  expect(found.objects.map(({ object, owner }) => [object, owner])).toEqual([
    [REPLICASET, null],
    ['v1/pods/default/web-0', REPLICASET],
    ['v1/pods/default/web-1', REPLICASET],
  ])
  expect([found.truncated, found.leftOut]).toEqual([true, 48])
})

test('beyond a limit those that failed are shown, with all of their writes', async () => {
  await using failing = await QueryApi.over((path) => manyPods(path, FAILING))
  for (const limit of [1, 2, 3, 10, 49]) {
    const path = `/cascades/${cpid(1)}/objects?limit=${limit}`
    const { objects, leftOut } = await ask<TouchedObjects>(failing, path)
    const failed = objects.filter(({ deeds }) => deeds.includes('failed'))
    expect(failed.map(({ object, writeCount, failed: spans }) => [object, writeCount, spans])).toEqual(
      FAILING.slice(0, limit).map((at) => [`v1/pods/default/web-${at}`, 2, 1]),
    )
    const pods = objects.filter(({ object }) => object !== REPLICASET).length
    expect([pods, leftOut]).toEqual([limit, 50 - limit])
  }
})

const FAILING = [7, 33, 48]

/** Pods alone, whose owner wrote nobody in this cascade. Some were written once more, which failed. */
async function manyPods(path?: string, failing: readonly number[] = []): Promise<TestWriter> {
  const writer = await TestWriter.open({}, path)
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  const pods = Array.from({ length: 50 }, (_, at) => ({
    ...{ trace: 10 + at, id: 10 + at, name: 'create v1/pods', cpid: cpid(1), start: at, end: at + 1 },
    attributes: { 'cpid.owner': REPLICASET, 'cpid.wrote': [`v1/pods/default/web-${at}?rv=${at}`] },
  }))
  writer.spans('replicaset-controller', pods)
  const starts = failing.map((at) => ({
    ...{ trace: 100 + at, id: 100 + at, name: 'start Pod', cpid: cpid(1), start: 60, end: 70, status: 2 },
    attributes: { 'cpid.wrote': [`v1/pods/default/web-${at}?rv=${100 + at}`] },
  }))
  if (starts.length > 0) writer.spans('kubelet', starts)
  writer.link()
  return writer
}

test('why an object is as it is leads back to who began it, and says what was superseded', async () => {
  const why = await ask<Why>(outside, `/objects/why?ref=${POD}`)
  expect(why.versions.map(({ object, from, begunBy }) => ({ object, from, begunBy }))).toEqual([
    { object: `${POD}?uid=u3&rv=7`, from: [1], begunBy: [] },
    { object: `${REPLICASET}?uid=u2&rv=6`, from: [2], begunBy: [] },
    { object: `${WEB}?uid=u1&rv=5`, from: [], begunBy: [cpid(1)] },
  ])
  expect(why.changes).toMatchObject([{ root: cpid(1), reason: 'scale by alice' }])
  expect(why.newerStatuses).toBe(1)
  const ofWeb = await ask<Why>(outside, `/objects/why?ref=${WEB}`)
  expect(ofWeb.changes).toMatchObject([{ root: cpid(1) }, { root: cpid(2), supersededBy: cpid(1) }])
})

test('a change that began by itself is where it ends, and an unknown object has nothing', async () => {
  const why = await ask<Why>(outside, `/objects/why?ref=${JOB}`)
  expect(why.versions).toMatchObject([{ cause: 'self', begunBy: [cpid(3)] }])
  expect(await ask(outside, '/objects/why?ref=v1/pods/nowhere/x')).toEqual({
    versions: [],
    changes: [],
    truncated: false,
  })
})
