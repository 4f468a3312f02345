import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'

const WINDOW_MS = 500
const START_MS = Date.UTC(2026, 0, 1)
const TURN_MS = 50

const nanos = (ms: number): bigint => nanosOfMs(START_MS + ms)

/** A version of an object of its own, as its watch shows it at a moment. */
function seen(version: number, atMs: number): Observation {
  const metadata = {
    name: `web-${version}`,
    namespace: 'shop',
    uid: `u${version}`,
    resourceVersion: `${version}`,
  }
  const read = readWatchEvent(
    { type: 'ADDED', object: { kind: 'Pod', apiVersion: 'v1', metadata } },
    nanos(atMs),
  )
  if (typeof read === 'string') throw new Error(read)
  return read
}

interface Made {
  readonly version: number
  readonly madeMs: number
  /** How long after that its watch shows it. */
  readonly lagMs: number
}

/** What a queue returns, and how long after it was shown, where somebody asks it every so often. */
function played(made: readonly Made[]): { version: bigint | undefined; afterMs: number }[] {
  const queue = new WriteQueue({ windowNs: nanosOfMs(WINDOW_MS), whoWaitNs: 0n, isWatched: true })
  const shown = made
    .map(({ version, madeMs, lagMs }) => ({ version, atMs: madeMs + lagMs }))
    .sort((one, other) => one.atMs - other.atMs)
  const shownMs = new Map(shown.map(({ version, atMs }) => [BigInt(version), atMs]))
  const returned: { version: bigint | undefined; afterMs: number }[] = []
  const lastMs = Math.max(...shownMs.values())
  for (let nowMs = 0; nowMs <= lastMs + 6_000; nowMs += TURN_MS) {
    for (let next = shown[0]; next !== undefined && next.atMs <= nowMs; next = shown[0]) {
      queue.add(seen(next.version, next.atMs), nanos(nowMs))
      shown.shift()
    }
    for (const { version } of queue.takeDue(nanos(nowMs)))
      returned.push({ version, afterMs: nowMs - (shownMs.get(version ?? 0n) ?? nowMs) })
  }
  return returned
}

const versions = (made: readonly Made[]): bigint[] =>
  made.map(({ version }) => BigInt(version)).sort(byNumber)
const byNumber = (one: bigint, other: bigint): number => Number(one - other)

/** Versions that are made one after the other, each shown at most so much later. */
function series(fromMs: number, longestLagMs: number): fc.Arbitrary<Made[]> {
  const step = fc.record({ pauseMs: fc.integer({ min: 1, max: 900 }), lagMs: fc.nat(longestLagMs) })
  return fc.array(step, { minLength: 1, maxLength: 60 }).map((steps) => {
    let madeMs = fromMs
    return steps.map(({ pauseMs, lagMs }, at) => ({ version: 10 + at, madeMs: (madeMs += pauseMs), lagMs }))
  })
}

test('watches that have been behind may be twice as far behind within a minute, and all is returned in order', () => {
  const story = fc
    .integer({ min: WINDOW_MS / 2, max: 2_300 })
    .chain((lagMs) =>
      fc.record({ lagMs: fc.constant(lagMs), after: series(lagMs + 100, 2 * lagMs - 2 * TURN_MS) }),
    )
  fc.assert(
    fc.property(story, ({ lagMs, after }) => {
      const made = [{ version: 1, madeMs: 0, lagMs }, { version: 2, madeMs: 0, lagMs: 0 }, ...after]
      const returned = played(made)
      const rest = returned.map(({ version }) => version).filter((version = 0n) => version >= 10n)
      expect(rest).toEqual(versions(after))
      // One that waits holds back those above it.
      for (const { afterMs } of returned) expect(afterMs).toBeLessThanOrEqual(2 * 5_000 + TURN_MS)
    }),
  )
})

test('watches that are level with each other are not waited for longer than the window', () => {
  fc.assert(
    fc.property(series(0, WINDOW_MS / 2), (made) => {
      const returned = played(made)
      expect(returned.map(({ version }) => version)).toEqual(versions(made))
      for (const { afterMs } of returned) expect(afterMs).toBeLessThanOrEqual(2 * WINDOW_MS + TURN_MS)
    }),
  )
})

test('a lag is forgotten after two minutes, and one that nothing could have waited for does not count', () => {
  const late = [
    { version: 2, madeMs: 0, lagMs: 0 },
    { version: 1, madeMs: 0, lagMs: 2_000 },
  ]
  const away = [
    { version: 4, madeMs: 200_000, lagMs: 0 },
    { version: 3, madeMs: 200_000, lagMs: 30_000 },
  ]
  const calm = [130_000, 160_000, 231_000].map((madeMs, at) => ({ version: 10 + at, madeMs, lagMs: 0 }))
  const returned = played([...late, ...away, ...calm])
  const afterMs = new Map(returned.map(({ version, afterMs }) => [version, afterMs]))
  expect([10n, 11n, 12n].map((version) => afterMs.get(version))).toEqual([WINDOW_MS, WINDOW_MS, WINDOW_MS])
})
