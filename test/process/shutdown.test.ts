import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { cascadeLoad } from './support/cascade-load.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { exporterTo, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { expectDelivered, expectStoredOnce } from './support/expect-delivered.ts'
import { receivedSpans } from '../../lab/harness/sinks/received-spans.ts'
import { RequestSender, type SendableRequest } from '../../lab/harness/clients/request-sender.ts'
import { seededRandom } from '../../lab/harness/seeded-random.ts'
import { storedSpans } from '../../lab/harness/causeway/stored-data.ts'
import { neverAnswers, takesAll, TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

const LONGEST_SHUTDOWN_MS = 10_000

/** What the OTLP specification lets a sender send again. */
const RETRYABLE = [
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.OUT_OF_RANGE,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]

leaveNothingBehind()

test.each(['SIGTERM', 'SIGINT'] as const)(
  'under load, with a dead, a hanging and a live backend, %s ends it with 0 within 10 s and loses nothing acknowledged',
  endUnderLoad,
)

async function endUnderLoad(signal: NodeJS.Signals): Promise<void> {
  const load = cascadeLoad(seededRandom(4), 60)
  await using dead = await TraceBackend.down()
  await using hanging = await TraceBackend.up(neverAnswers)
  await using live = await TraceBackend.up()
  const settings = await freshSettings({
    exporters: {
      'otlp_grpc/dead': exporterTo(dead.port),
      'otlp_grpc/hanging': exporterTo(hanging.port),
      'otlp_grpc/live': exporterTo(live.port),
    },
  })
  using sender = new RequestSender(settings.ports.grpc)

  await using first = await startCauseway(settings)
  const sending = sender.sendAll(load.requests)
  await eventually(() => {
    expect(sender.acknowledged.size).toBeGreaterThan(load.requests.length / 4)
    expect(hanging.requests).toBeGreaterThan(0)
  })
  const ending = first.ending(LONGEST_SHUTDOWN_MS)
  process.kill(first.pid, signal)
  expect(await ending).toEqual({ code: 0, signal: null })
  expect(first.complaints).toEqual([])
  expectAcknowledgedStored(storedSpans(settings), sender.acknowledged)

  hanging.behaviour = takesAll
  await dead.comeUp()
  await using second = await startCauseway(settings)
  await sending
  for (const code of sender.failures) expect(RETRYABLE).toContain(code)
  for (const backend of [dead, hanging, live]) await expectDelivered(settings, backend, load.spans)
  expect(await second.end(signal)).toEqual({ code: 0, signal: null })
  expectStoredOnce(settings, load.spans)
}

/** Every span of these requests is stored once. */
function expectAcknowledgedStored(stored: readonly string[], requests: Iterable<SendableRequest>): void {
  expect(new Set(stored).size).toBe(stored.length)
  const missing = [...requests]
    .filter(({ signal }) => signal === 'traces')
    .flatMap(({ bytes }) => receivedSpans(bytes))
    .map(({ traceId, spanId }) => `${traceId}/${spanId}`)
    .filter((key) => !stored.includes(key))
  expect(missing).toEqual([])
}
