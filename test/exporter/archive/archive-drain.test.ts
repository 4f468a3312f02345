import { expect, test } from '@jest/globals'
import type { ArchivePosition } from '../../../src/model/archive.ts'
import {
  type Archive,
  type ArchiveBatch,
  ArchiveDrain,
  type ArchiveOutcome,
} from '../../../src/exporter/archive.ts'
import { SqliteArchiveReader } from '../../../src/store/sqlite/archive-reader.ts'
import { cpid } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { going } from '../transport-settings.ts'

const RETRY = {
  ...{ enabled: true, initialIntervalMs: 1_000, randomizationFactor: 0, multiplier: 2, maxIntervalMs: 3_000 },
  maxElapsedMs: 0,
}

/** An archive that answers as it is told, and keeps what it was given. */
class KeptArchive implements Archive {
  readonly batches: ArchiveBatch[] = []
  readonly #answers: (ArchiveOutcome | Error)[]

  constructor(...answers: (ArchiveOutcome | Error)[]) {
    this.#answers = answers
  }

  write(batch: ArchiveBatch, _signal: AbortSignal, onSent: () => void): Promise<ArchiveOutcome> {
    this.batches.push(batch)
    onSent()
    const answer = this.#answers.shift() ?? { kind: 'written', rows: 1, refused: 0, message: '' }
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }
}

function kept(writer: TestWriter, name = 'clickhouse'): ArchivePosition {
  const found = writer.writer.keepArchives([name]).get(name)
  if (found === undefined) throw new Error('it is not kept')
  return found.position
}

function pruneAll(writer: TestWriter): void {
  for (let more = true; more;) ({ more } = writer.writer.prune(1_000, { isCalendarRight: true }))
}

/** Brings all there is into the archive. */
async function drain(
  writer: TestWriter,
  archive: Archive,
  { wallMs = 5_000, onRead = (): unknown => undefined } = {},
) {
  const told = { slept: [] as number[], retries: [] as string[], dropped: [] as object[] }
  const reader = new SqliteArchiveReader(writer.db)
  const draining = new ArchiveDrain(kept(writer), {
    ...{
      archive,
      reader: {
        after: (position) => {
          onRead()
          return reader.after(position)
        },
      },
      clock: { wallMs: () => wallMs, monotonicMs: () => 0 },
    },
    ...{ retry: RETRY, intervalMs: 1, random: () => 0.5 },
    sleep: (ms) => {
      told.slept.push(ms)
      return Promise.resolve()
    },
    onMoved: ({ position, refused }) =>
      writer.writer.saveArchives([{ exporter: 'clickhouse', position, refused }]),
    onRetry: ({ reason }) => told.retries.push(reason),
    onDrop: (dropped) => told.dropped.push(dropped),
    onUnreadable: (error) => told.retries.push(String(error)),
  })
  draining.finish()
  await draining.run(new AbortController().signal)
  return told
}

const namesOf = ({ batches }: KeptArchive): string[] =>
  batches.flatMap(({ facts }) => facts.spans.map(({ name }) => name))

test('what fails is written again as it was, with longer pauses, for as long as it takes', async () => {
  using writer = await TestWriter.open()
  kept(writer)
  writer.spans('controller', [{ trace: 1, id: 1, name: 'work', cpid: cpid(1) }])
  writer.pass(301_000)
  const down: ArchiveOutcome = { kind: 'retry', reason: 'it is down' }
  const archive = new KeptArchive(down, new Error('it broke'), down, down)
  const { slept, retries } = await drain(writer, archive)
  expect(slept).toEqual([1_000, 2_000, 3_000, 3_000])
  expect(retries).toEqual(['it is down', 'it broke', 'it is down', 'it is down'])
  const [first, ...again] = archive.batches
  expect(again).toHaveLength(4)
  for (const batch of again) expect(batch).toBe(first)
})

test.each([
  ['is written', { kind: 'written', rows: 1, refused: 0, message: '' }, 1],
  ['has failed', { kind: 'retry', reason: 'it is down' }, 0],
] as [string, ArchiveOutcome, number][])(
  'what it writes when it is to leave %s, and it ends',
  async (_, outcome, times) => {
    using writer = await TestWriter.open()
    const position = kept(writer)
    writer.spans('controller', [{ trace: 1, id: 1, name: 'work', cpid: cpid(1) }])
    writer.pass(301_000)
    const stopped: boolean[] = []
    let moved = 0
    const draining = new ArchiveDrain(position, {
      archive: {
        write: (_batch, signal) => {
          draining.leave()
          stopped.push(signal.aborted)
          return Promise.resolve(outcome)
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      },
      ...{ reader: new SqliteArchiveReader(writer.db), clock: { wallMs: () => 5_000, monotonicMs: () => 0 } },
      ...{ retry: RETRY, intervalMs: 1, random: () => 0.5 },
      onMoved: () => (moved += 1),
      onRetry: () => undefined,
      onDrop: () => undefined,
      onUnreadable: () => undefined,
    })
    await draining.run(going())
    expect(stopped).toEqual([false])
    expect(moved).toBe(times)
  },
)

test('what comes next is read while the archive takes a batch, and again after it failed', async () => {
  using writer = await TestWriter.open()
  kept(writer)
  const cpids = Array.from({ length: 800 }, (_, at) => cpid(at + 1))
  writer.mergelogs(
    'kubectl',
    cpids.map((one) => ({ new: one, sources: [] })),
  )
  writer.link()
  const archive = new KeptArchive({ kind: 'retry', reason: 'it is down' })
  const told: string[] = []
  await drain(writer, archive, { onRead: () => told.push(`read during write ${archive.batches.length}`) })
  expect(told).toEqual([0, 1, 2, 3].map((write) => `read during write ${write}`))
  const [failed, again, next] = archive.batches
  expect(again).toBe(failed)
  expect([again, next].flatMap((batch) => batch?.facts.cpids.map((one) => one.cpid))).toEqual(cpids)
})

test('versions grow though the clock goes back, and a start goes on where the last one was', async () => {
  using writer = await TestWriter.open()
  const archive = new KeptArchive()
  writer.spans('controller', [{ trace: 1, id: 1, name: 'one', cpid: cpid(1) }])
  writer.pass(301_000)
  await drain(writer, archive, { wallMs: 9_000 })
  writer.spans('controller', [{ trace: 2, id: 2, name: 'two', cpid: cpid(1) }])
  writer.pass(301_000)
  await drain(writer, archive, { wallMs: 1_000 })
  expect(namesOf(archive)).toEqual(['one', 'two'])
  const versions = archive.batches.map(({ version }) => version)
  expect(versions[0]).toBe(9_000_000)
  expect(versions).toEqual([...versions].sort((a, b) => a - b))
  expect(new Set(versions).size).toBe(versions.length)
})

test('what is stored before an archive is named goes into it too, and nothing is noted where there is none', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1), sources: [] }])
  writer.spans('controller', [{ trace: 1, id: 1, name: 'before', cpid: cpid(1) }])
  writer.pass(301_000)
  expect(writer.rows('archive_changes')).toBe(0)
  const archive = new KeptArchive()
  await drain(writer, archive)
  expect(namesOf(archive)).toEqual(['before'])
  const [batch] = archive.batches
  expect(batch?.facts.cpids.map(({ cpid: one, isRoot }) => [one, isRoot])).toEqual([[cpid(1), true]])
  expect(batch?.facts.cascades.map(({ root, isOpen }) => [root, isOpen])).toEqual([[cpid(1), false]])
  expect(writer.rows('archive_changes')).toBe(0)
  writer.writer.keepArchives([])
  writer.spans('controller', [{ trace: 3, id: 3, cpid: cpid(3) }])
  writer.pass(301_000)
  expect(writer.rows('archive_changes')).toBe(0)
})

test('a cascade that changes again and again is noted once', async () => {
  using writer = await TestWriter.open()
  kept(writer)
  writer.mergelogs('kubectl', [{ new: cpid(1), sources: [] }])
  for (let n = 1; n < 50; n++) {
    writer.spans('controller', [{ trace: n, id: n, cpid: cpid(1) }])
    writer.link()
  }
  expect(writer.rows('archive_changes WHERE kind = 2')).toBe(1)
  expect(writer.rows('archive_changes')).toBe(3)
})

test('what waits for its parent is archived once, with the CPID that it takes', async () => {
  using writer = await TestWriter.open()
  kept(writer)
  writer.spans('controller', [{ trace: 1, id: 2, parent: 1, name: 'child' }])
  writer.link()
  const archive = new KeptArchive()
  await drain(writer, archive)
  expect(namesOf(archive)).toEqual([])
  writer.spans('controller', [{ trace: 1, id: 1, name: 'parent', cpid: cpid(1) }])
  writer.pass(301_000)
  await drain(writer, archive)
  expect(archive.batches.flatMap(({ facts }) => facts.spans.map(({ cpid: one }) => one))).toEqual([
    cpid(1),
    cpid(1),
  ])
  expect(archive.batches.flatMap(({ facts }) => facts.attributed)).toEqual([])
})

test('refused mergelogs that were dropped before the archive got them are counted', async () => {
  using writer = await TestWriter.open({ retention: { maxBytes: 1 } })
  const archive = new KeptArchive()
  writer.mergelogs('liar', [{ new: cpid(1), sources: [cpid(1)] }])
  await drain(writer, archive)
  for (let n = 0; n < 500; n++)
    writer.mergelogs('liar', [{ new: cpid(2), sources: [cpid(2)], object: `v1/pods/a/${n}` }])
  const left = writer.rows('rejected_mergelogs')
  expect(left).toBeLessThan(500)
  const { dropped } = await drain(writer, archive)
  expect(dropped).toEqual([{ items: 500 - left, reason: expect.stringContaining('refused mergelogs') }])
})

test('refused mergelogs that were pruned for their age are counted too, although none is refused after them', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 60_000 } })
  const archive = new KeptArchive()
  kept(writer)
  for (const at of [1, 2, 3]) writer.mergelogs('liar', [{ new: cpid(at), sources: [cpid(at)] }])
  writer.clock.advance(3_600_000)
  pruneAll(writer)
  expect(writer.rows('rejected_mergelogs')).toBe(0)
  const { dropped } = await drain(writer, archive)
  expect(dropped).toEqual([{ items: 3, reason: expect.stringContaining('max_age') }])
  expect((await drain(writer, archive)).dropped).toEqual([])
})

test('a tombstone stays until the archive has heard that its CPID was pruned, up to twice as many', async () => {
  for (const isRead of [true, false]) {
    using writer = await TestWriter.open({ retention: { maxCpids: 3 } })
    const archive = new KeptArchive()
    kept(writer)
    writer.mergelogs('kubectl', [{ new: cpid(1), time: 0 }])
    for (let at = 2; at < 14; at++) {
      const time = at * 310_000
      writer.mergelogs('kubectl', [{ new: cpid(at), time }])
      writer.spans('controller', [{ trace: at, id: at, cpid: cpid(at), start: time }])
      // The oldest CPID is held by its open cascade, and is pruned after younger ones.
      for (const [late, ms] of [
        [0, 200_000],
        [200_000, 110_000],
      ] as const) {
        if (at < 8)
          writer.spans('controller', [{ trace: 100 + at + late, id: at, cpid: cpid(1), start: time + late }])
        writer.pass(ms)
      }
      if (isRead) await drain(writer, archive)
      pruneAll(writer)
      if (isRead) await drain(writer, archive)
    }
    expect(writer.rows('cpids WHERE state = 1')).toBeLessThanOrEqual(6)
    if (!isRead) continue
    const told = new Map(
      archive.batches.flatMap(({ facts }) => facts.cpids.map((one) => [one.cpid, one.isPruned] as const)),
    )
    const gone = [...told].filter(([text]) => writer.rows(`cpids WHERE text = '${text}'`) === 0)
    expect(gone.length).toBeGreaterThan(3)
    expect(gone.filter(([, isPruned]) => !isPruned)).toEqual([])
  }
})

test('a mergelog that is refused after all before it have gone with their age is archived too', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 60_000 } })
  const archive = new KeptArchive()
  for (const at of [1, 2]) {
    writer.mergelogs('liar', [{ new: cpid(at), sources: [cpid(at)] }])
    const { dropped } = await drain(writer, archive)
    expect(dropped).toEqual([])
    expect(archive.batches.flatMap(({ facts }) => facts.refusedMergelogs).map((one) => one.number)).toEqual(
      [1, 2].slice(0, at),
    )
    writer.clock.advance(3_600_000)
    pruneAll(writer)
    expect(writer.rows('rejected_mergelogs')).toBe(0)
  }
})

test('retention keeps what the archive has not got, unless there is no room', async () => {
  for (const maxBytes of [0, 1]) {
    using writer = await TestWriter.open({ retention: { maxAgeMs: 60_000, maxBytes } })
    kept(writer)
    writer.mergelogs('kubectl', [{ new: cpid(1), sources: [] }])
    writer.spans('controller', [
      { trace: 1, id: 1, cpid: cpid(1) },
      { trace: 2, id: 2 },
    ])
    writer.pass(301_000)
    writer.clock.advance(3_600_000)
    const prune = (): void => pruneAll(writer)
    prune()
    expect(writer.rows('spans')).toBe(maxBytes === 0 ? 2 : 0)
    // Of what is gone nothing is left to be told, but that its CPID was pruned.
    expect(writer.rows('archive_changes')).toBeGreaterThan(0)
    if (maxBytes === 1) expect(writer.rows('archive_changes')).toBe(1)
    const archive = new KeptArchive()
    await drain(writer, archive)
    expect(namesOf(archive)).toHaveLength(maxBytes === 0 ? 2 : 0)
    writer.clock.advance(60_000)
    prune()
    expect(writer.rows('spans')).toBe(0)
    await drain(writer, archive)
    expect(archive.batches.flatMap(({ facts }) => facts.cpids).at(-1)?.isPruned).toBe(true)
  }
})

test('what decisions keep beside their spans is read in parts, and all of it', async () => {
  using writer = await TestWriter.open()
  kept(writer)
  const spans = Array.from({ length: 40 }, (_, at) => ({ trace: at + 1, id: at + 1, cpid: cpid(1) }))
  writer.mergelogs('kubectl', [{ new: cpid(1), sources: [] }])
  writer.spans('deployment-controller', spans)
  writer.pass(301_000)
  writer.db.prepare('UPDATE outbox SET extra = zeroblob(1048576) WHERE span IS NOT NULL').run()
  const archive = new KeptArchive()
  await drain(writer, archive)
  expect(archive.batches.length).toBeGreaterThan(2)
  expect(archive.batches.flatMap(({ facts }) => facts.placements)).toHaveLength(spans.length)
})
