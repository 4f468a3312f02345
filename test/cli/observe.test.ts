import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import { logForPeople, SettledCascades } from '../../src/cli/observe-command.ts'
import type { K8sObjectsSettings } from '../../src/receiver/k8s-objects/k8s-objects-receiver.ts'
import { answerStatus, TestApiServer } from '../cluster/support/test-api-server.ts'
import { Cli } from './cli.ts'

function writeKubeconfig(cli: Cli, server: string): string {
  const path = join(dirname(cli.config), 'kubeconfig')
  const clusters = [{ name: 'c', cluster: { server } }]
  const contexts = ['one', 'two'].map((name) => ({ name, context: { cluster: 'c', user: '' } }))
  writeFileSync(path, JSON.stringify({ 'current-context': 'one', clusters, contexts }))
  return path
}

test('it is a configuration by itself, in a database that is gone afterwards', async () => {
  using cli = new Cli()
  await using api = await TestApiServer.start()
  const kubeconfig = writeKubeconfig(cli, api.url)
  const ran = await cli.runBare('observe', '--kubeconfig', kubeconfig, '--context=two', '--namespace=a,b')
  expect(ran).toEqual({
    code: 42,
    stderr: '',
    stdout: `k8s_objects reaches the cluster two at ${api.url}\nk8s_objects may list and watch all 2 resources\n`,
  })
  const [config] = cli.runs
  expect(config?.receivers[0]?.settings as K8sObjectsSettings).toMatchObject({
    ...{ cluster: 'two', authType: 'kubeConfig', kubeconfig, context: 'two', namespaces: ['a', 'b'] },
  })
  expect(existsSync(dirname(config?.cpid.storage.path ?? '/'))).toBe(false)
  const kept = await cli.runBare('observe', '--kubeconfig', kubeconfig, '--database', cli.path)
  expect([kept.code, cli.runs[1]?.cpid.storage.path]).toEqual([42, cli.path])
})

test('where the port is taken, the option is named with which it starts', async () => {
  using cli = new Cli()
  await using api = await TestApiServer.start()
  const kubeconfig = writeKubeconfig(cli, api.url)
  const at = `--set=extensions.cpid_query.endpoint=127.0.0.1:${new URL(api.url).port}`
  cli.whenRun = async ({ extensions }) => {
    const [at] = extensions.flatMap(({ listeners }) => listeners)
    const server = createServer().listen(at)
    await once(server, 'listening')
    server.close()
    return 42
  }
  const refused = await cli.runBare('observe', '--kubeconfig', kubeconfig, at)
  expect(refused.code).toBe(1)
  const [, set = '', option = ''] = /add (--set) (\S+)\n/.exec(refused.stderr) ?? []
  expect(await cli.runBare('observe', '--kubeconfig', kubeconfig, at, set, option)).toMatchObject({
    code: 42,
  })
})

test('what may not be seen is said first; where nothing may, or nothing answers, it does not start', async () => {
  using cli = new Cli()
  const api = await TestApiServer.start()
  api.served = ['a', 'b'].map((resource) => ({ group: 'x.io', version: 'v1', resource, kind: 'K' }))
  let forbidden = '/apis/x.io/v1/a'
  api.instead.push(({ url = '' }, response) => {
    if (!url.startsWith(forbidden)) return false
    answerStatus(response, 403, 'Forbidden')
    return true
  })
  const kubeconfig = writeKubeconfig(cli, api.url)
  const observe = () => cli.runBare('observe', '--kubeconfig', kubeconfig)
  expect((await observe()).stdout).toContain(
    'may not list and watch 1 of 2 resources: x.io/v1/a\n  add to the rules of its ClusterRole: - { apiGroups: ["x.io"], resources: [a], verbs: [list, watch] }\n',
  )
  forbidden = '/apis/x.io/'
  expect(await observe()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('x.io/v1/a, x.io/v1/b; add'),
  })
  await api[Symbol.asyncDispose]()
  expect(await observe()).toMatchObject({ code: 1, stderr: expect.stringContaining('start the API server') })
  expect(await cli.runBare('observe', '--kubeconfig', '/nowhere')).toMatchObject({
    code: 1,
    stderr: 'Error: there is no kubeconfig at /nowhere; name one (--kubeconfig, KUBECONFIG)\n',
  })
  expect(await cli.run('observe')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('observe takes no --config; leave it out (it takes --set, '),
  })
  expect(cli.runs).toHaveLength(1)
})

test('a cascade is told once it was open and has settled, and not one that was settled before', async () => {
  const outline = (root: string, state: string): object => ({ root, state, spans: 1, durationMs: 1 })
  let cascades = [outline('a', 'open'), outline('b', 'open')]
  let settled = ''
  const server = createServer(({ url = '' }, response) => {
    const [, root = ''] = /cascades\/(.+)$/.exec(url) ?? []
    const timePerService = [{ service: 's' }]
    const one = { ...outline(root, root === settled ? 'settled' : 'open'), timePerService }
    response.end(JSON.stringify(root === '' ? { cascades } : one))
  })
  const { promise, resolve } = Promise.withResolvers<undefined>()
  server.listen(0, '127.0.0.1', () => resolve(undefined))
  await promise
  const watched = new SettledCascades(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  expect(await watched.look()).toEqual([])
  cascades = []
  settled = 'a'
  expect(await watched.look()).toMatchObject([{ root: 'a', services: ['s'] }])
  settled = 'b'
  expect(await watched.look()).toMatchObject([{ root: 'b' }])
  expect(await watched.look()).toEqual([])
  server.close()
  server.closeAllConnections()
})

test('of the log is shown what somebody should see to', () => {
  const shown: string[] = []
  const write = logForPeople({
    listed: (resources, refused) => shown.push(`listed ${resources}, not ${refused}`),
    complaint: (text) => shown.push(text),
  })
  write('{"level":"info","msg":"Starting"}')
  write('{"level":"info","msg":"Everything is listed","resources":"7"}')
  write('{"level":"info","msg":"Everything is listed","resources":"7","refused":"2"}')
  write('{"level":"warn","msg":"Look","reason":"at\\nthis"}')
  write('{"level":"warn","msg":"Something needs to be looked at.","reason":"the roof"}')
  expect(shown).toEqual(['listed 7, not 0', 'listed 7, not 2', 'Look at�this', 'the roof'])
})

test('a file that names no context is told', async () => {
  using cli = new Cli()
  const path = join(dirname(cli.config), 'no-kubeconfig')
  writeFileSync(path, 'replicas: 1\n')
  expect(await cli.runBare('observe', '--kubeconfig', path)).toMatchObject({
    stderr: `Error: the kubeconfig ${path} names no context; name a kubeconfig that does (--kubeconfig, KUBECONFIG)\n`,
  })
})
