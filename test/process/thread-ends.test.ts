import { expect, test } from '@jest/globals'
import { CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { freePort } from '../../lab/harness/free-ports.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { exporterTo, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { markerSpan } from './support/marker-span.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { storedSpans } from '../../lab/harness/causeway/stored-data.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

leaveNothingBehind()

/** Loaded into every thread before its own code: in the one that runs this file, does this on SIGUSR2. */
const inThread = (file: string, act: string): string => `
  import { isMainThread } from 'node:worker_threads'
  const told = new BroadcastChannel('end')
  if (isMainThread) process.on('SIGUSR2', () => told.postMessage('now'))
  else if (process.argv[1].endsWith('/${file}')) told.onmessage = () => { ${act} }
  told.unref()`

const loading = (code: string): string[] => [
  'env',
  `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(code)}`,
]

test.each([
  ['store', 'store-thread.ts', 'process.exit(1)', 'exit code 1'],
  ['export', 'export-thread.ts', 'process.exit(1)', 'exit code 1'],
  ['store', 'store-thread.ts', 'null.unplugged()', 'TypeError: .*unplugged.*, at'],
  ['export', 'export-thread.ts', 'null.unplugged()', 'TypeError: .*unplugged.*, at'],
])(
  'when the %s thread (%s) ends by %s, Causeway says why and ends with 1; what it acknowledged is kept',
  async (name, file, act, why) => {
    await using backend = await TraceBackend.up()
    const settings = await freshSettings({ exporters: { otlp_grpc: exporterTo(backend.port) } })
    await using causeway = new CausewayProcess(settings, process.execPath, loading(inThread(file, act)))
    await causeway.ready()
    using sender = new RequestSender(settings.ports.grpc)
    await sender.send(markerSpan('before'))
    process.kill(causeway.pid, 'SIGUSR2')
    expect(await causeway.ending()).toEqual({ code: 1, signal: null })
    expect(causeway.errors).toMatch(
      new RegExp(`Causeway cannot continue.*the ${name} thread ended by itself \\(${why}`),
    )
    expect(storedSpans(settings)).toHaveLength(1)
  },
)

test('when the query thread ends by itself, Causeway says why, and the next question is answered', async () => {
  const settings = await freshSettings({})
  const act = inThread('query-thread.ts', 'null.unplugged()')
  await using causeway = new CausewayProcess(settings, process.execPath, loading(act))
  await causeway.ready()
  const ask = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${settings.ports.query}/api/v1/cascades`)).status
  expect(await ask()).toBe(200)
  process.kill(causeway.pid, 'SIGUSR2')
  const why = /the query thread ended by itself \(TypeError: .*unplugged/
  await eventually(() => expect(causeway.errors).toMatch(why))
  expect(await ask()).toBe(200)
})

test('when the thread that answers admissions ends by itself, Causeway says why, and another answers', async () => {
  const port = await freePort()
  const settings = await freshSettings({})
  const receivers = { k8s_admission: { cluster: 'prod', endpoint: `127.0.0.1:${port}` } }
  const pipelines = { 'traces/in': { receivers: ['otlp', 'k8s_admission'] } }
  const patch = { receivers, service: { pipelines } }
  const act = inThread('admission-thread.ts', 'null.unplugged()')
  await using causeway = new CausewayProcess({ ...settings, patch }, process.execPath, loading(act))
  await causeway.ready()
  const ask = async (): Promise<unknown> => {
    const body = JSON.stringify({ request: { uid: 'r1' } })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
    return ((await answer.json()) as { response: unknown }).response
  }
  expect(await ask()).toEqual({ uid: 'r1', allowed: true })
  process.kill(causeway.pid, 'SIGUSR2')
  const why = /the thread that answers admissions ended by itself \(TypeError: .*unplugged/
  await eventually(() => expect(causeway.errors).toMatch(why))
  await eventually(async () => expect(await ask()).toEqual({ uid: 'r1', allowed: true }))
})
