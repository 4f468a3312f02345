import { expect, test } from '@jest/globals'
import { type BrokenDecision, Drain, type DrainProgress, outgoingSpans } from '../../src/exporter/drain.ts'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import { type SendOutcome, SENT_PATCHED, type Transport } from '../../src/model/outbox.ts'
import { SqliteOutbox } from '../../src/store/sqlite/outbox.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { DELIVERED, refused, retry, scripted } from './scripted-transport.ts'
import { going } from './transport-settings.ts'

const SPANS = 40

async function filled(): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  const ids = Array.from({ length: SPANS }, (_, at) => at + 1)
  writer.spans(
    'controller',
    ids.map((id) => ({ trace: id, id, cpid: cpid(1) })),
  )
  writer.link()
  return writer
}

interface Drained {
  progress: DrainProgress[]
  dropped: number
  broken: BrokenDecision[]
  drain: Drain
}

/** Drains until `isEnough`, then stops. */
async function drained(
  writer: TestWriter,
  transport: Transport,
  isEnough: (progress: DrainProgress) => boolean,
  position = 0,
  whenRunning: (drain: Drain) => void = () => undefined,
): Promise<Drained> {
  const stop = new AbortController()
  const result: Drained = { progress: [], dropped: 0, broken: [], drain: undefined as unknown as Drain }
  result.drain = new Drain(
    { batchMaxItems: 8, batchMaxBytes: 1_000_000, consumers: 3 },
    position,
    outgoingSpans(new SqliteOutbox(writer.db)),
    transport,
    {
      onProgress: (progress) => {
        result.progress.push(progress)
        if (isEnough(progress)) stop.abort()
      },
      onDrop: ({ items }) => (result.dropped += items),
      onInFlight: () => undefined,
      onUnreadable: () => undefined,
      onBroken: (broken) => result.broken.push(...broken),
    },
  )
  const ran = result.drain.run(stop.signal)
  whenRunning(result.drain)
  await ran
  return result
}

const namesIn = (request: Uint8Array): string[] => {
  const json = jsonOfProtobuf('ExportTraceServiceRequest', request) as unknown as {
    resourceSpans: { scopeSpans: { spans: { name: string }[] }[] }[]
  }
  return json.resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map(({ name }) => name)),
  )
}

test('sends everything once, in batches, and moves in order', async () => {
  using writer = await filled()
  const last = writer.writer.progress.lastDecision
  const transport = scripted(() => DELIVERED)
  const { progress } = await drained(writer, transport, ({ position }) => position === last)
  const names = transport.sent.flatMap(namesIn)
  expect(names.sort()).toEqual(
    ['change', ...Array.from({ length: SPANS }, (_, at) => `span ${at + 1}`)].sort(),
  )
  expect(transport.sent.every((request) => namesIn(request).length <= 8)).toBe(true)
  const positions = progress.map(({ position }) => position)
  expect(positions).toEqual([...positions].sort((a, b) => a - b))
})

test('a batch that stays behind holds the position back, however fast later ones are', async () => {
  using writer = await filled()
  const release = Promise.withResolvers<SendOutcome>()
  let sent = 0
  const transport: Transport = {
    send: () => {
      sent++
      if (sent === 3) release.resolve(DELIVERED)
      return sent === 1 ? release.promise : Promise.resolve(DELIVERED)
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  const { progress } = await drained(writer, transport, () => true)
  expect(progress[0]?.position).toBe(8)
})

test.each([
  ['when it is the last', 2],
  ['when what came after it was delivered', 3],
])('what a stop leaves unfinished is not passed over %s', async (_, last) => {
  using writer = await filled()
  const stop = new AbortController()
  const moved: number[] = []
  const second = Promise.withResolvers<SendOutcome>()
  let sent = 0
  const transport: Transport = {
    send: () => {
      if (++sent === last) {
        stop.abort()
        second.resolve(retry())
      }
      return sent === 2 ? second.promise : Promise.resolve(DELIVERED)
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  const drain = drainInto(moved, writer, transport, 4)
  await drain.run(stop.signal)
  expect(sent).toBe(last)
  expect(moved).toEqual([8])
  expect(drain.position).toBe(8)
})

/** Sends eight spans a batch, and adds each position that it reaches to a list. */
function drainInto(moved: number[], writer: TestWriter, transport: Transport, consumers: number): Drain {
  return new Drain(
    { batchMaxItems: 8, batchMaxBytes: 1_000_000, consumers },
    0,
    outgoingSpans(new SqliteOutbox(writer.db)),
    transport,
    {
      onProgress: ({ position }) => moved.push(position),
      onDrop: () => undefined,
      onInFlight: () => undefined,
      onUnreadable: () => undefined,
      onBroken: () => undefined,
    },
  )
}

test('what is in flight when it is to finish is sent, and nothing else', async () => {
  using writer = await filled()
  const answers: PromiseWithResolvers<SendOutcome>[] = []
  const moved: number[] = []
  const transport: Transport = {
    send: () => {
      const answer = Promise.withResolvers<SendOutcome>()
      answers.push(answer)
      if (answers.length === 2) drain.finish()
      return answer.promise
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  const drain = drainInto(moved, writer, transport, 2)
  const ran = drain.run(going())
  expect(answers).toHaveLength(2)
  for (const { resolve } of answers) resolve(DELIVERED)
  await ran
  expect(answers).toHaveLength(2)
  expect(moved).toEqual([8, 16])
})

test('an idle one that is to finish ends', async () => {
  using writer = await filled()
  const transport = scripted(() => DELIVERED)
  const { drain } = await drained(
    writer,
    transport,
    () => true,
    writer.writer.progress.lastDecision,
    (it) => it.finish(),
  )
  expect(transport.sent).toEqual([])
  expect(drain.position).toBe(writer.writer.progress.lastDecision)
})

test('an outbox that cannot be read is told of and read again, and so is that it can be', async () => {
  using writer = await filled()
  const stop = new AbortController()
  const told: string[] = []
  const transport = scripted(() => DELIVERED)
  const outbox = outgoingSpans(new SqliteOutbox(writer.db))
  writer.db.exec('ALTER TABLE outbox RENAME TO gone')
  const drain = new Drain(
    { batchMaxItems: 100, batchMaxBytes: 1_000_000, consumers: 1 },
    0,
    outbox,
    transport,
    {
      onProgress: () => stop.abort(),
      onDrop: () => undefined,
      onInFlight: () => undefined,
      onUnreadable: (error) =>
        told.push(error === undefined ? 'it can be read' : (error as { message: string }).message),
      onBroken: () => undefined,
    },
    () => {
      writer.db.exec('ALTER TABLE gone RENAME TO outbox')
      return Promise.resolve()
    },
  )
  await drain.run(stop.signal)
  expect(told).toEqual([expect.stringContaining('no such table'), 'it can be read'])
  expect(transport.sent.flatMap(namesIn)).toHaveLength(SPANS + 1)
})

test('only the span that is refused is passed over', async () => {
  using writer = await filled()
  const last = writer.writer.progress.lastDecision
  const transport = scripted((request) => (namesIn(request).includes('span 5') ? refused(true) : DELIVERED))
  const { progress, dropped } = await drained(writer, transport, ({ position }) => position === last)
  expect(dropped).toBe(1)
  expect(progress.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(SPANS)
  expect(progress.reduce((sum, each) => sum + each.refused, 0)).toBe(1)
})

test('a decision that cannot be built is passed over, told of with why, and all others are sent', async () => {
  using writer = await filled()
  const last = writer.writer.progress.lastDecision
  const ofSpan = writer.db
    .prepare<[string], number>('SELECT decision FROM outbox o JOIN spans s ON s.id = o.span WHERE s.name = ?')
    .pluck()
  const [noJson, noLinks, noTrace] = [5, 6, 7].map((at) => ofSpan.get(`span ${at}`)!)
  const patched = `UPDATE outbox SET flags = flags | ${SENT_PATCHED}`
  writer.db.prepare(`${patched}, extra = CAST('{' AS BLOB) WHERE decision = ?`).run(noJson)
  writer.db.prepare(`${patched}, extra = CAST('{"addLinks":7}' AS BLOB) WHERE decision = ?`).run(noLinks)
  writer.db.prepare('UPDATE outbox SET trace = 99 WHERE decision = ?').run(noTrace)
  const transport = scripted(() => DELIVERED)
  const { broken, progress } = await drained(writer, transport, ({ position }) => position === last)
  const names = transport.sent.flatMap(namesIn)
  for (let at = 1; at <= SPANS; at++)
    expect([at, names.includes(`span ${at}`)]).toEqual([at, at < 5 || at > 7])
  expect(broken).toEqual([
    { decision: noJson, reason: expect.stringMatching(/^SyntaxError: /) },
    { decision: noLinks, reason: expect.stringMatching(/^TypeError: /) },
    {
      decision: noTrace,
      reason: expect.stringContaining('the trace that the span was decided to go into is lost'),
    },
  ])
  expect(progress.at(-1)?.position).toBe(last)
})

test('a span sent again is the same bytes, however it is batched', async () => {
  using writer = await filled()
  const last = writer.writer.progress.lastDecision
  const spansOf = (request: Uint8Array): string[] => {
    const json = jsonOfProtobuf('ExportTraceServiceRequest', request) as unknown as {
      resourceSpans: { scopeSpans: { spans: unknown[] }[] }[]
    }
    return json.resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans.map((span) => JSON.stringify(span))),
    )
  }
  const first = scripted(() => DELIVERED)
  await drained(writer, first, ({ position }) => position === last)
  const second = scripted(() => DELIVERED)
  await drained(writer, second, ({ position }) => position === last, 3)
  const before = new Set(first.sent.flatMap(spansOf))
  const again = second.sent.flatMap(spansOf)
  expect(again.length).toBe(before.size - 3)
  expect(again.every((span) => before.has(span))).toBe(true)
})
