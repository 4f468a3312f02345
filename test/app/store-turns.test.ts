import { afterAll, expect, test } from '@jest/globals'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StorageHealth } from '../../src/store/storage-health.ts'
import { StoreTurns } from '../../src/store/store-turns.ts'
import type { FromStore } from '../../src/threads/thread-messages.ts'
import { hashOfRequest } from '../../src/graph/read-request.ts'
import { WalKeeper } from '../../src/sqlite/log/wal-keeper.ts'
import { spansRequest } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const YEAR = 365 * 24 * 3_600_000
const folder = mkdtempSync(join(tmpdir(), 'causeway-turns-'))

afterAll(() => rmSync(folder, { recursive: true }))

/** The turns of a real writer, and what they say. */
class Turns implements Disposable {
  readonly health: StorageHealth
  readonly #turns: StoreTurns
  readonly #writer: TestWriter
  readonly #said: FromStore[] = []
  #heard = Promise.withResolvers<undefined>()

  constructor(writer: TestWriter) {
    this.#writer = writer
    this.health = new StorageHealth(writer.stores.faults, () => undefined)
    this.#turns = new StoreTurns(writer.writer, {
      pruneIntervalMs: 1,
      post: (message) => this.#hear(message),
      health: this.health,
      wal: new WalKeeper(writer.db),
    })
    this.#turns.start()
  }

  send(id: number): void {
    const bytes = spansRequest('controller', [{ trace: id, id }])
    const hash = hashOfRequest('traces', bytes)
    this.#turns.add({
      kind: 'ingest',
      id,
      signal: 'traces',
      bytes: new Uint8Array(bytes),
      hash: new Uint8Array(hash),
      flow: 1,
      peer: 1,
    })
  }

  moved(exporter: string, position: number): void {
    this.#turns.exporterMoved({ kind: 'moved', signal: 'traces', exporter, position, refused: 0 })
  }

  /** The next message of a kind that has not been asked for yet. */
  async next<Kind extends FromStore['kind']>(kind: Kind): Promise<Extract<FromStore, { kind: Kind }>> {
    for (;;) {
      const at = this.#said.findIndex((message) => message.kind === kind)
      if (at >= 0) return this.#said.splice(at, 1)[0] as Extract<FromStore, { kind: Kind }>
      this.#heard = Promise.withResolvers()
      await this.#heard.promise
    }
  }

  [Symbol.dispose](): void {
    this.#turns.stop()
    this.#writer[Symbol.dispose]()
  }

  #hear(message: FromStore): void {
    this.#said.push(message)
    this.#heard.resolve(undefined)
  }
}

test('a leap of the clock is told of, with what to do', async () => {
  const writer = await TestWriter.open({ retention: { maxAgeMs: YEAR } }, join(folder, 'leap.db'))
  writer.writer.prune(1)
  using turns = new Turns(writer)
  writer.clock.setWall(writer.clock.wallMs() + YEAR)
  expect((await turns.next('leapt')).reason).toMatch(/went forward by about 8760 h.*set it right/)
})

test('into a damaged database nothing more is written, and senders are asked to come again', async () => {
  const writer = await TestWriter.open({}, join(folder, 'damaged.db'))
  using turns = new Turns(writer)
  turns.send(1)
  expect((await turns.next('ingested')).outcomes).toMatchObject([{ id: 1, outcome: { kind: 'accepted' } }])
  await turns.next('linked')
  turns.health.failed(Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT' }))
  const changes = (): unknown => writer.db.prepare('SELECT total_changes()').pluck().get()
  const before = changes()
  turns.send(2)
  expect((await turns.next('ingested')).outcomes).toMatchObject([
    { id: 2, outcome: { kind: 'failed', reason: expect.stringContaining('the database is damaged') } },
  ])
  expect(changes()).toBe(before)
})

test('a database that cannot be written for a while stops nothing, and storing goes on by itself', async () => {
  const writer = await TestWriter.open({ retention: { maxAgeMs: YEAR } }, join(folder, 'full.db'))
  using turns = new Turns(writer)
  writer.db.pragma('query_only = ON')
  expect((await turns.next('trouble')).reason).toMatch(/the database cannot be written/)
  turns.send(1)
  expect((await turns.next('ingested')).outcomes).toMatchObject([{ id: 1, outcome: { kind: 'failed' } }])
  expect(turns.health.fault?.kind).toBe('readOnly')
  writer.db.pragma('query_only = OFF')
  turns.send(2)
  expect((await turns.next('ingested')).outcomes).toMatchObject([{ id: 2, outcome: { kind: 'accepted' } }])
  // Nobody sends any more: the gauges' turn finds that writing works.
  while (turns.health.fault !== undefined) await turns.next('gauges')
})

test('a position that cannot be saved is set aside, and those of other exporters are saved', async () => {
  const writer = await TestWriter.open({}, join(folder, 'positions.db'))
  writer.keepExporters('traces', ['otlp/a', 'otlp/b', 'otlp/c'])
  using turns = new Turns(writer)
  turns.moved('otlp/a', 7)
  turns.moved('otlp/b', 0.5)
  turns.moved('otlp/c', 8)
  const { items } = await turns.next('setAside')
  expect(items).toMatchObject([{ stage: 'sending', kind: 'position in traces', exporter: 'otlp/b' }])
  expect(Object.fromEntries(writer.writer.positions('traces'))).toEqual({
    'otlp/a': 7,
    'otlp/b': 0,
    'otlp/c': 8,
  })
  expect(writer.writer.gauges().setAside).toBe(1)
})
