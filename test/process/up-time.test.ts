import { expect, test } from '@jest/globals'
import { cpid, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import {
  exporterTo,
  freshSettings,
  type CausewaySettings,
} from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { askStored, storedProgress } from '../../lab/harness/causeway/stored-data.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

const KNOWN = cpid(1)
const UNKNOWN = cpid(2)

leaveNothingBehind()

test('killed in the middle of a wait and of an open trace, it ends both by its own up time', async () => {
  await using backend = await TraceBackend.up()
  const settings = await freshSettings({
    exporters: { otlp_grpc: exporterTo(backend.port) },
    linking: { wait: '15s', settle_after: '20s' },
  })
  using sender = new RequestSender(settings.ports.grpc)
  const first = await startCauseway(settings)
  await sender.send({ signal: 'logs', bytes: mergelogsRequest('controller', [{ new: KNOWN }]) })
  await sender.send({
    signal: 'traces',
    bytes: spansRequest('controller', [
      { trace: 1, id: 1, cpid: KNOWN, name: 'at once' },
      { trace: 2, id: 2, cpid: UNKNOWN, name: 'waits' },
    ]),
  })
  const due = await eventually(() => {
    expect(backend.names).toContain('at once')
    return storedDeadlines(settings)
  })
  await first.end('SIGKILL')
  const { activeMs: before } = storedProgress(settings)
  expect(before).toBeLessThan(due.wait)
  expect(backend.names).not.toContain('waits')

  await using second = await startCauseway(settings)
  /** At least what was still to wait, at most what the second process has been up. */
  const expectUpTime = (least: number): void => {
    const { activeMs } = storedProgress(settings)
    expect(activeMs).toBeGreaterThanOrEqual(least)
    expect(activeMs - before).toBeLessThanOrEqual(performance.now() - second.startedMs)
  }
  await eventually(() => expect(backend.names).toContain('waits'))
  expectUpTime(due.wait)
  await eventually(() => {
    expect(backend.spans.filter((span) => span.name === 'cascade').map((span) => span.traceId)).toContain(
      traceOf(KNOWN),
    )
  })
  expectUpTime(due.settle)
  expect(askStored(settings, (db) => db.prepare('SELECT count(*) FROM waiting').pluck().get())).toBe(0)
})

/** When the one wait and the one open trace end, in up time; throws while there are not both. */
function storedDeadlines(settings: CausewaySettings): { wait: number; settle: number } {
  const due = (table: string): number =>
    askStored(settings, (db) => db.prepare<[], number>(`SELECT due_ms FROM ${table}`).pluck().all()[0] ?? 0)
  const deadlines = { wait: due('waiting'), settle: due('traces WHERE state = 0') }
  expect(Math.min(deadlines.wait, deadlines.settle)).toBeGreaterThan(0)
  return deadlines
}
