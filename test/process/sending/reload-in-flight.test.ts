import { createServer } from 'node:http'
import { expect, test } from '@jest/globals'
import { type CausewayProcess, startCauseway } from '../../../lab/harness/causeway/causeway-process.ts'
import { exporterTo, freshSettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { RequestSender } from '../../../lab/harness/clients/request-sender.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import { startHttpBackend } from '../../../lab/harness/sinks/http-backend.ts'
import { neverAnswers, takesAll, TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { leaveNothingBehind } from '../support/leave-nothing-behind.ts'
import { markerSpan } from '../support/marker-span.ts'

leaveNothingBehind()

async function reload(causeway: CausewayProcess, whileStopping: () => Promise<void>): Promise<void> {
  process.kill(causeway.pid, 'SIGHUP')
  await whileStopping()
  await eventually(() => expect(causeway.errors.split('Everything is ready')).toHaveLength(3))
  await causeway.ready()
}

test('what a backend is about to take when Causeway reloads is not sent again', async () => {
  const held = Promise.withResolvers<undefined>()
  await using backend = await TraceBackend.up((reply, spans, nth) => {
    if (nth > 1) takesAll(reply, spans, nth)
    else void held.promise.then(() => takesAll(reply, spans, nth))
  })
  // Causeway closes its connection once it sends nothing more to it.
  const idle = Promise.withResolvers<undefined>()
  await using other = await startHttpBackend(
    (response, { socket }) => {
      response.end()
      socket.on('close', () => idle.resolve(undefined))
    },
    createServer({ keepAliveTimeout: 0 }),
  )
  const exporters = {
    otlp_grpc: exporterTo(backend.port),
    otlp_http: { endpoint: new URL(other.url).origin, tls: { insecure: true } },
  }
  const settings = await freshSettings({ exporters })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.send(markerSpan('in flight'))
  await eventually(() => expect([backend.requests, other.requests.length]).toEqual([1, 1]))
  await reload(causeway, async () => {
    await idle.promise
    held.resolve(undefined)
  })
  await sender.send(markerSpan('later'))
  await eventually(() => expect(backend.names).toContain('later'))
  expect(backend.spans.map(({ name }) => name)).toEqual(['in flight', 'later'])
})

test('a backend that never answers, and one that is down, hold up no reload', async () => {
  await using hanging = await TraceBackend.up(neverAnswers)
  await using dead = await TraceBackend.down()
  const exporters = {
    'otlp_grpc/hanging': exporterTo(hanging.port, { timeout: '300s' }),
    'otlp_grpc/dead': exporterTo(dead.port, { retry_on_failure: { initial_interval: '300s' } }),
  }
  const settings = await freshSettings({ exporters })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.send(markerSpan('unanswered'))
  await eventually(() => expect(hanging.requests).toBe(1))
  await eventually(() => expect(causeway.errors).toContain('Will retry'))
  await reload(causeway, async () => {
    await eventually(() => expect(causeway.errors).toContain('Starting shutdown'))
    hanging.behaviour = takesAll
    await dead.comeUp()
  })
  for (const backend of [hanging, dead]) await eventually(() => expect(backend.names).toContain('unanswered'))
})
