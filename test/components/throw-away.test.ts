import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { stringify } from 'yaml'
import { eventually } from '../../lab/harness/eventually.ts'
import { freePort } from '../../lab/harness/free-ports.ts'
import { startCauseway } from '../../src/app/start-causeway.ts'
import { runCli } from '../../src/cli/commands.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { createLogger } from '../../src/platform/logger.ts'
import { systemClock } from '../../src/platform/system-clock.ts'
import { cpid } from '../support/otlp-requests.ts'
import { COMPONENTS } from './throw-away/components.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-throw-away-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const pathOf = (name: string): string => join(folder, name)

interface Written {
  receiver?: Record<string, unknown>
  exporter?: Record<string, unknown>
  /** How the receiver is called, everywhere. */
  type?: string
  signal?: string
}

/** A configuration from one throw-away component to the other. */
function configured({ receiver, exporter, type = 'shelf_reader', signal = 'traces' }: Written = {}): string {
  return stringify({
    receivers: { [type]: { file: pathOf('spans.json'), ...receiver } },
    exporters: { shelf_filler: { file: pathOf('linked.json'), ...exporter } },
    connectors: { cpid: { storage: { path: pathOf('causeway.db') }, linking: { wait: '0s' } } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: {
        [`${signal}/in`]: { receivers: [type], exporters: ['cpid'] },
        'traces/out': { receivers: ['cpid'], exporters: ['shelf_filler'] },
      },
    },
  })
}

async function causeway(command: string, config: string) {
  let stdout = ''
  let stderr = ''
  const code = await runCli([command, '--config', `yaml:${config}`], {
    components: COMPONENTS,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    readInput: () => Promise.resolve(''),
    terminalWidth: undefined,
    env: {},
    run: () => Promise.reject(new Error('nothing is run')),
  })
  return { code, stdout, stderr }
}

/** Starts Causeway as it is configured; what it says is `told`. */
function start(config: string, told: string[]) {
  const readFile = (path: string): string => readFileSync(path, 'utf8')
  const loaded = loadConfig({ sources: [`yaml:${config}`], sets: [], env: {}, readFile }, COMPONENTS)
  const write = (line: string): void => void told.push(line)
  const log = createLogger({ level: 'info', encoding: 'console', clock: systemClock, caller: 'test', write })
  return startCauseway(loaded.config, { version: '1.2.3', components: COMPONENTS, log, onFatal: write })
}

test('spans go from the one to the other', async () => {
  const span = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    name: 'reconcile',
    startTimeUnixNano: '1767225600000000000',
    endTimeUnixNano: '1767225601000000000',
    attributes: [{ key: 'cpid.id', value: { stringValue: cpid(1) } }],
  }
  writeFileSync(
    pathOf('spans.json'),
    JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
  )
  const told: string[] = []
  await using running = await start(configured({ type: 'shelfreader' }), told)
  expect(running).toBeDefined()
  const sent = await eventually(() => readFileSync(pathOf('linked.json'), 'utf8'))
  expect(sent).toContain('"name":"reconcile"')
  expect(sent).toContain(cpid(1))
  expect(told.filter((line) => /error|warn/i.test(line))).toEqual([])
})

test('validate takes them, and refuses what is wrong with their settings', async () => {
  expect(await causeway('validate', configured())).toEqual({ code: 0, stdout: '', stderr: '' })
  const { code, stderr } = await causeway(
    'validate',
    configured({ receiver: { file: 5 }, exporter: { file: null, fil: 'x' } }),
  )
  expect(code).toBe(1)
  expect(stderr.trimEnd().split('\n')).toEqual([
    'Error: --config yaml: line 3: receivers::shelf_reader::file: must be text, got the number 5; put it in quotes',
    'Error: --config yaml: line 6: exporters::shelf_filler::file: is required; write for example file: linked.json',
    "Error: --config yaml: line 7: 'exporters::shelf_filler' has invalid keys: fil; did you mean file?",
  ])
})

test('a pipeline of a signal that they do not take is refused', async () => {
  const { stderr } = await causeway('validate', configured({ signal: 'logs' }))
  expect(stderr).toBe(
    'Error: --config yaml: line 2: receivers::shelf_reader: receives no logs; take it out of service::pipelines::logs/in\n',
  )
})

test('a name nearly theirs is recognised', async () => {
  const { stderr } = await causeway('validate', configured({ type: 'shelf_raeder' }))
  expect(stderr).toContain('shelf_reader]); did you mean shelf_reader?')
})

test('print-config, components and doctor know them', async () => {
  expect((await causeway('print-config', configured())).stdout).toContain(`file: ${pathOf('spans.json')}`)
  expect((await causeway('components', configured())).stdout).toMatch(
    /name: shelf_filler\n +stability:\n +traces: Alpha\n/,
  )
  const { stdout } = await causeway('doctor', configured())
  expect(stdout).toContain(`shelf_filler fills ${pathOf('linked.json')}`)
})

const guarded = (port: number, exporter = ''): string => `
receivers: { otlp: { protocols: { http: { endpoint: '127.0.0.1:${port}', auth: { authenticator: knock } } } } }
connectors: { cpid: { storage: { path: '${pathOf('causeway.db')}' } } }
extensions: { knock: { word: sesame }, cpid_query: }
${exporter}
service:
  extensions: [knock]
  telemetry: { metrics: { level: none } }
  pipelines:
    traces/in: { receivers: [otlp], exporters: [cpid] }
    ${exporter === '' ? '' : 'traces/out: { receivers: [cpid], exporters: [otlp_grpc] }'}
`

test('a listener lets in whom another extension knows', async () => {
  const port = await freePort()
  await using running = await start(guarded(port), [])
  expect(running).toBeDefined()
  const statusWith = async (headers: Record<string, string>): Promise<number> => {
    const init = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json', ...headers } }
    const response = await fetch(`http://127.0.0.1:${port}/v1/traces`, init)
    await response.arrayBuffer()
    return response.status
  }
  expect(await statusWith({ 'x-knock': 'sesame' })).toBe(200)
  expect(await statusWith({ 'x-knock': 'please' })).toBe(401)
})

test('which extensions check credentials is said by themselves', async () => {
  const wrong = guarded(4318).replace('authenticator: knock', 'authenticator: cpid_query')
  const { stderr } = await causeway('validate', wrong.replace('[knock]', '[knock, cpid_query]'))
  expect(stderr).toContain('name a basicauth or bearertokenauth or knock extension')
  const exporter = 'exporters: { otlp_grpc: { endpoint: localhost:4317, auth: { authenticator: knock } } }'
  expect((await causeway('validate', guarded(4318, exporter))).stderr).toBe(
    'Error: --config yaml: line 5: exporters::otlp_grpc::auth::authenticator: "knock" cannot be used here; name a bearertokenauth\n',
  )
})
