import { once } from 'node:events'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import {
  argumentsFor,
  type CausewaySettings,
  exporterTo,
  freshSettings,
} from '../../lab/harness/causeway/causeway-settings.ts'
import { Authority } from '../../lab/harness/certificates.ts'
import { freePorts, occupy } from '../../lab/harness/free-ports.ts'
import { runCli } from '../../src/cli/commands.ts'
import { damagePages, pagesOf } from '../support/damage.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestClock } from '../support/test-clock.ts'
import { TestWriter } from '../support/test-writer.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'

interface Finding {
  state: string
  check: string
  message: string
  advice?: string
}

interface Examined {
  code: number
  stderr: string
  state: string
  findings: Finding[]
  /** What was found of one check, as `state: message`. */
  of: (check: string) => string[]
}

leaveNothingBehind()

async function doctor(
  argv: readonly string[],
  ...others: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = ''
  let stderr = ''
  const code = await runCli(['doctor', ...argv, ...others], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    readInput: () => Promise.resolve(''),
    terminalWidth: undefined,
    env: {},
    run: () => Promise.reject(new Error('doctor runs nothing')),
  })
  return { code, stdout, stderr }
}

async function examined(settings: CausewaySettings, ...others: string[]): Promise<Examined> {
  const { code, stdout, stderr } = await doctor(argumentsFor(settings), '--format', 'json', ...others)
  const { state, findings } = JSON.parse(stdout) as { state: string; findings: Finding[] }
  for (const { state: one, advice } of findings) expect(advice === undefined).toBe(one === 'ok')
  const of = (check: string): string[] =>
    findings
      .filter((finding) => finding.check === check)
      .map((finding) => `${finding.state}: ${finding.message}`)
  return { code, stderr, state, findings, of }
}

/** The time of day as the sender of a span or mergelog would write it, in milliseconds after START_NS. */
const agoMs = (clock: TestClock, ms: number): number => clock.wallMs() - Date.UTC(2026, 0, 1) - ms

async function withDatabase(
  settings: CausewaySettings,
  fill: (writer: TestWriter, clock: TestClock) => void,
): Promise<void> {
  mkdirSync(dirname(settings.database))
  const clock = new TestClock(Date.now() - 60_000)
  using writer = await TestWriter.open({}, settings.database, clock)
  fill(writer, clock)
  writer.pass(11_000)
}

test('before the first start, nothing fails', async () => {
  const settings = await freshSettings()
  const { code, stderr, state, of, findings } = await examined(settings)
  expect([code, stderr, state]).toEqual([0, '', 'warn'])
  expect(of('causeway')).toEqual(['ok: does not run on this database'])
  expect(of('OTLP/gRPC')).toEqual([`ok: 127.0.0.1:${settings.ports.grpc} is free`])
  expect(of('database')).toEqual([
    `ok: ${settings.database} is not there yet; causeway makes it when it starts`,
  ])
  expect(findings.filter((finding) => finding.state !== 'ok').map(({ check }) => check)).toEqual(['backends'])
})

test('connections for which too few files may be open are a warning, with how many it takes', async () => {
  const settings = await freshSettings()
  settings.patch = { connectors: { cpid: { admission: { max_connections: 1_000_000_000 } } } }
  const { of } = await examined(settings)
  expect(of('open files')).toEqual([
    expect.stringMatching(
      /^warn: this process may have \d+ files open, too few for the 2000000704 connections that the configuration allows: /,
    ),
  ])
  settings.patch = { connectors: { cpid: { admission: { max_connections: 1 } } } }
  expect((await examined(settings)).of('open files')[0]).toMatch(/^ok: \d+ may be open, which is enough$/)
})

test('files with certificates that nobody would take, or that cannot be read, are failures', async () => {
  const settings = await freshSettings()
  const write = (name: string, text: string): string => {
    writeFileSync(join(settings.home, name), text)
    return join(settings.home, name)
  }
  const { cert, key } = new Authority().issue({ to: '20210101000000Z' })
  const old = { cert_file: write('old.crt', cert), key_file: write('old.key', key) }
  settings.exporters = {
    otlp_grpc: { endpoint: '127.0.0.1:1', tls: { ...old, cert_file: join(settings.home, 'none.crt') } },
    otlp_http: { endpoint: 'https://127.0.0.1:1', tls: old },
  }
  settings.patch = { receivers: { otlp: { protocols: { http: { tls: old } } } } }
  const { code, of } = await examined(settings)
  expect(code).toBe(1)
  const expired =
    /shows a certificate \(tls::cert_file .*old\.crt\) that expired at 2021-01-01T00:00:00\.000Z: .*; put a new one/
  expect(of('files')).toEqual([
    expect.stringMatching(new RegExp(`^fail: receiver otlp ${expired.source}`)),
    expect.stringMatching(
      /^fail: exporter otlp_grpc cannot read tls::cert_file: .*none\.crt.*; correct the path$/,
    ),
    expect.stringMatching(new RegExp(`^fail: exporter otlp_http ${expired.source}`)),
  ])
})

test('text has a line for each finding, and advice below it', async () => {
  const settings = await freshSettings()
  const { code, stdout } = await doctor(argumentsFor(settings))
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ok {4}configuration {4}is right\n/)
  expect(stdout).toMatch(/\nwarn {2}backends {9}no pipeline sends traces on.*\n {23}→ add an exporter/)
  expect(stdout).toMatch(/\n\n\d+ ok, 1 warning, 0 failed\n$/)
})

test('beside a running Causeway whose backend answers', async () => {
  const backend = await freshSettings({ forwardedMetrics: {} })
  await using behind = await startCauseway(backend)
  const exporters = { 'otlp_grpc/behind': exporterTo(backend.ports.grpc) }
  const settings = await freshSettings({ exporters, logExporters: exporters, forwardedMetrics: exporters })
  await using causeway = await startCauseway(settings)
  const { code, of, findings } = await examined(settings)
  expect(findings.filter(({ state }) => state === 'fail')).toEqual([])
  expect(code).toBe(0)
  expect(of('causeway')).toEqual(['ok: runs on this database'])
  for (const check of ['OTLP/gRPC', 'OTLP/HTTP', 'query API', 'health check', 'metrics']) {
    expect(of(check)).toEqual([expect.stringMatching(/^ok: Causeway listens on 127\.0\.0\.1:\d+$/)])
  }
  expect(of('writing')).toEqual(['ok: the database can be written'])
  expect(of('integrity')).toEqual(['ok: every page of the database is sound'])
  expect(of('backends')).toEqual([
    `ok: otlp_grpc/behind answers OTLP/gRPC at 127.0.0.1:${backend.ports.grpc}`,
    `ok: otlp_grpc/behind answers OTLP/gRPC logs at 127.0.0.1:${backend.ports.grpc}`,
    `ok: otlp_grpc/behind answers OTLP/gRPC metrics at 127.0.0.1:${backend.ports.grpc}`,
  ])
  expect(of('exporters')).toEqual([
    'ok: otlp_grpc/behind has sent everything',
    'ok: otlp_grpc/behind (metrics) has sent everything',
    'ok: otlp_grpc/behind (logs) has sent everything',
  ])
  expect(of('arrivals')).toEqual(['warn: nothing has arrived yet'])
  await causeway.end('SIGTERM')
  await behind.end('SIGTERM')
})

test('what was set aside is told of, with why', async () => {
  const settings = await freshSettings()
  mkdirSync(dirname(settings.database), { recursive: true })
  const writer = await TestWriter.open({}, settings.database)
  const reason = 'no CPID has the number 7'
  const aside = { kind: 'span', item: 7, cpid: undefined, exporter: undefined, reason }
  writer.writer.setAside([{ stage: 'linking', ...aside }])
  writer[Symbol.dispose]()
  const { code, of } = await examined(settings)
  expect(code).toBe(0)
  expect(of('linking')).toEqual([
    'warn: 1 item had to be set aside; the newest at 2026-01-01T00:00:00.000Z: no CPID has the number 7',
  ])
})

test('a Causeway that runs with other ports than the configuration names', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  const [http = 0] = await freePorts(1)
  await using silence = createServer((socket) => socket.resume())
  await once(silence.listen(0, '127.0.0.1'), 'listening')
  const { code, of } = await examined(
    settings,
    '--set',
    `receivers.otlp.protocols.http.endpoint=127.0.0.1:${http}`,
    '--set',
    `extensions.cpid_query.endpoint=127.0.0.1:${(silence.address() as AddressInfo).port}`,
  )
  expect(code).toBe(1)
  expect(of('OTLP/HTTP')).toEqual([
    `fail: a Causeway holds the database, but nothing answers on 127.0.0.1:${http} (ECONNREFUSED)`,
  ])
  expect(of('query API')).toEqual([
    expect.stringMatching(/^warn: 127\.0\.0\.1:\d+ accepts connections, but did not answer .* within 3 s$/),
  ])
  await causeway.end('SIGTERM')
})

test('ports that others have, and backends that are not there or speak something else', async () => {
  const settings = await freshSettings()
  await using taken = await occupy(settings.ports.grpc)
  const other = await freshSettings()
  await using running = await startCauseway(other)
  const [dead = 0] = await freePorts(1)
  settings.exporters = {
    'otlp_grpc/dead': exporterTo(dead),
    'otlp_http/confused': { endpoint: `http://127.0.0.1:${other.ports.query}` },
    debug: {},
  }
  const { code, stderr, of } = await examined({
    ...settings,
    ports: { ...settings.ports, health: other.ports.health },
  })
  expect(code).toBe(1)
  expect(stderr).toBe('Error: 4 checks failed; do what each line says, then run doctor again\n')
  expect(of('OTLP/gRPC')).toEqual([
    `fail: another program listens on 127.0.0.1:${taken.port}, and none runs on this database`,
  ])
  expect(of('health check')).toEqual([
    `fail: a Causeway on another database listens on 127.0.0.1:${other.ports.health}, and none runs on this database`,
  ])
  expect(of('backends')).toEqual([
    `fail: otlp_grpc/dead cannot be reached at 127.0.0.1:${dead}: nothing listens there`,
    expect.stringContaining(
      `fail: otlp_http/confused at http://127.0.0.1:${other.ports.query}/v1/traces does not take OTLP/HTTP: `,
    ),
    'ok: debug prints to the log',
  ])
  await running.end('SIGTERM')
})

test('senders that are set up well', async () => {
  const settings = await freshSettings()
  await withDatabase(settings, (writer, clock) => {
    writer.mergelogs('kubectl', [{ new: cpid(1), time: agoMs(clock, 200) }])
    writer.spans('kubectl', [{ trace: 1, id: 1, cpid: cpid(1), start: agoMs(clock, 100) }])
    writer.spans('etcd', [{ trace: 2, id: 2, start: agoMs(clock, 100) }])
  })
  const { of, code, findings } = await examined(settings)
  expect(findings.filter(({ state }) => state === 'fail')).toEqual([])
  expect(code).toBe(0)
  expect(of('CPIDs')).toEqual(['ok: 1 service of 2 carry CPIDs; without any: etcd'])
  expect(of('mergelogs')).toEqual(['ok: mergelogs arrive for the CPIDs seen'])
  expect(of('clocks')).toEqual(['ok: the clocks of 2 senders look right'])
  expect(of('refusals')).toEqual(['ok: nothing was refused in the last day'])
})

test('missing mergelogs, wrong clocks and refusals name their service', async () => {
  const settings = await freshSettings({ linking: { wait: '10s' } })
  await withDatabase(settings, (writer, clock) => {
    writer.spans('silent', [{ trace: 1, id: 1, cpid: cpid(1), start: agoMs(clock, 100) }])
    writer.mergelogs('half', [{ new: cpid(2), time: agoMs(clock, 100) }])
    writer.spans('half', [
      { trace: 2, id: 2, cpid: cpid(2), start: agoMs(clock, 100) },
      { trace: 3, id: 3, cpid: cpid(3), start: agoMs(clock, 100) },
    ])
    writer.mergelogs('hasty', [{ new: cpid(4), time: agoMs(clock, -5_000) }])
    writer.mergelogs('tardy', [{ new: cpid(5), time: agoMs(clock, 600_000) }])
    writer.spans('sloppy', [{ trace: 4, id: 4, cpid: 'change 7', start: agoMs(clock, 100) }])
    writer.mergelogs('rogue', [{ new: cpid(6), sources: [cpid(6)], time: agoMs(clock, 100) }])
  })
  const { of, code } = await examined(settings)
  expect(code).toBe(1)
  expect(of('mergelogs')).toEqual([
    'warn: half: the mergelogs of 1 of the 2 CPIDs on its newest spans have not arrived',
    'fail: silent: the mergelogs of 1 of the 1 CPID on its newest spans have not arrived',
  ])
  expect(of('clocks')).toEqual([
    'warn: hasty sends times that are 5s ahead of their arrival',
    'warn: everything from tardy arrives at least 10m00s late',
  ])
  expect(of('CPIDs')[0]).toBe(
    'warn: sloppy: the cpid.id of 1 of its 1 newest span is no CPID; such spans count as without one',
  )
  expect(of('refusals')).toEqual(['warn: 1 mergelog of rogue refused in the last day: names_itself'])
})

test('spans without any CPID fail', async () => {
  const settings = await freshSettings()
  await withDatabase(settings, (writer, clock) => {
    writer.spans('etcd', [{ trace: 2, id: 2, start: agoMs(clock, 100) }])
  })
  const { of } = await examined(settings)
  expect(of('CPIDs')).toEqual(['fail: none of the newest spans carries a CPID (etcd)'])
})

test('the size of a database counts what is still in its write-ahead log', async () => {
  const settings = await freshSettings()
  mkdirSync(dirname(settings.database))
  const clock = new TestClock()
  using writer = await TestWriter.open({}, settings.database, clock)
  const spans = Array.from({ length: 1_000 }, (_, at) => ({ trace: 2, id: at + 1, start: agoMs(clock, 100) }))
  writer.spans('etcd', spans)
  const pages = Number(writer.db.pragma('page_count', { simple: true }))
  expect(pages * 4096).toBeGreaterThan(statSync(settings.database).size)
  expect((await examined(settings)).of('database')).toEqual([
    `ok: ${settings.database}, ${pages * 4} KiB, in step with this version`,
  ])
})

test('a file that is no database, one of a newer version, and mistakes in the configuration', async () => {
  const settings = await freshSettings()
  mkdirSync(dirname(settings.database))
  writeFileSync(settings.database, 'this is no database at all')
  expect((await examined(settings)).of('database')).toEqual([
    expect.stringMatching(/^fail: cannot read .+: file is not a database$/),
  ])
  const newer = await freshSettings()
  await withDatabase(newer, () => undefined)
  const db = new Database(newer.database)
  db.exec("INSERT INTO kysely_migration VALUES ('999-from-the-future', '')")
  db.close()
  expect((await examined(newer)).of('database')).toEqual([
    expect.stringContaining('was written by a newer Causeway'),
  ])
  const { of, code } = await examined(newer, '--set', 'nonsense=1', '--set', 'connectors.cpid.max=2')
  expect([code, of('configuration').length]).toEqual([1, 2])
})

test('where the lock beside the database is something else, it says so and goes on', async () => {
  const settings = await freshSettings()
  await withDatabase(settings, () => undefined)
  writeFileSync(`${settings.database}-lock`, 'something else'.repeat(100))
  const { code, of } = await examined(settings)
  expect(code).toBe(1)
  expect(of('causeway')).toEqual([expect.stringMatching(/^fail: cannot lock the database .*-lock/)])
  expect(of('OTLP/gRPC')).not.toEqual([])
  expect(of('database')).not.toEqual([])
})

test('a damaged database', async () => {
  const settings = await freshSettings()
  await withDatabase(settings, (writer, clock) => {
    for (let id = 1; id <= 500; id++) {
      writer.spans('a', [{ trace: id, id, cpid: cpid(id), start: agoMs(clock, 100) }])
    }
  })
  const pages = pagesOf(settings.database, 'spans_by_origin', 'leaf')
  damagePages(settings.database, pages)
  const { of, code } = await examined(settings)
  expect(code).toBe(1)
  expect(of('integrity')).toEqual([expect.stringMatching(/^fail: the database is damaged: /)])
})

test('a query API that asks for a login is well when it turns the doctor away', async () => {
  const settings = await freshSettings({ query: { auth: { authenticator: 'basicauth' } } })
  const patch = { extensions: { basicauth: { htpasswd: { inline: 'alice:word' } } } }
  await using causeway = await startCauseway({ ...settings, patch })
  const page = await fetch(`http://127.0.0.1:${settings.ports.query}/`)
  expect([page.status, page.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringMatching(/^Basic realm=/),
  ])
  const { of } = await examined({ ...settings, patch })
  expect(of('query API')).toEqual([expect.stringMatching(/^ok: Causeway listens on/)])
  await causeway.end('SIGTERM')
})
