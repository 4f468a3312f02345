import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from '@jest/globals'
import { trace } from '@opentelemetry/api'
import { activeTraceContext } from '../../packages/instrumentation/src/context/active-trace-context.ts'
import { createInstrumentation } from '../../packages/instrumentation/src/create-instrumentation.ts'
import { cpid } from '../support/otlp-requests.ts'
import { startSdk, type Sdk } from './support/start-sdk.ts'

setFlagsFromString('--expose-gc')

const ALPHA = { cpid: cpid(1), ancestors: [] }
const BETA = { cpid: cpid(2), ancestors: [] }
const GAMMA = { cpid: cpid(3), ancestors: [] }
const WEB = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { namespace: 'default', name: 'web', uid: 'u1', resourceVersion: '7' },
}

function instrumentation() {
  let next = 100
  let nowMs = 1_000
  return createInstrumentation({ newCpid: () => cpid(next++), nowMs: () => nowMs++ })
}

/** The mergelogs sent: each new CPID, what it comes from, the object, and when in milliseconds. */
const told = (sdk: Sdk) =>
  sdk.records().map(({ attributes, hrTime }) => ({
    new: attributes['cpid.new'],
    of: attributes['cpid.sources'],
    object: attributes['cpid.object'],
    atMs: hrTime[0] * 1_000 + hrTime[1] / 1e6,
  }))

const stored = <T extends { metadata: object }>(object: T, resourceVersion: string): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion },
})

test('what a conflict refused is never told, and tried again it is the same merge', async () => {
  await using sdk = startSdk()
  const { write } = instrumentation()
  const carried: unknown[] = []
  const attemptTo = (outcome: (marked: typeof WEB) => Promise<typeof WEB>) =>
    write(
      WEB,
      (marked) => {
        carried.push(activeTraceContext()?.cpid)
        return outcome(marked)
      },
      { causes: [ALPHA, BETA], reason: 'scale', name: 'update Deployment' },
    )
  const conflict = Object.assign(new Error('the object has been modified'), { code: 409 })
  for (let tries = 0; tries < 3; tries++)
    await expect(attemptTo(() => Promise.reject(conflict))).rejects.toBe(conflict)
  expect(told(sdk)).toEqual([])

  const written = await attemptTo((marked) => Promise.resolve(stored(marked, '9')))
  expect(written.metadata).toMatchObject({ annotations: { 'causeway.io/cpid': cpid(100) } })
  expect(carried).toEqual([cpid(100), cpid(100), cpid(100), cpid(100)])
  expect(told(sdk)).toEqual([
    { new: cpid(100), of: [cpid(1), cpid(2)], object: 'apps/v1/deployments/default/web?uid=u1', atMs: 1_003 },
  ])
  const refused = {
    name: 'update Deployment',
    status: { code: 2, message: 'the object has been modified' },
    // Of what it follows from, since nobody hears of a merge that was not written.
    attributes: { 'cpid.id': cpid(2), 'error.type': '409', 'http.response.status_code': 409 },
  }
  const accepted = {
    name: 'update Deployment',
    attributes: { 'cpid.id': cpid(100), 'cpid.wrote': ['apps/v1/deployments/default/web?uid=u1&rv=9'] },
  }
  expect(sdk.spans()).toMatchObject([refused, refused, refused, accepted])
  expect(sdk.spans().every(({ ended }) => ended)).toBe(true)
})

test('a merge that others overtook is never told', async () => {
  await using sdk = startSdk()
  const { plan, accepted } = instrumentation()
  plan([ALPHA, BETA], { object: WEB })
  const second = plan([ALPHA, GAMMA], { object: WEB })
  accepted(second)
  accepted(second)
  expect(told(sdk)).toMatchObject([{ new: cpid(101), of: [cpid(1), cpid(3)] }])
})

test('other objects of the same causes have merges of their own; what begins twice begins twice', async () => {
  await using sdk = startSdk()
  const { plan, accepted } = instrumentation()
  const other = { ...WEB, metadata: { ...WEB.metadata, name: 'shop' } }
  expect(plan([ALPHA, BETA], { object: WEB })).toBe(plan([BETA, ALPHA], { object: WEB }))
  expect(plan([ALPHA, BETA], { object: other }).cpid).toBe(cpid(101))
  const first = plan([], { object: WEB })
  expect(plan([], { object: WEB })).toBe(first)
  accepted(first)
  expect(plan([], { object: WEB }).cpid).not.toBe(first.cpid)
  expect(plan([]).cpid).not.toBe(plan([]).cpid)
  expect(told(sdk)).toMatchObject([{ new: cpid(102), of: [] }])
})

test('writes that are begun by the thousand at once are all told of', async () => {
  await using sdk = startSdk()
  const { plan, accepted } = instrumentation()
  const named = (name: number) => ({ ...WEB, metadata: { ...WEB.metadata, name: `web-${name}` } })
  const changes = Array.from({ length: 6_000 }, (_, name) => plan([], { object: named(name) }))
  for (const change of changes) accepted(change)
  expect(told(sdk)).toHaveLength(6_000)
})

test('what very many causes merged into is remembered without them', () => {
  const { plan, accepted } = instrumentation()
  const causes = Array.from({ length: 8_000 }, (_, number) => ({ cpid: cpid(number + 1), ancestors: [] }))
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  for (let name = 0; name < 100; name++) accepted(plan(causes, { object: `v1/pods/a/${name}` }))
  expect(plan(causes, { object: 'v1/pods/a/1' })).toBe(plan(causes, { object: 'v1/pods/a/1' }))
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10e6)
})

test('wrote tells of the planned change that it is called in, and of that on the object', async () => {
  await using sdk = startSdk()
  const { plan, wrote, injectIntoObject } = instrumentation()
  wrote(injectIntoObject(plan([ALPHA, BETA], { object: WEB }), WEB))
  expect(told(sdk)).toMatchObject([{ new: cpid(100) }])
})

test('a status keeps its change, though the API server drops the annotations', async () => {
  await using sdk = startSdk()
  const { write, extractFromObject, injectIntoObject } = instrumentation()
  const before = injectIntoObject(GAMMA, WEB)
  // What a status subresource answers: the annotations of the version before.
  const status = () => Promise.resolve(stored(before, '8'))
  const written = await write(before, status, { causes: [ALPHA, BETA] })
  await write(before, () => Promise.resolve(stored(before, '9')), { causes: [ALPHA, BETA] })
  expect(extractFromObject(written)?.cpid).toBe(cpid(100))
  expect(extractFromObject(stored(before, '7'))).toEqual(GAMMA)
  expect(sdk.spans()[0]?.attributes['cpid.wrote']).toEqual(['apps/v1/deployments/default/web?uid=u1&rv=8'])
})

test('a deletion has a change of its own from its beginning, also on the last that is told of the object', async () => {
  await using sdk = startSdk()
  const { beginDeletion, accepted, extractFromObject, injectIntoObject } = instrumentation()
  const object = injectIntoObject(ALPHA, WEB)
  const root = beginDeletion(object, { reason: 'no longer needed' })
  expect(extractFromObject(stored(object, '12'))).toBe(root)
  expect(told(sdk)).toEqual([])
  accepted(root)
  expect(told(sdk)).toMatchObject([{ new: root.cpid, of: [] }])
  const other = { ...object, metadata: { ...object.metadata, uid: 'u2', name: 'shop' } }
  accepted(beginDeletion(other, { causes: [BETA] }))
  expect(told(sdk)[1]).toMatchObject({ of: [cpid(2), cpid(1)], object: expect.stringContaining('shop') })
})

test('the type of a list serves for its items', async () => {
  await using sdk = startSdk()
  const { observed, newRoot } = instrumentation()
  const list = { apiVersion: 'v1', kind: 'PodList', items: [{ metadata: { name: 'a' } }] }
  trace.getTracer('test').startActiveSpan('reconcile', (span) => {
    observed(list.items, { apiVersion: 'v1' })
    observed(list.items, { apiVersion: 'v1' })
    observed(list.items, list)
    newRoot({ object: list.items[0], type: list })
    span.end()
  })
  expect(sdk.spans()[0]?.attributes['cpid.observed']).toEqual(['v1/pods/a'])
  expect(told(sdk)[0]?.object).toBe('v1/pods/a')
})

test('parts of objects, as merge patches are, can be marked', () => {
  const { injectIntoObject } = instrumentation()
  const settings: { data: Record<string, string>; metadata?: { annotations?: Record<string, string> } } =
    injectIntoObject(ALPHA, { data: { image: 'web:2' } })
  expect(settings.metadata?.annotations?.['causeway.io/cpid']).toBe(cpid(1))
  expect(injectIntoObject(ALPHA, { spec: { replicas: 2 } }).spec.replicas).toBe(2)
  expect(injectIntoObject(undefined, { spec: {} })).toEqual({ spec: {} })
})

test('what is passed over is told once in a process', async () => {
  const program = fileURLToPath(new URL('support/passed-over-twice.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', program])
  const lines = stdout.trimEnd().split('\n')
  expect(lines.toSorted()).toEqual([
    expect.stringContaining('came back from a write without the CPID'),
    expect.stringContaining('an object without kind is not noted'),
  ])
})
