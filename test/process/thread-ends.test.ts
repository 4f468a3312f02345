import { expect, test } from '@jest/globals'
import { CausewayProcess, leaveNothingBehind } from './causeway-process.ts'
import { exporterTo, freshSettings } from './causeway-settings.ts'
import { markerSpan } from './marker-span.ts'
import { RequestSender } from './request-sender.ts'
import { storedSpans } from './stored-data.ts'
import { TraceBackend } from './trace-backend.ts'

leaveNothingBehind()

/** Loaded into every thread before its own code: ends the one that runs this file, as its memory limit would, on SIGUSR2. */
const endingThread = (file: string): string => `
  import { isMainThread } from 'node:worker_threads'
  const told = new BroadcastChannel('end')
  if (isMainThread) process.on('SIGUSR2', () => told.postMessage('now'))
  else if (process.argv[1].endsWith('/${file}')) told.onmessage = () => process.exit(1)
  told.unref()`

const loading = (code: string): string[] => [
  'env',
  `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(code)}`,
]

test.each([
  ['store', 'store-thread.ts'],
  ['export', 'export-thread.ts'],
])(
  'when the %s thread ends by itself, Causeway says so and ends with 1; what it acknowledged is kept',
  async (name, file) => {
    await using backend = await TraceBackend.up()
    const settings = await freshSettings({ exporters: { otlp_grpc: exporterTo(backend.port) } })
    await using causeway = new CausewayProcess(settings, process.execPath, loading(endingThread(file)))
    await causeway.ready()
    using sender = new RequestSender(settings.ports.grpc)
    await sender.send(markerSpan('before'))
    process.kill(causeway.pid, 'SIGUSR2')
    expect(await causeway.ending()).toEqual({ code: 1, signal: null })
    expect(causeway.errors).toMatch(new RegExp(`Causeway cannot go on.*the ${name} thread ended by itself`))
    expect(storedSpans(settings)).toHaveLength(1)
  },
)
