import type { SetAside } from '../../../src/model/faults.ts'
import { hashOfRequest } from '../../../src/model/otlp/decode-requests.ts'
import { WalLength } from '../../../src/store/sqlite/write-ahead-log.ts'
import { StorageHealth } from '../../../src/store/storage-health.ts'
import type { FromStore } from '../../../src/store/store-messages.ts'
import { StoreScheduler } from '../../../src/store/store-scheduler.ts'
import { cpid, type SpanSketch, spansRequest } from '../../support/otlp-requests.ts'
import { TestTimers } from '../../support/test-timers.ts'
import { type TestSettings, TestWriter } from '../../support/test-writer.ts'

export const MINUTE = 60_000
export const PRUNE_EVERY_MS = 10_000

/** The turns of a real writer on a real file, in time that the test lets pass, and what they say. */
export class Turns implements Disposable {
  readonly store: TestWriter
  readonly timers: TestTimers
  readonly health: StorageHealth
  readonly turns: StoreScheduler
  /** Whether a message that somebody waits for is on its way. */
  isAwaited = false
  readonly #said: FromStore[] = []

  private constructor(store: TestWriter, rest?: () => void) {
    this.store = store
    this.timers = new TestTimers(store.clock)
    this.health = new StorageHealth(
      store.stores.faults,
      () => undefined,
      () => store.clock.monotonicMs(),
    )
    this.turns = new StoreScheduler(store.writer, {
      pruneIntervalMs: PRUNE_EVERY_MS,
      post: (message) => this.#said.push(message),
      health: this.health,
      wal: new WalLength(store.db),
      clock: store.clock,
      timers: this.timers,
      isAwaited: () => this.isAwaited,
      ...(rest && { rest }),
    })
  }

  static async begun(path: string, settings: TestSettings = {}, rest?: () => void): Promise<Turns> {
    const turns = new Turns(await TestWriter.open(settings, path), rest)
    turns.turns.start()
    turns.timers.pass(0)
    return turns
  }

  send(id: number, spans: readonly SpanSketch[] = [{ trace: id, id, cpid: cpid(id) }]): void {
    const bytes = spansRequest('controller', spans)
    const hash = hashOfRequest('traces', bytes)
    this.turns.add({
      kind: 'ingest',
      id,
      signal: 'traces',
      bytes: new Uint8Array(bytes),
      hash: new Uint8Array(hash),
      flow: 1,
      client: '10.0.0.1',
      peer: 1,
    })
  }

  moved(exporter: string, position: number): void {
    this.turns.exporterReports.moved({
      kind: 'exporterMoved',
      signal: 'traces',
      exporter,
      position,
      refused: 0,
    })
  }

  /** All that was said of a kind and was not asked for yet. */
  said<Kind extends FromStore['kind']>(kind: Kind): Extract<FromStore, { kind: Kind }>[] {
    const all = this.#said.filter((message) => message.kind === kind)
    for (const message of all) this.#said.splice(this.#said.indexOf(message), 1)
    return all as Extract<FromStore, { kind: Kind }>[]
  }

  get troubles(): string[] {
    return this.said('trouble').map(({ reason }) => reason)
  }

  [Symbol.dispose](): void {
    this.turns.stop()
    this.store[Symbol.dispose]()
  }
}

/** What an exporter passes over. */
export const NOTED: SetAside = {
  stage: 'sending',
  kind: 'decision',
  item: 5,
  cpid: undefined,
  exporter: 'otlp/a',
  reason: 'a row that it names is not there',
}
