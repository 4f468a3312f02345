import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type ExportOutcome, RetryingExporter } from 'causeway-instrumentation'

const MAX_ITEMS = 20
const MAX_WAIT_MS = 60_000
const AWAY: ExportOutcome = { code: 1, error: new Error('connect ECONNREFUSED') }
const REFUSED: ExportOutcome = { code: 1, error: Object.assign(new Error('bad data'), { code: 400 }) }

/** A backend that is there, away, or refuses what it gets, and the clock by which pauses end. */
class Scene {
  readonly delivered: number[] = []
  outcome: ExportOutcome = { code: 0 }
  nowMs = 0
  asked = 0
  #timers: { atMs: number; work: () => void }[] = []
  readonly exporter = this.wrap((items, done) => {
    this.asked++
    if (this.outcome.code === 0) this.delivered.push(...items)
    // As a network does, not at once.
    const { outcome } = this
    void Promise.resolve().then(() => done(outcome))
  })

  wrap(send: (items: number[], done: (outcome: ExportOutcome) => void) => void): RetryingExporter<number> {
    return new RetryingExporter<number>(
      { export: send, shutdown: () => Promise.resolve() },
      {
        ...{ maxItems: MAX_ITEMS, maxWaitMs: MAX_WAIT_MS, nowMs: () => this.nowMs },
        after: (ms, work) => {
          const timer = { atMs: this.nowMs + ms, work }
          this.#timers.push(timer)
          return { cancel: () => void (this.#timers = this.#timers.filter((one) => one !== timer)) }
        },
      },
    )
  }

  take(items: number[]): Promise<ExportOutcome> {
    return new Promise((resolve) => this.exporter.export(items, resolve))
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 200; turn++) await Promise.resolve()
  }

  async wait(ms: number): Promise<void> {
    const endMs = this.nowMs + ms
    for (;;) {
      const [next] = this.#timers.toSorted((one, other) => one.atMs - other.atMs)
      if (next === undefined || next.atMs > endMs) break
      this.nowMs = next.atMs
      this.#timers = this.#timers.filter((one) => one !== next)
      next.work()
      await this.settle()
    }
    this.nowMs = endMs
  }
}

const step = fc.oneof(
  fc.record({ kind: fc.constant('take' as const), count: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
  fc.record({ kind: fc.constant('backend' as const), outcome: fc.constantFrom({ code: 0 }, AWAY, REFUSED) }),
)

test('every item is delivered once and in order, or counted as lost, and no more wait than may', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const scene = new Scene()
      let taken = 0
      for (const one of steps) {
        if (one.kind === 'backend') scene.outcome = one.outcome
        else if (one.kind === 'wait') await scene.wait(one.ms)
        else {
          const items = Array.from({ length: one.count }, () => taken++)
          expect((await scene.take(items)).code).toBe(0)
        }
        await scene.settle()
        const { lost, waiting } = scene.exporter
        expect(scene.delivered.length + lost + waiting).toBe(taken)
        expect(waiting).toBeLessThanOrEqual(MAX_ITEMS)
      }
      scene.outcome = { code: 0 }
      await scene.wait(2 * MAX_WAIT_MS)
      await scene.settle()
      expect(scene.exporter.waiting).toBe(0)
      expect(scene.delivered).toEqual([...new Set(scene.delivered)].sort((one, other) => one - other))
      expect(scene.delivered.length + scene.exporter.lost).toBe(taken)
    }),
  )
})

test('what comes at the moment that all the rest is delivered is delivered too', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), async (turns) => {
      const delivered: number[] = []
      const inTurn = (left: number): void => {
        if (left === 0) exporter.export([2], () => undefined)
        else queueMicrotask(() => inTurn(left - 1))
      }
      const exporter = new RetryingExporter<number>({
        export: ([item = 0], done) => {
          delivered.push(item)
          if (item === 1) inTurn(turns)
          done({ code: 0 })
        },
        shutdown: () => Promise.resolve(),
      })
      exporter.export([1], () => undefined)
      for (let turn = 0; turn < 50; turn++) await Promise.resolve()
      expect(delivered).toEqual([1, 2])
    }),
  )
})

test('a backend that is away for less than items may wait loses nothing', async () => {
  const scene = new Scene()
  scene.outcome = AWAY
  for (let item = 0; item < MAX_ITEMS; item++) {
    await scene.take([item])
    await scene.wait(1_000)
  }
  expect(scene.delivered).toEqual([])
  scene.outcome = { code: 0 }
  await scene.wait(30_000)
  expect(scene.delivered).toEqual(Array.from({ length: MAX_ITEMS }, (_, item) => item))
  expect(scene.exporter.lost).toBe(0)
})

test('a processor is told once a backend has answered, one that is slow after a second, one that is away at once', async () => {
  const said: string[] = []
  const scene = new Scene()
  const answers: (() => void)[] = []
  const exporter = scene.wrap((items, done) => answers.push(() => done(items[0] === 2 ? AWAY : { code: 0 })))
  const take = (item: number): void => exporter.export([item], () => said.push(`took ${item}`))
  take(1)
  await scene.wait(999)
  expect(said).toEqual([])
  answers.shift()?.()
  await scene.settle()
  expect(said).toEqual(['took 1'])
  take(2)
  take(3)
  answers.shift()?.()
  await scene.settle()
  expect(said).toEqual(['took 1', 'took 2', 'took 3'])
  take(4)
  expect(said.at(-1)).toBe('took 4')
  const slow = scene.wrap(() => undefined)
  slow.export([5], () => said.push('took 5'))
  await scene.wait(1_000)
  expect(said.filter((one) => one === 'took 5')).toHaveLength(1)
})

test('while a backend is away it is asked less and less often', async () => {
  const scene = new Scene()
  scene.outcome = AWAY
  await scene.take([1])
  await scene.wait(MAX_WAIT_MS)
  expect(scene.asked).toBeLessThan(10)
})

test('at its end it tries once more, and counts what it could not deliver', async () => {
  const scene = new Scene()
  scene.outcome = AWAY
  await scene.take([1, 2])
  scene.outcome = { code: 0 }
  await scene.exporter.shutdown()
  expect(scene.delivered).toEqual([1, 2])
  expect((await scene.take([3])).code).toBe(1)
  expect(scene.exporter.lost).toBe(1)
})

test('what waits is kept though somebody sets the clock of the machine', async () => {
  const { now } = Date
  let ofMachineMs = 0
  Date.now = () => ofMachineMs
  try {
    let outcome = AWAY
    const exporter = new RetryingExporter<number>(
      { export: (_, done) => done(outcome), shutdown: () => Promise.resolve() },
      { after: () => ({ cancel: () => undefined }) },
    )
    exporter.export([1, 2], () => undefined)
    ofMachineMs = 3_600_000
    outcome = { code: 0 }
    await exporter.forceFlush()
    expect([exporter.waiting, exporter.lost]).toEqual([0, 0])
  } finally {
    Date.now = now
  }
})
