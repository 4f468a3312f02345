import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { startCauseway } from '../../../lab/harness/causeway/causeway-process.ts'
import { exporterTo, freshSettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { ownMetric } from '../../../lab/harness/causeway/scraped-metrics.ts'
import { storedPositions, storedProgress } from '../../../lab/harness/causeway/stored-data.ts'
import { RequestSender } from '../../../lab/harness/clients/request-sender.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import { seededRandom } from '../../../lab/harness/seeded-random.ts'
import { type Behaviour, refusing, takesAll, TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { DROPPING, WILL_RETRY } from '../../../src/exporter/open-transport.ts'
import { partialSuccess } from '../../exporter/otlp-bytes.ts'
import { cascadeLoad } from '../support/cascade-load.ts'
import { expectDelivered, oneOfEach } from '../support/expect-delivered.ts'
import { leaveNothingBehind } from '../support/leave-nothing-behind.ts'
import { markerSpan } from '../support/marker-span.ts'

leaveNothingBehind()

const SMALL_BATCHES = { sending_queue: { batch: { max_size: 20 } } }

test('a backend that answers no request in time, and one that is unavailable every other time, get everything', async () => {
  const load = cascadeLoad(seededRandom(31), 20)
  await using slow = await TraceBackend.up((reply, spans, nth) => {
    if (nth > 5) takesAll(reply, spans, nth)
  })
  await using flapping = await TraceBackend.up((reply, spans, nth) => {
    ;(nth % 2 === 1 ? refusing(status.UNAVAILABLE) : takesAll)(reply, spans, nth)
  })
  const settings = await freshSettings({
    exporters: {
      'otlp_grpc/slow': exporterTo(slow.port, { ...SMALL_BATCHES, timeout: '500ms' }),
      'otlp_grpc/flapping': exporterTo(flapping.port, SMALL_BATCHES),
    },
  })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.sendAll(load.requests)
  await expectDelivered(settings, slow, load.spans)
  await expectDelivered(settings, flapping, load.spans)
  await eventually(() => expect(causeway.errors).toContain(WILL_RETRY))
})

test('what a backend refuses for good is counted and passed over; the rest and what comes later arrive', async () => {
  const load = cascadeLoad(seededRandom(32), 5)
  const refusesPoison: Behaviour = (reply, spans, nth) => {
    const isPoisoned = spans.some((span) => span.name === 'poison')
    ;(isPoisoned ? refusing(status.INVALID_ARGUMENT) : takesAll)(reply, spans, nth)
  }
  await using picky = await TraceBackend.up(refusesPoison)
  await using partial = await TraceBackend.up((reply, spans, nth) => {
    if (spans.some((span) => span.name === 'poison')) reply(null, partialSuccess(1, 'one was bad'))
    else takesAll(reply, spans, nth)
  })
  await using closed = await TraceBackend.up((reply, spans, nth) => {
    const isOver = spans.some((span) => span.name === 'later')
    ;(isOver ? takesAll : refusing(status.PERMISSION_DENIED))(reply, spans, nth)
  })
  const settings = await freshSettings({
    exporters: {
      'otlp_grpc/picky': exporterTo(picky.port),
      'otlp_grpc/partial': exporterTo(partial.port),
      'otlp_grpc/closed': exporterTo(closed.port),
    },
  })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.sendAll([
    ...load.requests,
    markerSpan('poison'),
    ...cascadeLoad(seededRandom(33), 5, 6).requests,
  ])
  const decided = await eventually(() => {
    const { lastDecision, linkedArrival, lastArrival } = storedProgress(settings)
    expect(linkedArrival).toBe(lastArrival)
    expect(Object.values(storedPositions(settings))).toEqual([lastDecision, lastDecision, lastDecision])
    return lastDecision
  })
  await sender.send(markerSpan('later'))
  await eventually(() => {
    for (const backend of [picky, partial, closed]) expect(backend.names).toContain('later')
  })

  expect(picky.names).not.toContain('poison')
  expect(oneOfEach(picky.spans).length).toBe(decided)
  await eventually(async () => {
    expect({
      picky: await ownMetric(settings, 'otelcol_exporter_send_failed_spans', 'otlp_grpc/picky'),
      pickySent: await ownMetric(settings, 'otelcol_exporter_sent_spans', 'otlp_grpc/picky'),
      partial: await ownMetric(settings, 'otelcol_exporter_send_failed_spans', 'otlp_grpc/partial'),
      partialSent: await ownMetric(settings, 'otelcol_exporter_sent_spans', 'otlp_grpc/partial'),
      closed: await ownMetric(settings, 'otelcol_exporter_send_failed_spans', 'otlp_grpc/closed'),
      closedSent: await ownMetric(settings, 'otelcol_exporter_sent_spans', 'otlp_grpc/closed'),
    }).toEqual({
      picky: 1,
      pickySent: decided,
      partial: 1,
      partialSent: decided,
      closed: decided,
      closedSent: 1,
    })
  })
  await eventually(() => expect(causeway.errors).toContain(DROPPING))
})

test('a dead backend holds up no other', async () => {
  const load = cascadeLoad(seededRandom(34), 20)
  await using live = await TraceBackend.up()
  await using dead = await TraceBackend.down()
  const settings = await freshSettings({
    exporters: { 'otlp_grpc/dead': exporterTo(dead.port), 'otlp_grpc/live': exporterTo(live.port) },
  })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.sendAll(load.requests)
  await expectDelivered(settings, live, load.spans)
  await eventually(async () => {
    const { lastDecision } = storedProgress(settings)
    expect(storedPositions(settings)).toEqual({ 'otlp_grpc/dead': 0, 'otlp_grpc/live': lastDecision })
    expect(await ownMetric(settings, 'otelcol_exporter_queue_size', 'otlp_grpc/dead')).toBe(lastDecision)
  })
  await causeway.end('SIGKILL')
})
