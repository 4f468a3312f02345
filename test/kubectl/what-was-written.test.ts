import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import { chosenAccess } from '../../packages/kubectl/chosen-access.ts'
import { noteWrote, type KubectlChange } from '../../packages/kubectl/kubectl-change.ts'
import { KubectlScene, type Step } from './support/kubectl-scene.ts'

const DEPLOYMENTS = '/apis/apps/v1/namespaces/shop/deployments'
const CREATE: Step = { method: 'POST', path: DEPLOYMENTS, type: 'application/json', body: { spec: {} } }
const APPLY: Step = {
  method: 'PATCH',
  path: `${DEPLOYMENTS}/web`,
  type: 'application/apply-patch+yaml',
  body: { spec: {} },
}

test('what was accepted is written once, though the answer names the annotations; one version is told once', async () => {
  const metadata = { uid: 'u1', name: 'web', resourceVersion: '5', annotations: { 'causeway.io/cpid': 'x' } }
  await using scene = await KubectlScene.open(() => ({ status: 200, body: { metadata } }))
  await scene.run([CREATE, CREATE])
  expect(scene.asked).toHaveLength(2)
  const span = scene.told.find(({ path }) => path === '/v1/traces')?.content ?? ''
  const wrote = /"key":"cpid.wrote","value":\{"arrayValue":\{"values":(\[.*?\])/.exec(span)?.[1] ?? ''
  expect(JSON.parse(wrote)).toEqual([{ stringValue: 'apps/v1/deployments/shop/web?uid=u1&rv=5' }])
})

test('what the server applies to an object that may not be patched is applied as it is', async () => {
  await using scene = await KubectlScene.open((_, at) => (at === 1 ? { status: 403, body: {} } : undefined))
  await scene.run([APPLY])
  expect(scene.asked.at(-1)?.body).toEqual(APPLY.body)
})

test('a Causeway that refuses is said to have been told nothing; the kubeconfig is gone by then', async () => {
  await using scene = await KubectlScene.open()
  const left: string[] = []
  await using refusing = await startHttpBackend((response, { url }) => {
    if (url === '/v1/traces') left.push(...scene.left)
    response.writeHead(503).end()
  })
  const endpoint = `http://127.0.0.1:${refusing.port}`
  await using program = scene.start(['--endpoint', endpoint, '--', 'apply', '--context', 'test'], [CREATE])
  await program.ending()
  expect(program.errors).toContain('was made, but not reported to Causeway: it answers 503 to /v1/traces')
  expect(left).toEqual([])
})

test.each([
  [
    { rejectedSpans: '1', errorMessage: 'nobody may send spans\u001b[2J of cluster "test"' },
    'nobody may send spans\ufffd[2J',
  ],
  [{ rejectedSpans: '0', errorMessage: 'the mergelog is refused' }, 'the mergelog is refused'],
  [{ rejectedSpans: '1' }, 'it does not say why'],
])(
  'a Causeway that does not take all of it is said to have been told nothing: %j',
  async (partialSuccess, why) => {
    await using scene = await KubectlScene.open()
    await using partly = await startHttpBackend((response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ partialSuccess }))
    })
    const endpoint = `http://127.0.0.1:${partly.port}`
    await using program = scene.start(['--endpoint', endpoint, '--', 'apply'], [CREATE])
    expect(await program.ending()).toEqual({ code: 0, signal: null })
    expect(program.errors).toContain(`but not reported to Causeway: it did not take all of it: ${why}`)
    expect(program.errors).not.toContain('see that Causeway takes OTLP')
  },
)

test('the cluster of the environment is read as SDKs read it', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.start(['--endpoint', scene.endpoint, '--', 'apply'], [CREATE], {
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=a, k8s.cluster.name = of%20all%2Fthree ,b=c',
  })
  await program.output()
  const span = scene.told.find(({ path }) => path === '/v1/traces')?.content ?? ''
  expect(span).toContain('{"key":"k8s.cluster.name","value":{"stringValue":"of all/three"}}')
})

test('a change names so many writes and no more', () => {
  const change: Pick<KubectlChange, 'wrote' | 'written' | 'writes'> = {
    wrote: [],
    written: new Set(),
    writes: 0,
  }
  for (let number = 0; number < 5_000; number++) noteWrote(change as KubectlChange, `v1/pods/a/${number}`)
  expect(change.wrote).toHaveLength(4_096)
  expect(change.written.size).toBe(4_096)
  expect(change.writes).toBe(5_000)
})

test.each([
  ['--server', 'https://10.9.8.7:6443'],
  ['--token', 'of-another'],
  ['--context', 'production'],
  ['--cluster', 'production'],
  ['--user', 'alice'],
])(
  'in a pod without a kubeconfig %s is no word for the cluster and the account of the pod',
  async (name, value) => {
    await using scene = await KubectlScene.open()
    const inPod = {
      ...{ KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' },
      KUBECONFIG: join(scene.directory, 'none'),
    }
    await using program = scene.start(['--', 'apply', name, value], [CREATE], inPod)
    // The stand-in is run as it was typed, and finds no kubeconfig either.
    await program.ending()
    expect(program.errors).toMatch(
      /^causeway: this change is not reported to Causeway: there is no kubeconfig at /,
    )
    if (name !== '--context') return
    await using chosen = scene.startCommand(['run', name, value, '--', 'kubectl', 'apply'], [CREATE], inPod)
    await chosen.ending()
    expect(chosen.errors).toMatch(/nothing was run: there is no kubeconfig at /)
  },
)

test('a kubeconfig that is named counts in a pod too', () => {
  const directory = mkdtempSync(join(tmpdir(), 'causeway-chosen-'))
  try {
    const kubeconfig = join(directory, 'config')
    const cluster = { server: 'http://127.0.0.1:1' }
    const content = {
      'current-context': 'named',
      clusters: [{ name: 'c', cluster }],
      contexts: [{ name: 'named', context: { cluster: 'c' } }],
    }
    writeFileSync(kubeconfig, JSON.stringify(content))
    const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBECONFIG: join(directory, 'none') }
    expect(chosenAccess({ kubeconfig }, env).name).toBe('named')
    for (const said of ['1', 't', 'True'])
      expect(chosenAccess({ kubeconfig, 'insecure-skip-tls-verify': said }, env).tls.rejectUnauthorized).toBe(
        false,
      )
    expect(chosenAccess({ kubeconfig, 'insecure-skip-tls-verify': 'false' }, env).tls).toEqual({})
  } finally {
    rmSync(directory, { recursive: true })
  }
})
