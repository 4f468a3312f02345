import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { RunningProgram } from '../../lab/harness/processes/running-program.ts'
import { referenceOf, resourceOf, shortReference } from '../../packages/kubectl-plugin/named-object.ts'
import { mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { RecordedCluster } from '../support/recorded-cluster.ts'

const PLUGIN = fileURLToPath(new URL('../../bin/kubectl-causeway.js', import.meta.url))
/** Stands in for kubectl: it tells of a Service, and asks Causeway as the API server's proxy does. */
const KUBECTL = `
const args = process.argv.slice(2)
const raw = args[args.indexOf('--raw') + 1]
if (args.includes('--context')) {
  process.stderr.write('error: context "nope" does not exist\\n')
  process.exitCode = 1
} else if (args[0] === 'config' && process.env.NO_KUBECONFIG) process.exitCode = 1
else if (args[0] === 'config') process.stdout.write('shop')
else if (args.includes('--raw')) {
  const [, path] = /^\\/api\\/v1\\/namespaces\\/tracing\\/services\\/causeway:query\\/proxy(.*)$/.exec(raw)
  const response = await fetch(process.env.BEHIND + path)
  process.stdout.write(await response.text())
} else {
  const services = JSON.parse(process.env.SERVICES)
  process.stdout.write(JSON.stringify({ items: services.map(([namespace, name, port]) => ({
    metadata: { namespace, name }, spec: { ports: [{ name: port, port: 4319 }] } })) }))
}
`

const folder = mkdtempSync(join(tmpdir(), 'causeway-plugin-'))
let recorded: RecordedCluster
let url: string

beforeAll(async () => {
  const kubectl = join(folder, 'kubectl')
  writeFileSync(join(folder, 'kubectl.mjs'), KUBECTL)
  writeFileSync(kubectl, `#!/bin/sh\nexec "${process.execPath}" "${join(folder, 'kubectl.mjs')}" "$@"\n`)
  chmodSync(kubectl, 0o755)
  recorded = await RecordedCluster.up()
  url = recorded.url
})

afterAll(async () => {
  await recorded[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

async function send(signal: 'logs' | 'traces', body: Buffer): Promise<void> {
  const headers = { 'content-type': 'application/x-protobuf' }
  const { status } = await fetch(`${recorded.otlp}/v1/${signal}`, {
    method: 'POST',
    headers,
    body: Uint8Array.from(body),
  })
  expect(status).toBe(200)
}

interface Answer {
  code: number | null
  printed: string
  errors: string
}

async function plugin(args: readonly string[], env: Record<string, string> = {}): Promise<Answer> {
  const PATH = [folder, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter)
  await using program = new RunningProgram({
    name: 'kubectl causeway',
    command: process.execPath,
    args: [PLUGIN, ...args],
    env: { ...process.env, PATH, BEHIND: url, SERVICES: '[]', ...env },
  })
  const { code } = await program.ending()
  return { code, printed: program.printed, errors: program.errors }
}

const lines = ({ printed }: Answer): string[] => printed.trimEnd().split('\n')

test('why an object is as it is: who wrote it last, and what a person did before', async () => {
  const answer = await plugin(['why', 'deploy/web', '--url', url])
  expect(answer).toMatchObject({ code: 0, errors: '' })
  expect(lines(answer)[0]).toMatch(
    /^deployment\/web was last written \d+ (?:day|hour|minute)s? ago: \S+ deleted it$/,
  )
  expect(lines(answer)[1]).toMatch(
    /^because alice deleted deployment\/web (?:at the same time|\d+ ms before)$/,
  )
  expect(lines(answer)[2]).toMatch(/^ {2}\d+ spans, settled: kubectl causeway cascade [0-9a-f]{8}$/)
  expect(answer.printed).toContain('\nBefore that it was written because\n')
  expect(answer.printed).toMatch(/^ {2}alice created deployment\/web, .* ago \(\d+ writes\)$/m)
})

test('who changed it: people, with how often and what last', async () => {
  const answer = await plugin(['who', 'svc', 'web', '-n', 'shop', '--url', url])
  expect(lines(answer)).toEqual([
    expect.stringMatching(/^alice {2}2 changes {2}last .* ago: deleted service\/web$/),
  ])
})

test('a cascade, of an object and by the digits that the others print', async () => {
  const [, , told = ''] = lines(await plugin(['why', 'deployment/web', '--url', url]))
  const digits = told.slice(-8)
  const byObject = await plugin(['cascade', 'deployments.apps/web', '--url', url])
  expect(byObject).toEqual(await plugin(['cascade', digits, '--url', url]))
  const [head, ...steps] = lines(byObject)
  expect(head).toMatch(/^alice deleted deployment\/web: \d+ steps in .*, settled$/)
  expect(steps.length).toBe(Number(/(\d+) steps/.exec(head ?? '')?.[1]))
  expect(steps[0]).toMatch(/^\+0 ms +kubectl +deleted deployment\/web$/)
})

test('what causeway kubectl did keeps its verb behind a reason, and one is no plural', async () => {
  const cpid = '00000000-0000-4000-8000-000000000b1e'
  const object = 'v1/configmaps/shop/settings?uid=s1'
  await send('logs', mergelogsRequest('kubectl', [{ new: cpid, object: `${object}&rv=5`, reason: 'bye' }]))
  const span = { ...{ trace: 2_000, id: 2_000, cpid, name: 'kubectl delete' } }
  const wrote = { 'cpid.wrote': [`${object}&rv=5`, object] }
  await send('traces', spansRequest('kubectl', [{ ...span, attributes: wrote }]))
  const why = await eventually(async () => {
    const answer = await plugin(['why', 'cm/settings', '--url', url])
    expect(answer.printed).toContain('because')
    return answer
  })
  expect(lines(why)).toEqual([
    expect.stringMatching(/^configmap\/settings was last written .* ago: kubectl deleted it$/),
    expect.stringMatching(/^because kubectl deleted configmap\/settings: bye .*$/),
    expect.stringMatching(/^ {2}1 span, (?:open|settled): kubectl causeway cascade 00000000$/),
  ])
  expect((await plugin(['who', 'cm/settings', '--url', url])).printed).toMatch(
    /: deleted configmap\/settings: bye\n$/,
  )
  const [head, step] = lines(await plugin(['cascade', 'cm/settings', '--url', url]))
  expect(head).toMatch(/^kubectl deleted configmap\/settings: bye: 1 step in /)
  expect(step).toMatch(/kubectl +deleted configmap\/settings$/)
})

test.each([[[]], [['-o', 'json']]])('what others wrote commands no terminal, with %j', async (options) => {
  const hostile = 'evil\u001b[2J\u009b2J\u202e\u2028\r'
  const cpid = '00000000-0000-4000-8000-000000000bad'
  const object = 'v1/configmaps/shop/hostile?uid=h1&rv=5'
  await send('logs', mergelogsRequest(hostile, [{ new: cpid, object, reason: hostile }]))
  const attributes = { 'cpid.wrote': [object] }
  await send(
    'traces',
    spansRequest(hostile, [{ trace: 2_001, id: 2_001, cpid, name: `update ${hostile}`, attributes }]),
  )
  for (const command of ['why', 'who', 'cascade']) {
    const { printed } = await eventually(async () => {
      const answer = await plugin([command, 'cm/hostile', '--url', url, ...options])
      expect(answer.printed).toContain('evil')
      return answer
    })
    for (const line of printed.split('\n')) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028]/u)
  }
})

test('it finds Causeway in the cluster, and the namespace in the context', async () => {
  const inCluster = {
    SERVICES: JSON.stringify([
      ['tracing', 'causeway', 'query'],
      ['tracing', 'causeway-headless', 'query'],
    ]),
  }
  expect(await plugin(['who', 'deploy/web'], inCluster)).toEqual(
    await plugin(['who', 'deploy/web', '-n', 'shop', '--url', url]),
  )
})

test('where more changes wrote an object than are named, a last line says so', async () => {
  const changes = Array.from({ length: 11 }, (_, at) => ({
    new: `00000000-0000-4000-8000-0000000000${10 + at}`,
    object: `v1/configmaps/shop/often?uid=1&rv=${at + 1}`,
    reason: 'again',
  }))
  const spans = changes.map(({ new: cpid, object }, at) => ({
    ...{ trace: 1_000 + at, id: 1_000 + at, cpid, name: 'update v1/configmaps' },
    attributes: { 'cpid.wrote': [object] },
  }))
  await send('logs', mergelogsRequest('settings', changes))
  await send('traces', spansRequest('settings', spans.slice(0, 10)))
  const who = (): Promise<Answer> => plugin(['who', 'cm/often', '--url', url])
  await eventually(async () => {
    expect((await who()).printed).toMatch(
      /^settings {2}10 changes {2}last .*: changed configmap\/often: again\n$/,
    )
  })
  await send('traces', spansRequest('settings', spans.slice(10)))
  await eventually(async () => {
    expect((await who()).printed).toContain(
      '\nThere is more: of the newest 200 versions at most 10 changes are named.',
    )
  })
})

test('-o json has the changes, with the versions that each drove', async () => {
  const { printed } = await plugin(['who', 'deploy/web', '-o', 'json', '--url', url])
  const causes = JSON.parse(printed) as { change: { actor: string } }[]
  expect(new Set(causes.map(({ change }) => change.actor))).toEqual(new Set(['alice', 'admin']))
})

test.each([
  ['no Causeway in the cluster', ['why', 'deploy/web'], {}, /no Service .* has a port "query".*--url/],
  [
    'two of them',
    ['why', 'deploy/web'],
    { SERVICES: '[["a","causeway","query"],["b","causeway","query"]]' },
    /in a and in b; say which with --url, after kubectl port-forward -n a service\/causeway 4319:query/,
  ],
  [
    'an address where nobody listens',
    ['why', 'deploy/web', '--url', 'http://127.0.0.1:1'],
    {},
    /cannot be reached/,
  ],
  ['no object', ['why', 'web'], { CAUSEWAY_URL: 'http://127.0.0.1:1' }, /write <kind>\/<name>/],
  ['no such command', ['what', 'deploy/web'], {}, /there are why, who and cascade/],
  [
    'an option that is not there',
    ['why', 'deploy/web', '--all'],
    {},
    /^error: Unknown option '--all'; kubectl causeway --help lists the options\n$/,
  ],
  [
    'an option without its value',
    ['why', 'deploy/web', '-n'],
    {},
    /argument missing; kubectl causeway --help/,
  ],
  [
    'a word too many',
    ['why', 'deploy/web', 'more'],
    { CAUSEWAY_URL: 'http://127.0.0.1:1' },
    /"deploy\/web more" names no object; write <kind>\/<name>/,
  ],
  [
    'an address without its scheme',
    ['why', 'deploy/web', '--url', 'localhost:4319'],
    {},
    /^error: "localhost:4319" is no URL; write it as http:\/\/localhost:4319\n$/,
  ],
] as const)('of %s an error says what to do', async (_, args, env, says) => {
  const answer = await plugin(args, env)
  expect(answer).toMatchObject({ code: 1, printed: '' })
  expect(answer.errors).toMatch(says)
})

test('a context that is not there is told, though the address is known', async () => {
  for (const option of ['--context', '--kubeconfig']) {
    const named = await plugin(['who', 'deploy/web', option, 'nope', '--url', url], { NO_KUBECONFIG: '1' })
    expect(named).toMatchObject({ code: 1, printed: '' })
    expect(named.errors).toMatch(/^error: kubectl config failed: /)
  }
  const unnamed = await plugin(['why', 'pod/none', '--url', url], { NO_KUBECONFIG: '1' })
  expect(unnamed).toMatchObject({ code: 0, printed: 'Causeway saw nobody write pods/default/none.\n' })
})

const NO_QUERY_API =
  "what answers at URL is not Causeway's query API; set --url or CAUSEWAY_URL to its query port"

test.each([
  ['a page', 200, '<p>Jaeger</p>', NO_QUERY_API],
  ['a page that is not found', 404, '<p>Not found</p>', NO_QUERY_API],
  [
    'a proxy without a backend',
    502,
    '<p>Bad gateway</p>',
    'Causeway at URL answered 502: <p>Bad gateway</p>',
  ],
])('where the address answers with %s it is said what it answers', async (_, status, body, told) => {
  const other = createServer((__, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const at = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  try {
    expect(await plugin(['why', 'deploy/web'], { CAUSEWAY_URL: at })).toEqual({
      ...{ code: 1, printed: '' },
      errors: `error: ${told.replace('URL', at)}\n`,
    })
  } finally {
    other.close()
  }
})

test('what Causeway refuses is told in its own words', async () => {
  const { code, errors } = await plugin(['cascade', '00000000-0000-4000-8000-00000000dead', '--url', url])
  expect(code).toBe(1)
  expect(errors).toBe(
    `error: Causeway at ${url} answered 404: no mergelog, span or log has named this CPID; check it, and whether its sender reaches Causeway\n`,
  )
})

test('an object that nobody wrote is said to be one', async () => {
  expect(await plugin(['why', 'pod/none', '--url', url])).toEqual({
    ...{ code: 0, errors: '' },
    printed: 'Causeway saw nobody write pods/shop/none.\n',
  })
})

test('kinds are taken as kubectl takes them', () => {
  const typed = [
    'po',
    'Pod',
    'ingress',
    'networkpolicies',
    'policy',
    'endpoints',
    'ep',
    'webapps.example.com',
    'class',
  ]
  expect(typed.map(resourceOf)).toEqual([
    ...[
      'pods',
      'pods',
      'ingresses',
      'networkpolicies',
      'policies',
      'endpoints',
      'endpoints',
      'webapps',
      'classes',
    ],
  ])
  expect(referenceOf(['no/n1'], 'shop')).toBe('nodes/n1')
  expect(shortReference('networking.k8s.io/v1/ingresses/shop/web?uid=1', 'shop')).toBe('ingress/web')
  expect(shortReference('v1/endpoints/shop/web', 'default')).toBe('endpoints/web in shop')
})
