import { expect, test } from '@jest/globals'
import { cascadeLoad } from '../support/cascade-load.ts'
import { startCauseway } from '../../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from '../support/leave-nothing-behind.ts'
import {
  exporterTo,
  freshSettings,
  type CausewaySettings,
} from '../../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import { expectDelivered } from '../support/expect-delivered.ts'
import { markerSpan } from '../support/marker-span.ts'
import { RequestSender } from '../../../lab/harness/clients/request-sender.ts'
import { seededRandom } from '../../../lab/harness/seeded-random.ts'
import { storedPositions } from '../../../lab/harness/causeway/stored-data.ts'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'

leaveNothingBehind()

test('after a clean stop nothing is sent again; a new exporter starts at the end; a removed one is forgotten', async () => {
  const load = cascadeLoad(seededRandom(8), 5)
  await using kept = await TraceBackend.up()
  await using other = await TraceBackend.up()
  const [one, two] = [exporterTo(kept.port), exporterTo(other.port)]
  const settings = await freshSettings({ exporters: { 'otlp_grpc/kept': one } })
  using sender = new RequestSender(settings.ports.grpc)

  await runUntil(settings, async () => {
    await sender.sendAll(load.requests)
    await expectDelivered(settings, kept, load.spans)
  })

  const withBoth: CausewaySettings = {
    ...settings,
    exporters: { 'otlp_grpc/kept': one, 'otlp_grpc/other': two },
  }
  const delivered = kept.spans.length
  await runUntil(withBoth, async () => {
    await sender.send(markerSpan('with both'))
    await eventually(() => {
      for (const { names } of [kept, other]) expect(names).toContain('with both')
    })
  })
  expect(kept.spans.slice(delivered).map((span) => span.name)).toEqual(['with both'])
  expect(other.spans.map((span) => span.name)).toEqual(['with both'])
  const [end = 0] = Object.values(storedPositions(settings))
  expect(storedPositions(settings)).toEqual({ 'otlp_grpc/kept': end, 'otlp_grpc/other': end })

  await runUntil(settings, async () => {
    await sender.send(markerSpan('without the other'))
    await eventually(() => expect(kept.names).toContain('without the other'))
  })
  expect(Object.keys(storedPositions(settings))).toEqual(['otlp_grpc/kept'])

  await runUntil(withBoth, async () => {
    await sender.send(markerSpan('with both again'))
    await eventually(() => expect(other.names).toContain('with both again'))
  })
  expect(other.spans.map((span) => span.name)).toEqual(['with both', 'with both again'])
})

/** Runs Causeway as long as the work takes, then stops it cleanly. */
async function runUntil(settings: CausewaySettings, work: () => Promise<void>): Promise<void> {
  await using causeway = await startCauseway(settings)
  await work()
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
}
