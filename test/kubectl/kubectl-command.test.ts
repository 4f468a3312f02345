import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { freePorts } from '../../lab/harness/free-ports.ts'
import {
  type Asked,
  CREATE,
  DEPLOYMENTS,
  KubectlScene,
  type Seen,
  type Step,
} from './support/kubectl-scene.ts'

const WEB = `${DEPLOYMENTS}/web`
const MERGE = 'application/merge-patch+json'
const SCALE: Step = { method: 'PATCH', path: `${WEB}/scale`, type: MERGE, body: { spec: { replicas: 3 } } }
const CPID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
const ANNOTATIONS = {
  'causeway.io/cpid': CPID,
  'causeway.io/ancestor-cpids': '',
  'tracing.k8s.io/traceparent': expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
}

const short = ({ method, path }: Asked): string => `${method} ${path}`

test('what kubectl writes carries one change, of which Causeway is told', async () => {
  await using scene = await KubectlScene.open()
  const { args, mode, answers } = await scene.run(
    [CREATE, { method: 'GET', path: WEB }],
    [...['apply', '--context', 'test', '-f', 'web.yaml', '--token=hidden']],
  )
  expect(args).toEqual(['apply', '-f', 'web.yaml'])
  expect(mode).toBe(0o600)
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(scene.asked).toMatchObject([
    {
      path: `/k8s${DEPLOYMENTS}`,
      headers: {
        authorization: 'Bearer hidden',
        'user-agent': 'kubectl/v1.36.3',
        traceparent: expect.any(String),
      },
      body: { spec: { replicas: 2 }, metadata: { annotations: ANNOTATIONS } },
    },
    { path: `/k8s${WEB}`, headers: { authorization: 'Bearer hidden' }, body: undefined },
  ])
  expect(scene.left).toEqual([])
  expect(scene.told.map(({ path }) => path).sort()).toEqual(['/v1/logs', '/v1/traces'])
  const [mergelog = '', span = ''] = scene.told
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .map(({ content }) => content)
  const { body } = scene.asked[0] as { body: { metadata: { annotations: Record<string, string> } } }
  const cpid = body.metadata.annotations['causeway.io/cpid'] ?? ''
  for (const content of [mergelog, span]) {
    expect(content).toContain(`{"key":"cpid.new","value":{"stringValue":"${cpid}"}}`)
    expect(content).toContain('{"key":"cpid.reason","value":{"stringValue":"a test"}}')
    expect(content).toContain('{"key":"k8s.cluster.name","value":{"stringValue":"test"}}')
  }
  expect(span).toContain('"name":"kubectl apply"')
  expect(span).toContain('"apps/v1/deployments/shop/web?uid=u1&rv=1"')
  expect(span).not.toContain('hidden')
})

test('an object is given the change before what has no place for it', async () => {
  await using scene = await KubectlScene.open()
  await scene.run([SCALE, { method: 'DELETE', path: WEB }])
  const patch = `PATCH /k8s${WEB}?fieldManager=kubectl-causeway`
  expect(scene.asked.map(short)).toEqual([patch, `PATCH /k8s${WEB}/scale`, patch, `DELETE /k8s${WEB}`])
  expect(scene.asked[0]?.body).toEqual({ metadata: { annotations: ANNOTATIONS } })
  expect(scene.asked[1]?.body).toEqual(SCALE.body)
})

test('what is for a certain version alone is for the one that was made by giving it the change', async () => {
  await using scene = await KubectlScene.open()
  const body = { metadata: { name: 'web', resourceVersion: '40' }, spec: { replicas: 3 } }
  await scene.run([{ method: 'PUT', path: `${WEB}/scale`, type: 'application/json', body }])
  expect(scene.asked[0]?.body).toEqual({ metadata: { annotations: ANNOTATIONS, resourceVersion: '40' } })
  expect(scene.asked[1]?.body).toEqual({ ...body, metadata: { name: 'web', resourceVersion: '1' } })
})

test('an object that may not be given the change is scaled all the same', async () => {
  await using scene = await KubectlScene.open(({ path }) =>
    path.includes('fieldManager') ? { status: 403, body: { kind: 'Status' } } : undefined,
  )
  const { answers } = await scene.run([SCALE])
  expect(answers).toMatchObject([{ status: 200 }])
  expect(scene.told.find(({ path }) => path === '/v1/traces')?.content).toContain('shop/web?uid=u1&rv=3"')
})

for (const [what, status, told] of [
  ['is claimed by no span', 200, undefined],
  ['is not named where the version before may not be read', 403, 'shop/web?uid=u1"'],
] as const)
  test(`a version of another that a write without the change is answered, as it changes nothing, ${what}`, async () => {
    const version = { metadata: { name: 'web', uid: 'u1', resourceVersion: '40' } }
    await using scene = await KubectlScene.open(({ method, path }) =>
      path.includes('fieldManager')
        ? { status: 403, body: { kind: 'Status' } }
        : { status: method === 'GET' ? status : 200, body: version },
    )
    const { answers } = await scene.run([SCALE])
    expect(answers).toMatchObject([{ status: 200, body: version }])
    const span = scene.told.find(({ path }) => path === '/v1/traces')?.content
    if (told === undefined) expect(span).toBeUndefined()
    else expect(span).toContain(told)
  })

test('what is refused for its annotations is written without', async () => {
  await using scene = await KubectlScene.open(({ body }) =>
    JSON.stringify(body).includes('causeway.io')
      ? { status: 422, body: { message: 'no causeway.io/cpid' } }
      : undefined,
  )
  const { answers } = await scene.run([CREATE])
  expect(answers).toMatchObject([{ status: 200 }])
  expect(scene.asked.map(({ body }) => body)).toMatchObject([{ metadata: {} }, CREATE.body])
})

const APPLY: Step = { method: 'PATCH', path: WEB, type: 'application/apply-patch+yaml', body: { spec: {} } }

test('what the server applies to an object that is there comes after the patch of it', async () => {
  await using scene = await KubectlScene.open()
  await scene.run([APPLY])
  expect(scene.asked.map(({ body }) => body)).toEqual([
    { metadata: { annotations: ANNOTATIONS } },
    APPLY.body,
  ])
})

test('what the server makes of what is applied carries the change', async () => {
  await using scene = await KubectlScene.open((_, at) => (at === 1 ? { status: 404, body: {} } : undefined))
  await scene.run([APPLY])
  expect(scene.asked[1]?.body).toEqual({ spec: {}, metadata: { annotations: ANNOTATIONS } })
})

test('nothing is told of what was refused, or only tried', async () => {
  await using scene = await KubectlScene.open((_, at) => (at === 1 ? { status: 403, body: {} } : undefined))
  const dry = { ...CREATE, path: `${DEPLOYMENTS}?dryRun=All` }
  const { answers } = await scene.run([CREATE, dry])
  expect(answers).toMatchObject([{ status: 403 }, { status: 200 }])
  expect(scene.asked[1]?.body).toEqual(CREATE.body)
  expect(scene.told).toEqual([])
})

test('a deletion that is only tried is let through as it is', async () => {
  await using scene = await KubectlScene.open()
  const body = { propagationPolicy: 'Background', dryRun: ['All'] }
  await scene.run([{ method: 'DELETE', path: WEB, type: 'application/json', body }])
  expect(scene.asked).toMatchObject([{ method: 'DELETE', body }])
  expect(scene.told).toEqual([])
})

test('connections of kubectl are kept for as long as it likes, lest a write find them closed', async () => {
  await using scene = await KubectlScene.open()
  const { answers } = await scene.run([{ method: 'GET', path: WEB }, CREATE])
  expect(answers.map(({ keepAlive }) => keepAlive)).toEqual([undefined, undefined])
})

test('where there is no place for a kubeconfig, kubectl is asked to do it', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.start(['--', 'apply', '--context', 'test'], [], { TMPDIR: '/dev/null' })
  // The stand-in finds no proxy in the kubeconfig that it was left.
  await program.ending()
  expect(program.errors).toMatch(/^causeway: this change is not reported to Causeway: ENOTDIR/)
  expect(program.errors).toMatch(/SyntaxError|TypeError/)
})

test('what a program that kubectl runs is given is not about kubectl', async () => {
  await using scene = await KubectlScene.open()
  const { args } = await scene.run([CREATE], ['run', 'web', '--image=a', '--', 'sh', '-it'])
  expect(args).toEqual(['run', 'web', '--image=a', '--', 'sh', '-it'])
  expect(scene.told).not.toEqual([])
})

test('where a signal ends kubectl that does not end this, the exit code is that of shells', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.start(['--endpoint', scene.endpoint, '--', 'apply'], [], { DIES: 'PIPE' })
  expect(await program.ending()).toEqual({ code: 141, signal: null })
})

test('nobody gets through without the token', async () => {
  await using scene = await KubectlScene.open()
  const { answers } = await scene.run([{ ...CREATE, token: 'guessed' }])
  expect(answers).toEqual([{ status: 407, body: '' }])
  expect(scene.asked).toEqual([])
})

test('kubectl is whom the kubeconfig says, unless it asks to be somebody else', async () => {
  await using scene = await KubectlScene.open()
  const step = { method: 'GET', path: WEB }
  const asCarol = { ...step, headers: { 'impersonate-user': 'carol' } }
  await scene.run([step, asCarol], ['rollout', 'status', '--user', 'deputy'])
  const shown = scene.asked.map(({ headers }) => [headers['impersonate-user'], headers['impersonate-group']])
  expect(shown).toEqual([
    ['bob', 'testers'],
    ['carol', undefined],
  ])
})

test('who only reads speaks with the API server as ever', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.start(['--', 'get', 'pods', '--context', 'test'], [])
  // The stand-in finds no proxy there.
  await program.ending()
  expect(program.errors).toMatch(/SyntaxError|TypeError/)
  expect(scene.asked).toEqual([])
})

test('without a Causeway kubectl does its work, ends as it ends, and one line says that nobody was told', async () => {
  await using scene = await KubectlScene.open()
  const [nobody = 0] = await freePorts(1)
  const args = ['--endpoint', `http://127.0.0.1:${nobody}`, '--', 'apply']
  await using program = scene.start(args, [CREATE], { ENDS: '3' })
  expect(await program.ending()).toEqual({ code: 3, signal: null })
  const [first, second, ...more] = program.errors.split('\n')
  expect(first).toBe('a word of kubectl')
  expect(second).toMatch(
    /^causeway: change [0-9a-f-]{36} was made, but not reported to Causeway: .*; see that Causeway takes OTLP over HTTP at /,
  )
  expect(more).toEqual([''])
})

test('where it is not known which cluster kubectl means, kubectl is asked to do it', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.start(['--', 'apply', '--context', 'other'], [])
  await program.ending()
  expect(program.errors).toMatch(
    /^causeway: this change is not reported to Causeway: .* has no "other" among its contexts; there are test$/m,
  )
})

test('a signal is handed on, and how kubectl ends then is how this ends', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.start(['--endpoint', scene.endpoint, '--', 'apply'], [CREATE], { STAYS: 'yes' })
  const { config } = await eventually(() => JSON.parse(program.printed) as Seen)
  expect(config.startsWith(scene.directory)).toBe(true)
  expect(await program.end('SIGTERM')).toEqual({ code: 7, signal: null })
  expect(scene.left).toEqual([])
  expect(scene.told.map(({ path }) => path).sort()).toEqual(['/v1/logs', '/v1/traces'])
})

test('nothing of fetch is loaded, which takes longer than HTTP', async () => {
  await using scene = await KubectlScene.open()
  const loaded = join(scene.directory, 'loaded')
  const hook = `
    if (process.argv[1]?.endsWith('causeway.js')) process.on('exit', () =>
      process.getBuiltinModule('fs').writeFileSync(process.env.LOADED, process.moduleLoadList.join('\\n')))`
  await using program = scene.start(['--endpoint', scene.endpoint, '--', 'apply'], [CREATE], {
    LOADED: loaded,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}`,
  })
  await program.output()
  expect(scene.told).toHaveLength(2)
  const modules = readFileSync(loaded, 'utf8')
  expect(modules).toMatch(/^NativeModule https$/m)
  expect(modules).not.toContain('undici')
})

test('an endpoint that is none is said before anything is done', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.start(['--endpoint', 'localhost:4317', '--', 'apply'], [CREATE])
  expect(await program.ending()).toEqual({ code: 1, signal: null })
  expect(program.errors).toMatch(
    /^Error: the endpoint "localhost:4317" is no URL; write one of OTLP over HTTP, such as /,
  )
  expect(scene.asked).toEqual([])
})

const FIRST_CPID = '11111111-1111-4111-8111-111111111111'
const READ: Step = { method: 'GET', path: WEB }
const IMAGE: Step = { method: 'PATCH', path: WEB, type: MERGE, body: { spec: { paused: true } } }

/** An object as the API server has it: with the CPID of whoever wrote it last, and how far its controller is. */
const there = (observedGeneration: number): object => ({
  metadata: {
    ...{ name: 'web', uid: 'u1', resourceVersion: '40', generation: 2 },
    annotations: { 'causeway.io/cpid': FIRST_CPID },
  },
  status: { observedGeneration },
})

test('what is written over a change that no controller has acted on is a merge of both', async () => {
  await using scene = await KubectlScene.open(({ method }) =>
    method === 'GET' ? { status: 200, body: there(1) } : undefined,
  )
  await scene.run([READ, IMAGE, SCALE, CREATE])
  const carried = scene.asked.flatMap(({ body }) => {
    const { metadata } = (body ?? {}) as { metadata?: { annotations?: Record<string, string> } }
    return metadata?.annotations === undefined ? [] : [metadata.annotations]
  })
  const [merged, again, own] = carried.map((annotations) => annotations['causeway.io/cpid'] ?? '')
  expect(again).toBe(merged)
  expect(own).not.toBe(merged)
  expect(carried.map((annotations) => annotations['causeway.io/ancestor-cpids'])).toEqual([
    ...[`${FIRST_CPID},${own}`, `${FIRST_CPID},${own}`, ''],
  ])
  const span = scene.told.find(({ path }) => path === '/v1/traces')?.content ?? ''
  const sources = [FIRST_CPID, own].map((source) => `{"stringValue":"${source}"}`).join(',')
  expect(span).toContain(
    `{"key":"cpid.new","value":{"stringValue":"${merged}"}},{"key":"cpid.sources","value":{"arrayValue":{"values":[${sources}]}}}`,
  )
  expect(span).toContain(`{"key":"cpid.id","value":{"stringValue":"${own}"}}`)
})

test.each([
  ['acted on', there(2)],
  ['of no change', { metadata: { name: 'web', generation: 2 }, status: { observedGeneration: 1 } }],
  ['never observed', { metadata: { name: 'web', annotations: { 'causeway.io/cpid': FIRST_CPID } } }],
])('what is written over an object that is %s is its own change', async (_, object) => {
  await using scene = await KubectlScene.open(({ method }) =>
    method === 'GET' ? { status: 200, body: object } : undefined,
  )
  await scene.run([READ, IMAGE])
  expect(scene.asked[1]?.body).toMatchObject({ metadata: { annotations: ANNOTATIONS } })
})
