import type { Statement } from 'better-sqlite3'
import type { LinkedSignal } from '../../../src/model/otlp-requests.ts'
import { spanIdHex } from '../../../src/model/otlp/encode-telemetry.ts'
import { emptyDatabase } from '../../support/empty-database.ts'
import { type TestSettings, TestWriter } from '../../support/test-writer.ts'
import { Backend } from './backend.ts'
import { Decisions } from './decisions.ts'
import { expectEmptied } from './emptied.ts'
import { check, same } from './faults.ts'
import { Kept } from './kept.ts'
import { HOUR_MS, type Life, type LifeSettings, type LifeStep } from './life.ts'
import { type Sending, SentRequests } from './sent-requests.ts'
import { Soundness } from './soundness.ts'

const SIGNALS = ['traces', 'logs'] as const
const MANY = 1_000_000
const TOMBSTONES = 1_000_000
const MAX_TURNS = 2_000
/** Pages that may be left beside those of an empty database: of tombstones and what else is kept. */
const KEPT_BYTES = 12 * 4_096

/** One Causeway with its exporters: the real writer, linker, pruner and outbox, and what is known to have come and gone. */
class World {
  readonly #settings: LifeSettings
  readonly #first: TestWriter
  readonly #decisions: Decisions
  readonly #soundness: Soundness
  /** How many rows were written, ever. */
  readonly #changes: Statement<[], number>
  readonly #requests: SentRequests
  readonly #arrivedMs: { upTo: number; ms: number }[] = []
  readonly #emptyBytes: number
  /** Ids of spans that were acknowledged. */
  readonly #acknowledged = new Set<string>()
  /** Those of which senders have sent several under one id. */
  readonly #ambiguous = new Set<string>()
  #writer: TestWriter
  #backends: Backend[] = []
  readonly #startMs: number
  #maxAgeMs: number
  #mode: LifeSettings['mode']
  /** Force has taken something. */
  #isForced = false

  private constructor(settings: LifeSettings, writer: TestWriter) {
    this.#settings = settings
    this.#maxAgeMs = settings.maxAgeMs
    this.#mode = settings.mode
    this.#first = writer
    this.#writer = writer
    this.#startMs = writer.clock.wallMs()
    this.#requests = new SentRequests(this.#startMs)
    this.#decisions = new Decisions(writer.db)
    this.#soundness = new Soundness(writer.db)
    this.#changes = writer.db.prepare<[], number>('SELECT total_changes()').pluck()
    this.#emptyBytes = writer.writer.gauges().usedBytes
    this.#restart(settings.exporters)
  }

  static async open(settings: LifeSettings): Promise<World> {
    return new World(settings, TestWriter.on(await emptyDatabase()))
  }

  /** Does one step; throws when what must hold after every step does not. */
  do(step: LifeStep): void {
    this.#do(step)
    this.#decisions.note(this.#canRepeat)
    this.#soundness.expect()
    const gauges = this.#writer.writer.gauges()
    const count = (from: string): number => this.#writer.rows(from)
    same(
      [gauges.cpids, gauges.tombstones, gauges.openTraces, gauges.setAside],
      [count('cpids WHERE state = 0'), count('cpids WHERE state = 1'), count('traces WHERE state = 0'), 0],
      'a gauge is wrong',
    )
  }

  /** Lets everything leave, settle and grow old: then nothing is left. `restarts`: as another process. */
  end(restarts: boolean): void {
    const { maxAgeMs } = this.#settings
    this.do({ kind: 'link', most: MANY })
    for (const ms of [11_000, 301_000, 1_900_000, 301_000]) {
      this.do({ kind: 'pass', ms, works: true })
    }
    this.#expectDelivered()
    this.#expectWithinLimits()
    if (restarts || maxAgeMs === 0) {
      this.#maxAgeMs = HOUR_MS
      this.#restart([...new Set(this.#backends.map(({ name }) => name))])
    }
    for (const days of [1, 1]) {
      this.do({ kind: 'pass', ms: days * 24 * HOUR_MS, works: true })
      for (let turn = 0; turn < 4; turn++) {
        this.do({ kind: 'prune', budget: 1_000, turns: MAX_TURNS })
        // Pruning says of some that they are explained now.
        this.do({ kind: 'link', most: MANY })
      }
    }
    expectEmptied(this.#writer.db, this.#settings.maxCpids || TOMBSTONES)
    const { usedBytes } = this.#writer.writer.gauges()
    check(
      usedBytes <= this.#emptyBytes + KEPT_BYTES,
      `${usedBytes - this.#emptyBytes} bytes were not given back`,
    )
  }

  [Symbol.dispose](): void {
    this.#first[Symbol.dispose]()
  }

  #do(step: LifeStep): void {
    const { writer, clock } = this.#writer
    switch (step.kind) {
      case 'span':
      case 'mergelog':
      case 'log':
      case 'again':
      case 'refused':
        this.#send(step)
        return
      case 'link':
        writer.link(step.most)
        return
      case 'expire':
        if (step.most < MANY) writer.linking.expire(step.most)
        else while (writer.reader.isAnythingDue()) writer.linking.expire(step.most)
        return
      case 'pass':
        if (step.works) this.#writer.pass(step.ms)
        else clock.advance(step.ms)
        return
      case 'prune':
        this.#prune(step)
        return
      case 'break':
        this.#breakOff(step.steps)
        return
      case 'export': {
        const backend = this.#backends[step.exporter % Math.max(1, this.#backends.length)]
        backend?.take(step.most, this.#decisions)
        if (step.saves) this.#save()
        return
      }
      case 'restart':
        this.#mode = step.mode ?? this.#mode
        this.#restart(step.exporters)
    }
  }

  /** Whether a span may come into a trace twice: where senders use an id twice, or where Causeway has forgotten the trace. */
  readonly #canRepeat = (spanId: string): boolean =>
    this.#settings.maxCpids > 0 || this.#settings.bytesAbove > 0 || this.#ambiguous.has(spanId)

  #send(step: Sending): void {
    const { writer, clock } = this.#writer
    const request = this.#requests.next(step, clock.wallMs() - this.#startMs)
    if (request === undefined) return
    const { kind } = this.#writer.ingest(request.signal, request.bytes)
    check(kind === 'accepted', `a request was ${kind}`)
    if (step.kind === 'span') {
      const id = spanIdHex(BigInt(step.span.id))
      if (this.#acknowledged.has(id)) this.#ambiguous.add(id)
      this.#acknowledged.add(id)
    }
    this.#arrivedMs.push({ upTo: writer.progress.lastArrival, ms: clock.wallMs() })
  }

  #arrived(arrival: number): number {
    return this.#arrivedMs.find(({ upTo }) => upTo >= arrival)?.ms ?? Infinity
  }

  #prune({ budget, turns, looks = Infinity }: Extract<LifeStep, { kind: 'prune' }>): void {
    for (let turn = 0; turn < turns; turn++) {
      let left = looks
      if (!this.#pruneOnce(budget, () => left-- > 0)) return
    }
    check(turns < MAX_TURNS, 'pruning does not end')
  }

  /** A turn of pruning; true when there is more to do. Throws what `mayGoOn` throws, and where it does something wrong. */
  #pruneOnce(budget: number, mayGoOn = (): boolean => true): boolean {
    const { db, writer, clock } = this.#writer
    // Writes down what time it is.
    writer.tryWriting()
    const before = new Kept(db)
    const wasForced = this.#isForcing
    const changes = this.#changes.get()
    const { more, unsettled, unsent } = writer.prune(budget, { isCalendarRight: true, mayGoOn })
    const forced = wasForced || this.#isForcing || unsettled + unsent > 0
    if (this.#changes.get() === changes) return more
    check(!forced || this.#settings.bytesAbove > 0, 'pruning used force without max_bytes')
    this.#isForced ||= forced
    for (const signal of SIGNALS) this.#decisions.expectKept(signal, this.#savedMin(signal), forced)
    const settings = { ...this.#settings, maxAgeMs: this.#maxAgeMs }
    if (!forced) before.expect(settings, clock.wallMs(), (arrival) => this.#arrived(arrival))
    return more
  }

  /** A CPID is going by force, over several turns. */
  get #isForcing(): boolean {
    return (
      this.#writer.db.prepare('SELECT 1 FROM cpids WHERE prune_ns = -2 AND state = 0').get() !== undefined
    )
  }

  /** A turn of pruning that throws after some steps, unless it is done before: then nothing has happened. */
  #breakOff(steps: number): void {
    const before = new Kept(this.#writer.db)
    const broken = new Error('the disk broke it off')
    let left = steps
    try {
      this.#pruneOnce(1_000, () => {
        if (left-- <= 0) throw broken
        return true
      })
    } catch (error) {
      if (error !== broken) throw error
      before.expectUntouched()
    }
  }

  /** The least position that is saved; what comes after it is not sent everywhere. */
  #savedMin(signal: LinkedSignal): number {
    return Math.min(...this.#writer.writer.reader.positions(signal).values(), MANY)
  }

  #save(): void {
    const { writer } = this.#writer
    const moved = this.#backends.map(({ signal, name, position }) => ({ signal, exporter: name, position }))
    same(
      writer.savePositions(moved.map((exporter) => ({ ...exporter, refused: 0 }))),
      [],
      'a position is not saved',
    )
  }

  #restart(exporters: readonly string[]): void {
    const known = new Map(this.#backends.map((backend) => [`${backend.signal} ${backend.name}`, backend]))
    const { logs, maxFanout, maxTraceSpans, maxCpids, bytesAbove } = this.#settings
    const settings: TestSettings = {
      linking: { mode: this.#mode, maxFanout, maxTraceSpans, logs: logs && exporters.length > 0 },
      retention: {
        maxCpids,
        maxAgeMs: this.#maxAgeMs,
        maxBytes: bytesAbove && this.#emptyBytes + bytesAbove,
      },
    }
    this.#writer = this.#writer.reopened(settings)
    const { writer, db } = this.#writer
    this.#backends = SIGNALS.flatMap((signal) => {
      const names = signal === 'traces' || logs ? exporters : []
      const positions = writer.keepExporters(signal, names)
      return names.map((name) => {
        const position = positions.get(name) ?? 0
        return new Backend(name, signal, db, position, known.get(`${signal} ${name}`)?.since ?? position)
      })
    })
  }

  /** Everything has settled and was sent: nothing is held any more. */
  #expectWithinLimits(): void {
    const { maxCpids, bytesAbove } = this.#settings
    for (let turn = 0; turn < 2; turn++) {
      this.do({ kind: 'prune', budget: 1_000, turns: MAX_TURNS })
      this.do({ kind: 'link', most: MANY })
    }
    const { cpids, usedBytes } = this.#writer.writer.gauges()
    check(maxCpids === 0 || cpids <= maxCpids, `${cpids} CPIDs stay where ${maxCpids} may`)
    const isWithin = bytesAbove === 0 || cpids === 0 || usedBytes <= this.#emptyBytes + bytesAbove
    check(isWithin, `${usedBytes - this.#emptyBytes} bytes stay where ${bytesAbove} may`)
  }

  /** What was acknowledged was sent on, to everyone who was there. */
  #expectDelivered(): void {
    for (const backend of this.#backends) backend.take(Infinity, this.#decisions)
    if (!this.#isForced) same(this.#decisions.spansNotSent(this.#acknowledged), [], 'a span was not sent')
    this.#save()
  }
}

/** Lives a life to its end; throws when something is lost, thrown or left behind. */
export async function live({ settings, steps, endsAnew }: Life): Promise<void> {
  using world = await World.open(settings)
  for (const step of steps) world.do(step)
  world.end(endsAnew)
}
