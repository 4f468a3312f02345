import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cascadeLoad } from './support/cascade-load.ts'
import { BIN, CausewayProcess, startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import {
  CONFIG_FILE,
  exporterTo,
  freshSettings,
  type CausewaySettings,
} from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { expectDelivered, expectStoredOnce } from './support/expect-delivered.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { seededRandom } from '../../lab/harness/seeded-random.ts'
import { takesAll, TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

interface Written {
  receivers: { otlp: { protocols: { http: Record<string, unknown>; grpc: Record<string, unknown> } } }
  connectors: { cpid: Record<string, unknown> }
  exporters: Record<string, Record<string, unknown>>
  extensions: Record<string, unknown>
  service: { extensions: string[]; telemetry: Record<string, unknown> }
}

/** Changes the configuration file of a Causeway. */
function rewrite(settings: CausewaySettings, change: (config: Written) => void): void {
  const path = join(settings.home, CONFIG_FILE)
  const config = JSON.parse(readFileSync(path, 'utf8')) as Written
  change(config)
  writeFileSync(path, JSON.stringify(config))
}

const RELOADS = 3
const TAKEN = 'Configuration read again'
const KEPT = 'The new configuration is not used'

async function hangUp(causeway: CausewayProcess, answer: string, times = 1): Promise<void> {
  process.kill(causeway.pid, 'SIGHUP')
  await eventually(() => expect(causeway.errors.split(answer)).toHaveLength(times + 1))
  await causeway.ready()
}

const status = async (settings: CausewaySettings, headers: Record<string, string> = {}): Promise<number> => {
  const response = await fetch(`http://127.0.0.1:${settings.ports.http}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  })
  await response.arrayBuffer()
  return response.status
}

leaveNothingBehind()

test('SIGHUP takes over tokens, policy, log level and headers of exporters', async () => {
  await using backend = await TraceBackend.up()
  const settings = await freshSettings({ exporters: { otlp_grpc: exporterTo(backend.port) } })
  await using causeway = await startCauseway(settings)
  expect(await status(settings)).toBe(200)

  rewrite(settings, (config) => {
    config.extensions['bearertokenauth'] = { token: 'a-new-secret' }
    config.service.extensions.push('bearertokenauth')
    config.receivers.otlp.protocols.http['auth'] = { authenticator: 'bearertokenauth' }
    config.exporters['otlp_grpc']!['headers'] = { 'x-changed': 'another-secret' }
  })
  await hangUp(causeway, TAKEN)
  await eventually(async () => expect(await status(settings)).toBe(401))
  expect(await status(settings, { authorization: 'Bearer a-new-secret' })).toBe(200)

  rewrite(settings, (config) => {
    config.service.telemetry['logs'] = { level: 'error' }
  })
  await hangUp(causeway, TAKEN, 2)
  await eventually(() => expect(causeway.errors.split('Everything is ready')).toHaveLength(3))
  expect(causeway.errors).not.toMatch(/a-new-secret|another-secret/)
  expect(causeway.complaints).toEqual([])
})

test('a configuration with mistakes, or with files that cannot be used, changes nothing', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  rewrite(settings, (config) => {
    config.connectors.cpid['max_sources'] = 'many'
  })
  await hangUp(causeway, KEPT)
  expect(causeway.errors).toContain('connectors::cpid::max_sources: must be a whole number')
  expect(await status(settings)).toBe(200)

  rewrite(settings, (config) => {
    config.connectors.cpid['max_sources'] = 10
    config.receivers.otlp.protocols.http['tls'] = { cert_file: '/no/cert.pem', key_file: '/no/key.pem' }
  })
  await hangUp(causeway, KEPT, 2)
  expect(causeway.errors).toContain('cannot read tls::cert_file')
  expect(await status(settings)).toBe(200)
  expect(causeway.errors).not.toContain(TAKEN)
})

test('a configuration that does not start all the same is followed by the one before', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  await using occupied = await TraceBackend.up()
  rewrite(settings, (config) => {
    config.receivers.otlp.protocols.grpc['endpoint'] = `127.0.0.1:${occupied.port}`
  })
  await hangUp(causeway, KEPT)
  expect(causeway.errors).toContain('the address is already in use')
  await eventually(async () => expect(await status(settings)).toBe(200))
})

test('under load, again and again, with a dead backend, nothing acknowledged is lost or stored twice', async () => {
  const load = cascadeLoad(seededRandom(11), 40)
  await using dead = await TraceBackend.down()
  await using live = await TraceBackend.up(takesAll)
  const settings = await freshSettings({
    exporters: { 'otlp_grpc/dead': exporterTo(dead.port), 'otlp_grpc/live': exporterTo(live.port) },
  })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  const sending: Promise<void>[] = []
  for (let times = 1; times <= RELOADS; times++) {
    const before = sender.acknowledged.size
    // A part for each, so that there is something left to send however long one takes.
    sending.push(sender.sendAll(load.requests.filter((_, at) => at % RELOADS === times - 1)))
    await eventually(() => expect(sender.acknowledged.size).toBeGreaterThan(before))
    await hangUp(causeway, TAKEN, times)
  }
  await Promise.all(sending)
  expect(sender.acknowledged.size).toBe(load.requests.length)
  await dead.comeUp()
  for (const backend of [live, dead]) await expectDelivered(settings, backend, load.spans)
  expectStoredOnce(settings, load.spans)
})

/** Node's options with which a process gets SIGHUP when it loads a file. */
function hungUpLoading(file: string, command = ''): string {
  const code = `
    import { registerHooks } from 'node:module'
    import { isMainThread } from 'node:worker_threads'
    if (isMainThread) {
      process.argv.splice(2, 0, ...${JSON.stringify(command === '' ? [] : [command])})
      registerHooks({
        load(url, context, next) {
          if (url.endsWith(${JSON.stringify(file)})) process.kill(process.pid, 'SIGHUP')
          return next(url, context)
        },
      })
    }`
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

test.each(['', 'run'])(
  'a SIGHUP while the code of causeway %s is loaded does not end it',
  async (command) => {
    const settings = await freshSettings()
    const options = `NODE_OPTIONS=${hungUpLoading('/app/run-causeway.ts', command)}`
    await using causeway = new CausewayProcess(settings, process.execPath, ['env', options])
    await causeway.ready()
    expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  },
)

test('a SIGHUP ends a command that is no server, wherever its name stands', async () => {
  const { home } = await freshSettings()
  const recording = join(home, 'watch.jsonl')
  writeFileSync(recording, '')
  const config = ['--config', join(home, CONFIG_FILE)]
  const following = ['import', '--cluster', 'test', '--follow', '--watch', recording]
  const env = { ...process.env, NODE_OPTIONS: hungUpLoading('/cli/import-command.ts') }
  for (const args of [
    [...following, ...config],
    [...config, ...following],
  ])
    expect(spawnSync(process.execPath, [BIN, ...args], { env }).signal).toBe('SIGHUP')
})
