import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { type CausewaySettings, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { healthAnswer } from '../../lab/harness/causeway/health-answer.ts'
import { ownMetric } from '../../lab/harness/causeway/scraped-metrics.ts'
import { storedSpans } from '../../lab/harness/causeway/stored-data.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'
import { markerSpan } from '../process/support/marker-span.ts'

leaveNothingBehind()

/** A Causeway whose store thread opens a pipe when it gets SIGUSR2: the system keeps it until somebody writes there. */
async function startToHang(
  settings: CausewaySettings,
): Promise<AsyncDisposable & { causeway: CausewayProcess; pipe: string }> {
  const pipe = join(settings.home, 'pipe')
  execFileSync('mkfifo', [pipe])
  const code = `
    import { openSync } from 'node:fs'
    import { isMainThread } from 'node:worker_threads'
    const told = new BroadcastChannel('hang')
    if (isMainThread) process.on('SIGUSR2', () => told.postMessage('now'))
    else if (process.argv[1].endsWith('/store-thread.ts')) told.onmessage = () => { openSync(${JSON.stringify(pipe)}) }
    told.unref()`
  const options = `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(code)}`
  const causeway = new CausewayProcess(settings, process.execPath, ['env', options])
  await causeway.ready()
  return { causeway, pipe, [Symbol.asyncDispose]: () => causeway[Symbol.asyncDispose]() }
}

test('while the disk hangs the health check and the log say so, and afterwards all goes on', async () => {
  const settings = await freshSettings()
  await using hanging = await startToHang(settings)
  const { causeway, pipe } = hanging
  using sender = new RequestSender(settings.ports.grpc)
  process.kill(causeway.pid, 'SIGUSR2')
  await eventually(async () => {
    const { code, reasons } = await healthAnswer(settings)
    expect([code, reasons]).toEqual([
      503,
      expect.stringMatching(/the store thread has not answered for 20 s/),
    ])
  })
  expect(causeway.errors).toMatch(/The database cannot be used.*the store thread has not answered/)
  expect(await ownMetric(settings, 'cpid_storage_fault')).toBe(1)

  closeSync(openSync(pipe, 'w'))
  await eventually(async () => expect((await healthAnswer(settings)).code).toBe(200))
  expect(causeway.errors).toMatch(/The database can be used again/)
  expect(await ownMetric(settings, 'cpid_storage_fault')).toBe(0)
  await sender.send(markerSpan('after'))
  expect(storedSpans(settings)).toHaveLength(1)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

test.each([
  ['SIGTERM', []],
  ['SIGHUP and SIGTERM', ['SIGHUP'] as const],
])('while the disk hangs, %s ends Causeway', async (_, signals) => {
  const settings = await freshSettings()
  await using hanging = await startToHang(settings)
  const { causeway } = hanging
  process.kill(causeway.pid, 'SIGUSR2')
  for (const signal of signals) {
    process.kill(causeway.pid, signal)
    await eventually(() => expect(causeway.errors).toMatch(/Starting shutdown/))
  }
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(causeway.errors).toMatch(/Shutdown took too long/)
})
