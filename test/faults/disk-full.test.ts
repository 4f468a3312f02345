import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { cascadeLoad } from '../process/support/cascade-load.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'
import {
  exporterTo,
  freshSettings,
  type CausewaySettings,
} from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { expectDelivered, expectStoredOnce } from '../process/support/expect-delivered.ts'
import { healthAnswer } from '../../lab/harness/causeway/health-answer.ts'
import { ownMetric } from '../../lab/harness/causeway/scraped-metrics.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { seededRandom } from '../../lab/harness/seeded-random.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

leaveNothingBehind()

test('where a file cannot grow, senders are told to try again, the reason is said, and it goes on by itself', async () => {
  const [before, during] = [cascadeLoad(seededRandom(41), 5), cascadeLoad(seededRandom(42), 40, 6)]
  await using backend = await TraceBackend.up()
  const settings = await freshSettings({ exporters: { otlp_grpc: exporterTo(backend.port) } })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.sendAll(before.requests)
  await expectDelivered(settings, backend, before.spans)

  limitFiles(causeway.pid, String(statSync(`${settings.database}-wal`).size))
  const sending = sender.sendAll(during.requests)
  await eventually(async () => {
    expect(await healthAnswer(settings)).toEqual({
      code: 503,
      reasons: expect.stringMatching(/the disk of the database fails.*look for it/),
    })
    expect(await post(settings, '{"resourceSpans":[]}')).toMatchObject({
      code: 503,
      said: expect.stringContaining('the disk of the database fails'),
    })
    expect(await ownMetric(settings, 'cpid_storage_fault')).toBe(1)
  })
  await eventually(() => {
    expect([...sender.failures]).toEqual([status.UNAVAILABLE])
    expect(causeway.errors).toContain('The database cannot be used.')
  })
  expect((await fetch(`http://127.0.0.1:${settings.ports.query}/api/v1/cascades`)).status).toBe(200)

  limitFiles(causeway.pid, 'unlimited')
  await sending
  await eventually(async () => expect(await healthAnswer(settings)).toEqual({ code: 200, reasons: '' }))
  await eventually(async () => expect(await ownMetric(settings, 'cpid_storage_fault')).toBe(0))
  await eventually(() => expect(causeway.errors).toContain('The database can be used again.'))
  const all = [...before.spans, ...during.spans]
  await expectDelivered(settings, backend, all)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expectStoredOnce(settings, all)
})

test('a reload while a file cannot grow is refused, and what runs goes on', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  await letNoFileGrow(settings, causeway.pid)
  process.kill(causeway.pid, 'SIGHUP')
  await eventually(() => expect(causeway.errors).toMatch(/not used.*disk.*reload again after that/))
  expect((await fetch(`http://127.0.0.1:${settings.ports.query}/api/v1/cascades`)).status).toBe(200)
  limitFiles(causeway.pid, 'unlimited')
  await eventually(async () => expect(await healthAnswer(settings)).toEqual({ code: 200, reasons: '' }))
  process.kill(causeway.pid, 'SIGHUP')
  await eventually(() => expect(causeway.errors).toContain('restarting with it'))
  await causeway.ready()
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('it stops cleanly while a file cannot grow', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  await letNoFileGrow(settings, causeway.pid)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(causeway.complaints).toEqual([])
})

/** From here on no file can grow, and Causeway has found that out. */
async function letNoFileGrow(settings: CausewaySettings, pid: number): Promise<void> {
  limitFiles(pid, '0')
  await eventually(async () => {
    await post(settings, '{"resourceSpans":[]}')
    expect((await healthAnswer(settings)).code).toBe(503)
  })
}

/** What no file of the process may grow beyond, in bytes; a disk that is full does the same, but takes a disk. */
function limitFiles(pid: number, most: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${most}:`])
}

async function post({ ports }: CausewaySettings, body: string): Promise<{ code: number; said: string }> {
  const response = await fetch(`http://127.0.0.1:${ports.http}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  return { code: response.status, said: await response.text() }
}
