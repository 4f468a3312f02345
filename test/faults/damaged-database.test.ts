import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { dirname } from 'node:path'
import { damageBytes, damagePages, pagesOf } from '../support/damage.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { cascadeLoad } from '../process/support/cascade-load.ts'
import { BIN, CausewayProcess, startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'
import {
  argumentsFor,
  exporterTo,
  freshSettings,
  type CausewaySettings,
} from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { healthAnswer } from '../../lab/harness/causeway/health-answer.ts'
import { markerSpan } from '../process/support/marker-span.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { seededRandom } from '../../lab/harness/seeded-random.ts'
import { askStored, storedPositions, storedSpans } from '../../lab/harness/causeway/stored-data.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

const SPANS = 600

leaveNothingBehind()

/** Makes a database with spans that an exporter has still to send. */
async function filled(settings: CausewaySettings): Promise<void> {
  mkdirSync(dirname(settings.database))
  using writer = await TestWriter.open({}, settings.database)
  writer.keepExporters('traces', ['otlp_grpc'])
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  for (let id = 1; id <= SPANS; id++) writer.spans('controller', [{ trace: id, id, cpid: cpid(1) }])
  writer.link()
}

/** What the database and its write-ahead log hold, as hashes. */
const filesOf = ({ database }: CausewaySettings): string[] =>
  [database, `${database}-wal`].map((path) => hash('sha256', readFileSync(path)))

/** What a command says. */
const run = (words: readonly string[]): string =>
  execFileSync(process.execPath, [BIN, ...words], { encoding: 'utf8', stdio: 'pipe' })

test('a damaged header: it says so with a way out, changes nothing and ends', async () => {
  const settings = await freshSettings()
  await filled(settings)
  damageBytes(settings.database, 0, 100)
  await using causeway = new CausewayProcess(settings)
  expect((await causeway.ending()).code).toBe(1)
  expect(causeway.complaints).toEqual([
    expect.stringMatching(/cannot open the database .*causeway doctor.*causeway salvage/),
  ])
})

test('a damaged table that the start reads: likewise', async () => {
  const settings = await freshSettings()
  await filled(settings)
  damagePages(settings.database, pagesOf(settings.database, 'progress', 'leaf'))
  await using causeway = new CausewayProcess(settings)
  expect((await causeway.ending()).code).toBe(1)
  expect(causeway.complaints).toEqual([expect.stringMatching(/malformed.*causeway doctor.*causeway salvage/)])
})

test('a damaged index met while storing: nothing more is acknowledged or written, the rest goes on, and it stays up', async () => {
  await using backend = await TraceBackend.down()
  const settings = await freshSettings({ exporters: { otlp_grpc: exporterTo(backend.port) } })
  await filled(settings)
  const index = 'sqlite_autoindex_requests_1'
  damagePages(settings.database, pagesOf(settings.database, index, 'leaf'))
  await using causeway = await startCauseway(settings)
  const sender = new RequestSender(settings.ports.grpc)
  const sending = sender.send(markerSpan('after the damage'))
  await eventually(async () => {
    expect(await healthAnswer(settings)).toEqual({
      code: 503,
      reasons: expect.stringMatching(/the database is damaged.*causeway salvage/),
    })
    expect([...sender.failures]).toEqual([status.UNAVAILABLE])
  })
  const before = { positions: storedPositions(settings), files: filesOf(settings) }
  await backend.comeUp()
  await eventually(() => expect(backend.spans.length).toBe(SPANS + 1))
  expect((await fetch(`http://127.0.0.1:${settings.ports.query}/api/v1/cpids/${cpid(1)}`)).status).toBe(200)
  sender[Symbol.dispose]()
  await sending
  await eventually(() => expect(causeway.errors.match(/The database cannot be used/g)).toHaveLength(1))
  const salvaging = ['salvage', `${settings.database}.new`, ...argumentsFor(settings)]
  expect(() => run(salvaging)).toThrow(/another Causeway is running/)
  expect(filesOf(settings)).toEqual(before.files)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  // Where the exporter stands would be written at the end at the latest.
  expect(storedPositions(settings)).toEqual(before.positions)

  expect(run(salvaging)).toMatch(/^spans: 600 rows$[^]*^every row could be read$/m)
  for (const end of ['', '-wal', '-shm']) rmSync(`${settings.database}${end}`, { force: true })
  renameSync(`${settings.database}.new`, settings.database)
  await using mended = await startCauseway(settings)
  using again = new RequestSender(settings.ports.grpc)
  await again.send(markerSpan('after the damage'))
  await eventually(() => expect(backend.names).toContain('after the damage'))
  expect(await mended.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('damaged spans met while sending and answering: both say so, and what is whole is taken in and stays up', async () => {
  await using backend = await TraceBackend.up()
  const settings = await freshSettings({ exporters: { otlp_grpc: exporterTo(backend.port) } })
  await filled(settings)
  const leaves = pagesOf(settings.database, 'spans', 'leaf')
  damagePages(settings.database, leaves.slice(2, 4))
  // It may meet the damage before anybody asks for its health.
  await using causeway = new CausewayProcess(settings)
  await eventually(async () => {
    expect((await healthAnswer(settings)).reasons).toMatch(/the database is damaged/)
  })
  // The port may not listen yet.
  const answer = await eventually(() =>
    fetch(`http://127.0.0.1:${settings.ports.query}/api/v1/cpids/${cpid(1)}/spans`),
  )
  expect(answer.status).toBe(500)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.send(markerSpan('beside the damage'))
  await eventually(() => expect(causeway.errors).toContain('The database cannot be used.'))
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('garbage in the write-ahead log: what was stored before it is there, whole, and it goes on', async () => {
  const load = cascadeLoad(seededRandom(51), 20)
  const settings = await freshSettings()
  using sender = new RequestSender(settings.ports.grpc)
  const first = await startCauseway(settings)
  await sender.sendAll(load.requests)
  await first.end('SIGKILL')
  const wal = `${settings.database}-wal`
  const length = statSync(wal).size
  damageBytes(wal, Math.floor(length / 2), Math.floor(length / 4))
  await using second = await startCauseway(settings)
  expect(askStored(settings, (db) => db.pragma('integrity_check', { simple: true }))).toBe('ok')
  const kept = storedSpans(settings)
  expect(kept.length).toBeLessThan(load.spans.length)
  expect(new Set(load.spans.map(({ origin, spanId }) => `${origin}/${spanId}`))).toEqual(
    new Set([...kept, ...load.spans.map(({ origin, spanId }) => `${origin}/${spanId}`)]),
  )
  await sender.sendAll(load.requests)
  expect(storedSpans(settings)).toHaveLength(load.spans.length)
  expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null })
})
