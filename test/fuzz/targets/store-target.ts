import { notStrictEqual, strictEqual } from 'node:assert/strict'
import { openDebugTransport } from '../../../src/exporter/debug/debug-transport.ts'
import { outgoingLog } from '../../../src/exporter/drain.ts'
import { buildRequest, outgoingSpan } from '../../../src/model/otlp/outgoing-records.ts'
import { SqliteLogOutbox, SqliteOutbox } from '../../../src/store/sqlite/outbox.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { askEverything } from '../every-question.ts'
import { logRequests, traceRequests } from '../seed-requests.ts'
import type { Target } from '../target.ts'

const ALL = 1_000_000
const MODES = ['cascade', 'links', 'passthrough'] as const

/** Steps of a story: what kind (a byte), how long (two bytes), a request. */
function story(...steps: [kind: number, request: Buffer][]): Buffer {
  return Buffer.concat(
    steps.flatMap(([kind, request]) => [
      Buffer.from([kind, request.length >> 8, request.length & 0xff]),
      request,
    ]),
  )
}

function* stepsOf(input: Buffer): Generator<[kind: number, request: Buffer]> {
  for (let at = 1; at + 3 <= input.length;) {
    const length = input.readUInt16BE(at + 1)
    yield [input[at]! % 4, input.subarray(at + 3, at + 3 + length)]
    at += 3 + length
  }
}

/** Requests go through decoding, the merge graph, linking, settling and pruning, out again, and into every answer. */
export const store: Target = {
  name: 'store',
  shape: 'bytes',
  seeds: () => {
    const [first, second] = traceRequests()
    const [merges, logs] = logRequests()
    const none = Buffer.alloc(0)
    return MODES.map((_, mode) =>
      Buffer.concat([
        Buffer.from([mode]),
        story(
          [0, first!],
          [1, merges!],
          [2, none],
          [0, second!],
          [1, logs!],
          [2, none],
          [3, none],
          [0, first!],
        ),
      ]),
    )
  },
  async run(input) {
    const mode = MODES[(input[0] ?? 0) % 3]!
    using writer = await TestWriter.open({
      linking: { mode, logs: true },
      retention: { maxCpids: 2, maxAgeMs: 600_000 },
    })
    for (const [kind, request] of stepsOf(input)) {
      if (kind === 2) writer.pass(20_000)
      else if (kind === 3) {
        writer.pass(400_000)
        writer.writer.prune(100)
      } else
        notStrictEqual(writer.ingest(kind === 0 ? 'traces' : 'logs', Buffer.from(request)).kind, 'failed')
    }
    writer.link()
    await sendAll(writer)
    askEverything(writer.db)
    writer.pass(20_000)
    writer.pass(2_000_000)
    const { waiting, openTraces } = writer.writer.gauges()
    strictEqual(waiting + openTraces, 0)
    await sendAll(writer)
    askEverything(writer.db)
  },
}

async function sendAll(writer: TestWriter): Promise<void> {
  const spans = new SqliteOutbox(writer.db)
  const logs = new SqliteLogOutbox(writer.db, spans)
  const ready = {
    traces: spans.after(0, ALL).map((item) => ({ scope: item.scope, bytes: outgoingSpan(item) })),
    logs: logs.after(0, ALL).map((item) => ({ scope: item.scope, bytes: outgoingLog(item) })),
  }
  for (const signal of ['traces', 'logs'] as const) {
    const items = ready[signal].flatMap(({ scope, bytes }) => (bytes === undefined ? [] : [{ scope, bytes }]))
    const transport = openDebugTransport({ verbosity: 'detailed', signal, write: () => undefined })
    await transport.send(buildRequest(items, signal === 'traces' ? spans : logs), AbortSignal.timeout(60_000))
  }
}
