import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { localCertificate } from '../../packages/kubectl/local-certificate.ts'
import { BIN } from '../../lab/harness/causeway/causeway-process.ts'
import { freePorts } from '../../lab/harness/free-ports.ts'
import { RunningProgram } from '../../lab/harness/processes/running-program.ts'
import { CREATE, DEPLOYMENTS, KubectlScene, type Seen, type Step } from './support/kubectl-scene.ts'

/** What a program that is run by `causeway run` does: a script for Node, behind what it needs to speak with the API server. */
function scriptOf(scene: KubectlScene, body: string): string {
  const path = join(scene.directory, 'deploy.cjs')
  writeFileSync(
    path,
    `
const { readFileSync } = require('node:fs')
const http = require('node:https')
const config = JSON.parse(readFileSync(process.env.KUBECONFIG, 'utf8'))
const { server, 'certificate-authority-data': authority } = config.clusters[0].cluster
const ca = Buffer.from(authority, 'base64')
http.globalAgent.options.ca = ca
${body}
`,
  )
  return path
}

interface Told {
  readonly spans: number
  readonly content: string
}

function toldBy(scene: KubectlScene): Told {
  const spans = scene.told.filter(({ path }) => path === '/v1/traces')
  return { spans: spans.length, content: spans.map(({ content }) => content).join('\n') }
}

const options = (scene: KubectlScene): string[] => ['--endpoint', scene.endpoint, '--reason', 'a test']

test('what any program writes is one change, told under its name, and its arguments are hidden', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.startCommand(
    ['run', ...options(scene), '--', 'kubectl', 'upgrade', 'shop', '--set', 'password=hunter2', '--atomic'],
    [CREATE, { ...CREATE, path: `${DEPLOYMENTS}s` }],
  )
  const { args, mode } = JSON.parse(await program.output()) as Seen
  expect(args).toEqual(['upgrade', 'shop', '--set', 'password=hunter2', '--atomic'])
  expect(mode).toBe(0o600)
  const cpids = scene.asked.map(
    ({ body }) =>
      (body as { metadata: { annotations: Record<string, string> } }).metadata.annotations[
        'causeway.io/cpid'
      ],
  )
  expect(new Set(cpids).size).toBe(1)
  const { spans, content } = toldBy(scene)
  expect(spans).toBe(1)
  expect(content).toContain('"name":"kubectl upgrade"')
  expect(content).toContain('{"key":"cpid.reason","value":{"stringValue":"a test"}}')
  const shown = ['kubectl', 'upgrade', '***', '--set', '***', '--atomic']
  expect(content).toContain(JSON.stringify({ values: shown.map((stringValue) => ({ stringValue })) }))
  expect(content).not.toContain('hunter2')
  expect(scene.left).toEqual([])
})

test('the reason is the command unless one is given, and the exit code is handed on', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.startCommand(
    ['run', '--endpoint', scene.endpoint, '--', 'kubectl', 'install'],
    [CREATE],
    { ENDS: '3' },
  )
  const { code } = await program.ending()
  expect(code).toBe(3)
  expect(toldBy(scene).content).toContain('{"key":"cpid.reason","value":{"stringValue":"kubectl install"}}')
  expect(toldBy(scene).content).toContain('exit code 3')
})

test('who does not show the token of the kubeconfig is refused', async () => {
  await using scene = await KubectlScene.open()
  const script = scriptOf(
    scene,
    `
const ask = (at) => new Promise((resolve) => http.request(at + '/api/v1/namespaces',
  (answer) => resolve(answer.resume().statusCode)).end())
const { origin, pathname } = new URL(server)
Promise.all([ask(origin), ask(origin + '/wrong' + pathname), ask(server)]).then((codes) => console.log(JSON.stringify(codes)))
`,
  )
  await using program = scene.startCommand(['run', ...options(scene), '--', process.execPath, script], [])
  expect(JSON.parse(await program.output())).toEqual([407, 407, 200])
  expect(scene.asked.map(({ headers }) => headers['authorization'])).toEqual(['Bearer secret'])
})

test('an object that is written again says so, and is given it again before a deletion', async () => {
  await using scene = await KubectlScene.open(({ method, path }, at) => ({
    status: method === 'POST' ? 201 : 200,
    body: {
      metadata: { name: path.includes('other') ? 'other' : 'web', uid: 'u1', resourceVersion: String(at) },
    },
  }))
  const web = `${DEPLOYMENTS}/web`
  const put: Step = {
    method: 'PUT',
    path: web,
    type: 'application/json',
    body: { metadata: { name: 'web' } },
  }
  await using program = scene.startCommand(
    ['run', ...options(scene), '--', 'kubectl', 'install'],
    [CREATE, put, { ...put, path: `${DEPLOYMENTS}/other` }, { method: 'DELETE', path: web }],
  )
  await program.output()
  const said = scene.asked.map(({ method, body }) => {
    const { metadata } = (body ?? {}) as { metadata?: { annotations: Record<string, string> } }
    return [method, metadata?.annotations['causeway.io/write']?.replace(/^[0-9a-f]{16} /, '')]
  })
  expect(said).toEqual([
    ['POST', undefined],
    ['PUT', '1'],
    ['PUT', undefined],
    ['PATCH', '2'],
    ['DELETE', undefined],
  ])
})

test('forwarded ports and terminals go through', async () => {
  const asked: IncomingMessage[] = []
  const api = createServer().on('upgrade', (request, socket) => {
    asked.push(request)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello ')
    socket.pipe(socket)
  })
  api.on('request', (_, response) => response.writeHead(403).end('no'))
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
  await using scene = await KubectlScene.open()
  writeFileSync(
    join(scene.directory, 'config'),
    `current-context: test
clusters: [{ name: c, cluster: { server: 'http://127.0.0.1:${(api.address() as AddressInfo).port}' } }]
users: [{ name: alice, user: { token: secret } }]
contexts: [{ name: test, context: { cluster: c, user: alice } }]
`,
  )
  const script = scriptOf(
    scene,
    `
const upgrade = { connection: 'Upgrade', upgrade: 'echo' }
const path = '/api/v1/namespaces/shop/pods/web/portforward'
const talk = (socket, head) => new Promise((resolve) => {
  let heard = head.toString()
  socket.on('data', (part) => { heard += part; if (heard.endsWith('Causeway')) socket.end() }).on('close', () => resolve(heard))
  socket.write('Causeway')
})
const ask = (method, at = server) => new Promise((resolve) => http.request(at + path, { method, headers: upgrade },
  (answer) => resolve(String(answer.statusCode))).on('upgrade', (_, socket, head) => resolve(talk(socket, head))).end())
const go = async () => console.log(JSON.stringify([await ask('GET'), await ask('POST'), await ask('GET', new URL(server).origin)]))
go()
`,
  )
  try {
    await using program = scene.startCommand(['run', ...options(scene), '--', process.execPath, script], [])
    expect(JSON.parse(await program.output())).toEqual(['hello Causeway', 'hello Causeway', '407'])
    expect(asked.map(({ method, url, headers: { authorization } }) => [method, url, authorization])).toEqual(
      ['GET', 'POST'].map((method) => [
        method,
        '/api/v1/namespaces/shop/pods/web/portforward',
        'Bearer secret',
      ]),
    )
  } finally {
    api.closeAllConnections()
    api.close()
  }
})

test.each([
  ['', '127.0.0.1'],
  ['.shop.example,10.0.0.0/8', '.shop.example,10.0.0.0/8,127.0.0.1'],
  ['*', '*'],
])(
  'a program that asks a proxy of the environment, but for "%s", asks this machine itself',
  async (own, given) => {
    await using scene = await KubectlScene.open()
    const script = scriptOf(
      scene,
      `${GET}
console.log(process.env.no_proxy)
get({ ...require('node:url').urlToHttpOptions(new URL(server + '/api/v1/namespaces')), agent: new http.Agent({ ca, proxyEnv: process.env }) })
`,
    )
    const [nobody = 0] = await freePorts(1)
    await using program = scene.startCommand(['run', ...options(scene), '--', process.execPath, script], [], {
      ...{ HTTP_PROXY: `http://127.0.0.1:${nobody}`, http_proxy: '', HTTPS_PROXY: '', https_proxy: '' },
      ...{ NO_PROXY: own, no_proxy: '' },
    })
    expect(await program.output()).toBe(`${given}\n200\n`)
  },
)

test('a program that uses another kubeconfig does its work, and a line says that it was not told', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.startCommand(
    ['run', ...options(scene), '--', process.execPath, '-e', 'console.log("done")'],
    [],
  )
  await program.ending()
  expect(program.printed).toBe('done\n')
  expect(program.errors).toContain('did not use the kubeconfig in KUBECONFIG and KUBE_CONFIG_PATH')
  expect(scene.told).toEqual([])
})

test('a program that fails before it asks the API server is told as that, and no kubeconfig is blamed', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.startCommand(
    ['run', ...options(scene), '--', process.execPath, '-e', 'process.exit(3)'],
    [],
  )
  await program.ending()
  expect(program.errors).toContain('ended with code 3 before it asked the API server')
  expect(program.errors).not.toContain('did not use the kubeconfig')
})

test('a token that the program has of its own counts, and not that of the kubeconfig', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.startCommand(
    ['run', ...options(scene), '--', 'kubectl', 'upgrade'],
    [{ ...CREATE, headers: { authorization: 'Bearer of-bob' } }],
  )
  await program.output()
  expect(scene.asked.map(({ headers }) => headers['authorization'])).toEqual(['Bearer of-bob'])
  expect(toldBy(scene).spans).toBe(1)
})

test('a certificate that the program would show of its own is refused, and not replaced by another user', async () => {
  await using scene = await KubectlScene.open()
  const script = scriptOf(
    scene,
    `const own = ${JSON.stringify(localCertificate(0))}
const options = { ca, cert: own.certificate, key: own.key }
http.get(server + '/api/v1/namespaces', options, (answer) => answer.pipe(process.stdout))
`,
  )
  await using program = scene.startCommand(['run', ...options(scene), '--', process.execPath, script], [])
  expect(JSON.parse(await program.output())).toMatchObject({
    ...{ kind: 'Status', code: 400, reason: 'BadRequest' },
    message: expect.stringContaining('causeway run --kubeconfig') as unknown,
  })
  expect(scene.asked).toEqual([])
})

test('who trusts another authority than that of the kubeconfig is told why it cannot connect', async () => {
  await using scene = await KubectlScene.open()
  const script = scriptOf(
    scene,
    // As Go and Python do, which check within the handshake: a fatal alert, unknown_ca (RFC 5246, section 7.2).
    `const stranger = require('node:net').connect(new URL(server).port, '127.0.0.1')
const write = (hello, _, done) => stranger.write(hello, done)
const shaking = new (require('node:stream').Duplex)({ read() {}, write })
require('node:tls').connect({ socket: shaking, maxVersion: 'TLSv1.2' }).on('error', () => undefined)
stranger.once('data', () => stranger.write(Buffer.from([21, 3, 3, 0, 2, 2, 48])))
stranger.on('error', () => undefined).on('close', () => process.stdout.write('closed\\n', () => process.exit()))`,
  )
  await using program = scene.startCommand(['run', ...options(scene), '--', process.execPath, script], [])
  expect(await program.output()).toBe('closed\n')
  expect(program.errors).toContain('trusts other certificates than the one of its kubeconfig')
})

test.each([
  ['--kube-ca-file=/etc/ca.crt', {}, '--kube-ca-file'],
  ['upgrade', { HELM_KUBETLS_SERVER_NAME: 'cluster.example' }, 'HELM_KUBETLS_SERVER_NAME'],
])('what says how to check another server than the proxy is used without it: %s', async (arg, env, named) => {
  await using scene = await KubectlScene.open()
  const helm = join(scene.directory, 'bin', 'helm')
  writeFileSync(helm, '#!/bin/sh\necho "$KUBECONFIG"\n', { mode: 0o755 })
  await using program = scene.startCommand(['run', ...options(scene), '--', 'helm', arg], [], env)
  expect(await program.output()).toBe(`${join(scene.directory, 'config')}\n`)
  expect(program.errors).toContain(`this change is not reported to Causeway: ${named} `)
})

test.each([
  ['a disk that is full', 'exec "$@" 2>/dev/full'],
  ['a program that has ended', 'exec "$@" 2> >(:)'],
])('a program does its work where what is said of it goes to %s', async (_, script) => {
  const command = [process.execPath, BIN, 'run', '--', 'sh', '-c', 'echo done; exit 3']
  await using program = new RunningProgram({
    name: 'causeway run',
    command: 'bash',
    args: ['-c', script, 'bash', ...command],
    env: { ...process.env, KUBECONFIG: '/nowhere' },
  })
  expect(await program.ending()).toEqual({ code: 3, signal: null })
  expect(program.printed).toBe('done\n')
})

test('what a command runs by causeway is part of its change', async () => {
  await using scene = await KubectlScene.open()
  const inner = [
    process.execPath,
    BIN,
    'kubectl',
    '--endpoint',
    scene.endpoint,
    '--',
    'apply',
    '-f',
    'web.yaml',
  ]
  await using program = scene.startCommand(['run', ...options(scene), '--', ...inner], [CREATE])
  await program.ending()
  expect(scene.asked).toHaveLength(1)
  expect(toldBy(scene).spans).toBe(1)
  expect(toldBy(scene).content).toContain('{"key":"cpid.reason","value":{"stringValue":"a test"}}')
})

test('within a change no other cluster can be chosen, and what else is said of a change counts for nothing', async () => {
  await using scene = await KubectlScene.open()
  const inner = (...args: string[]): string[] => [
    process.execPath,
    BIN,
    'run',
    ...args,
    '--',
    'kubectl',
    'apply',
  ]
  await using other = scene.startCommand(
    ['run', ...options(scene), '--', ...inner('--context', 'test')],
    [CREATE],
  )
  expect((await other.ending()).code).not.toBe(0)
  expect(other.errors).toContain('give --kubeconfig and --context to the outer one')
  expect(scene.asked).toEqual([])
  await using same = scene.startCommand(
    ['run', ...options(scene), '--', ...inner('--reason', 'mine')],
    [CREATE],
  )
  await same.output()
  expect(same.errors).toContain('--reason has no effect here')
  expect(toldBy(scene).content).toContain('{"key":"cpid.reason","value":{"stringValue":"a test"}}')
})

test('a program that is not there, and a kubeconfig that is not there, are told', async () => {
  await using scene = await KubectlScene.open()
  await using missing = scene.startCommand(['run', ...options(scene), '--', 'no-such-program'], [])
  expect((await missing.ending()).code).toBe(127)
  expect(missing.errors).toContain('no-such-program cannot be started (ENOENT)')
  const kubeconfig = join(scene.directory, 'none')
  await using unread = scene.startCommand(
    ['run', '--kubeconfig', kubeconfig, ...options(scene), '--', process.execPath, '-e', '0'],
    [],
  )
  expect((await unread.ending()).code).not.toBe(0)
  expect(unread.errors).toMatch(/nothing was run: .*; correct --kubeconfig or --context/)
  await using bare = scene.startCommand(['run', ...options(scene), '--', process.execPath, '-e', '0'], [], {
    KUBECONFIG: kubeconfig,
  })
  expect((await bare.ending()).code).toBe(0)
  expect(bare.errors).toContain('this change is not reported to Causeway: ')
})

test('a forgotten -- is named', async () => {
  await using scene = await KubectlScene.open()
  await using program = scene.startCommand(['run', 'helm', 'upgrade', '--install', 'shop'], [])
  expect((await program.ending()).code).not.toBe(0)
  expect(program.errors).toContain('the arguments for another program go after --; write -- before helm')
})

/** Prints what a GET comes to, and ends. */
const GET = `
const get = (path) => http.get(path, ({ statusCode }) => end(statusCode)).on('error', ({ code }) => end(code))
const end = (what) => process.stdout.write(what + '\\n', () => process.exit())
`

test.each([
  ['a path of two slashes', 'GET //'],
  ['a name that is none', 'GET http://['],
  ['an upgrade of a path of two slashes', 'OPTIONS //', 'connection: upgrade\r\nupgrade: else\r\n'],
])('somebody without the token ends nothing with %s', async (_, asked, headers = '') => {
  await using scene = await KubectlScene.open()
  const request = `${asked} HTTP/1.1\r\nhost: localhost\r\n${headers}connection: close\r\n\r\n`
  const script = scriptOf(
    scene,
    `${GET}
const stranger = require('node:tls').connect({ host: '127.0.0.1', port: new URL(server).port, ca })
stranger.on('error', () => undefined).on('data', (text) => console.log(String(text).slice(0, 12)))
stranger.on('close', () => get(server + '/api/v1/namespaces/shop/pods/web')).write(${JSON.stringify(request)})
`,
  )
  await using program = scene.startCommand(['run', ...options(scene), '--', process.execPath, script], [])
  expect(await program.output()).toBe('HTTP/1.1 407\n200\n')
})

test('somebody who speaks no TLS ends nothing', async () => {
  await using scene = await KubectlScene.open()
  const script = scriptOf(
    scene,
    `${GET}
const stranger = require('node:net').connect(new URL(server).port, '127.0.0.1')
stranger.on('error', () => undefined).on('close', () => get(server + '/api/v1/namespaces/shop/pods/web'))
stranger.end('GET /api/v1/namespaces HTTP/1.1\\r\\nhost: localhost\\r\\n\\r\\n')
`,
  )
  await using program = scene.startCommand(['run', ...options(scene), '--', process.execPath, script], [])
  expect(await program.output()).toBe('200\n')
  expect(scene.asked).toHaveLength(1)
})
