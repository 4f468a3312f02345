import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import { eventually } from '../../lab/harness/eventually.ts'
import { freePorts } from '../../lab/harness/free-ports.ts'
import { Cluster } from '../../lab/harness/kubernetes/cluster.ts'
import { RunningProgram } from '../../lab/harness/processes/running-program.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CPID = '0f3c1f0e-6a5e-4d4e-9a42-5f2f2d1f6a10'
const LONGEST_INSTALL_MS = 300_000
const LONGEST_OBSERVING_MS = 400_000
const run = promisify(execFile)

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(process.env['CAUSEWAY_INTEROP_DIRECTORY'] ?? tmpdir(), 'installed-'))
  const packed = [await pack('causeway'), await pack('instrumentation')]
  await inFolder('npm', 'install', ...packed, '@opentelemetry/api@1.10.0')
}, LONGEST_INSTALL_MS)

afterAll(() => rm(folder, { recursive: true, force: true }))

test('npx causeway says what it is: the version, the commit, the schema', async () => {
  expect(await inFolder('npx', 'causeway', '--version')).toMatch(
    /^causeway version \d+\.\d+\.\d+ \(commit [0-9a-f]{12}, schema \d{3}-[a-z-]+\)\n$/,
  )
  expect(await inFolder('npx', 'causeway', 'observe', '--help')).toContain('Usage: causeway observe')
  expect(await inFolder('npx', 'causeway', 'kubectl', '--help')).toContain('Usage: causeway kubectl')
})

test('a server starts, takes a change, shows it and answers SQL about it', async () => {
  const [otlp = 0, query = 0, metrics = 0] = await freePorts(3)
  const config = join(folder, 'otel-config.yaml')
  await writeFile(config, configOf(otlp, query, metrics))
  await using server = new RunningProgram({
    name: 'npx causeway',
    command: 'npx',
    args: ['causeway', '--config', config],
    directory: folder,
  })
  await eventually(async () => {
    if (server.hasEnded) throw new Error(server.lastWords())
    const { status } = await fetch(`http://127.0.0.1:${otlp}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(oneSpan()),
    })
    expect(status).toBe(200)
  })
  await eventually(async () => {
    const answer = await fetch(`http://127.0.0.1:${query}/api/v1/cpids/${CPID}/related`)
    expect(answer.status).toBe(200)
  })
  const page = await fetch(`http://127.0.0.1:${query}/`)
  expect(await page.text()).toContain('<title>')
  const asked = ['causeway', 'sql', 'SELECT name FROM audit_cascade_spans', '--config', config]
  await eventually(async () => expect(await inFolder('npx', ...asked)).toContain('create web'))
})

test(
  'observe, installed so, prints the cascade of a Deployment, and ends with Ctrl-C',
  async () => {
    await using cluster = await Cluster.start(join(folder, 'cluster'))
    const [port = 0] = await freePorts(1)
    await using observe = new RunningProgram({
      name: 'causeway observe',
      // npx runs this too, but does not pass SIGINT on.
      command: join(folder, 'node_modules/.bin/causeway'),
      args: [
        ...['observe', '--kubeconfig', cluster.kubeconfig()],
        ...['--set', `extensions.cpid_query.endpoint=localhost:${port}`],
      ],
      directory: folder,
    })
    const printed = (line: RegExp): Promise<string> =>
      eventually(() => {
        const [found] = line.exec(observe.printed) ?? []
        if (found === undefined) throw new Error(observe.lastWords())
        return found
      }, LONGEST_INSTALL_MS)
    await printed(/^Watching \d\d resources\. .*; the dashboard is at http:/m)
    expect(observe.printed).toMatch(/k8s_objects may list and watch all \d\d resources/)
    await cluster.kubectl('admin', 'create', 'deployment', 'web', '--image=nginx:1', '--replicas=3')
    const line = await printed(/^apps\/v1\/deployments\/default\/web.*(?=\n)/m)
    for (const service of ['deployment-controller', 'replicaset-controller', 'kube-scheduler'])
      expect(line).toContain(service)
    expect(line).toMatch(new RegExp(`in [0-9.]+m?s {2}http://localhost:${port}/cascades/[0-9a-f-]{36}$`))
    const { status } = await fetch(line.split('  ')[1]?.replace('/cascades/', '/api/v1/cascades/') ?? '')
    expect(status).toBe(200)
    expect(await observe.end('SIGINT')).toEqual({ code: 0, signal: null })
    expect(observe.errors).toBe('')
  },
  LONGEST_OBSERVING_MS,
)

test('the unit of systemd starts what npm installs', async () => {
  const unit = await readFile(join(ROOT, 'deploy/systemd/causeway.service'), 'utf8')
  const [, program = ''] = /^ExecStart=\/opt\/causeway\/(\S+) --config /m.exec(unit) ?? []
  await run(join(folder, program), ['--version'])
})

test('the kubectl plugin runs of the files that its krew manifest takes from the package', async () => {
  const manifest = parse(await readFile(join(folder, 'causeway-krew.yaml'), 'utf8')) as KrewManifest
  const [platform] = manifest.spec.platforms
  if (platform === undefined) throw new Error('the manifest names no platform')
  const packed = basename(platform.uri)
  const bytes = await readFile(join(folder, packed))
  expect(platform.sha256).toBe(createHash('sha256').update(bytes).digest('hex'))
  await inFolder('tar', '-xzf', packed)
  const plugin = join(folder, 'plugin')
  for (const { from, to } of platform.files) {
    await mkdir(join(plugin, to), { recursive: true })
    for (const path of globSync(from, { cwd: folder }))
      await cp(join(folder, path), join(plugin, to, basename(path)), { recursive: true })
  }
  expect((await run(join(plugin, platform.bin), ['--help'])).stdout).toContain('kubectl causeway why')
})

test('the library is there for controllers, as JavaScript', async () => {
  const script = `import('causeway-instrumentation').then((all) => console.log(Object.keys(all).join()))`
  expect(await inFolder('node', '-e', script)).toContain('createInstrumentation')
})

interface KrewManifest {
  readonly spec: {
    readonly platforms: readonly {
      readonly uri: string
      readonly sha256: string
      readonly files: readonly { readonly from: string; readonly to: string }[]
      readonly bin: string
    }[]
  }
}

async function pack(name: string): Promise<string> {
  const script = join(ROOT, `scripts/pack-${name}.ts`)
  const { stdout } = await run(process.execPath, ['--no-warnings', script, folder])
  return `./${basename(stdout.trim())}`
}

async function inFolder(command: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(command, args, { cwd: folder })
  return stdout
}

function configOf(otlp: number, query: number, metrics: number): string {
  return stringify({
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${otlp}` } } } },
    connectors: { cpid: { storage: { path: './causeway.db' } } },
    extensions: { cpid_query: { endpoint: `127.0.0.1:${query}` } },
    service: {
      extensions: ['cpid_query'],
      telemetry: {
        metrics: {
          readers: [{ pull: { exporter: { prometheus: { host: '127.0.0.1', port: metrics } } } }],
        },
      },
      pipelines: { 'traces/in': { receivers: ['otlp'], exporters: ['cpid'] } },
    },
  })
}

function oneSpan(): object {
  const now = `${Date.now()}000000`
  const span = {
    ...{ traceId: '5b8efff798038103d269b633813fc60c', spanId: 'eee19b7ec3c1b174', name: 'create web' },
    ...{ kind: 1, startTimeUnixNano: now, endTimeUnixNano: now },
    attributes: [{ key: 'cpid.id', value: { stringValue: CPID } }],
  }
  return { resourceSpans: [{ resource: {}, scopeSpans: [{ spans: [span] }] }] }
}
