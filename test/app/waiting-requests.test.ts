import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { FlowShares, WaitingRequests } from '../../src/store/ingest-queue.ts'

const KIB = 1024
const LOOPING = 1
const QUIET = 2

/** A KiB of spans takes so long before anybody has measured it. */
const MS_PER_KIB = 0.015

interface Request {
  client: string
  flow: number
  peer: number
  bytes: { length: number }
}

function waiting() {
  const clock = { nowMs: 0 }
  const requests = new WaitingRequests<Request>(new FlowShares(() => clock.nowMs))
  const add = (flow: number, kib: number, peer = flow, client = '10.0.0.1'): void =>
    requests.add({ client, flow, peer, bytes: { length: kib * KIB } })
  /** Takes a commit, which takes as long as was thought, or so many times as long. */
  const flows = (times = 1): number[] => {
    const { requests: taken } = requests.take()
    const costsMs = taken.map(({ bytes }) => (times * bytes.length * MS_PER_KIB) / KIB)
    requests.took(costsMs, taken.length)
    return taken.map(({ flow }) => flow)
  }
  return { clock, requests, add, flows }
}

test('flows that send alike share one commit', () => {
  const { add, flows } = waiting()
  for (const flow of [LOOPING, QUIET, LOOPING, QUIET]) add(flow, 100)
  expect(flows().sort()).toEqual([LOOPING, LOOPING, QUIET, QUIET])
})

test('one that sends little does not wait until what waits of another is stored', () => {
  const { add, flows } = waiting()
  for (let sent = 0; sent < 5; sent++) add(LOOPING, 200)
  add(QUIET, 10)
  add(QUIET, 10)
  expect(flows()).toEqual([QUIET, QUIET])
})

test('beside one that sends little, the other is stored one large request at a time', () => {
  const { clock, add, flows } = waiting()
  add(LOOPING, 200)
  add(QUIET, 10)
  expect(flows()).toEqual([QUIET])
  expect(flows()).toEqual([LOOPING])
  clock.nowMs = 1_000
  for (let sent = 0; sent < 4; sent++) add(LOOPING, 200)
  expect(flows()).toEqual([LOOPING])
  clock.nowMs = 3_000
  expect(flows()).toEqual([LOOPING, LOOPING, LOOPING])
})

test('neither starves: they take turns', () => {
  const { add, flows } = waiting()
  add(LOOPING, 1_500)
  add(LOOPING, 200)
  add(QUIET, 1)
  expect(flows()).toEqual([QUIET])
  add(QUIET, 1)
  expect(flows()).toEqual([LOOPING])
  expect(flows()).toEqual([QUIET])
  expect(flows()).toEqual([LOOPING])
})

test('who sends few bytes that cost much is not light', () => {
  const { add, flows } = waiting()
  add(LOOPING, 1)
  expect(flows(1_000)).toEqual([LOOPING])
  for (let sent = 0; sent < 3; sent++) add(LOOPING, 1)
  add(QUIET, 20)
  expect(flows()).toEqual([QUIET])
  for (let sent = 0; sent < 3; sent++) expect(flows(1_000)).toEqual([LOOPING])
})

test('a peer is no lighter for sending under a new name each time', () => {
  const { add, flows } = waiting()
  for (let name = 100; name < 140; name++) add(name, 10, LOOPING)
  add(QUIET, 10)
  expect(flows()).toEqual([QUIET])
})

test('what a commit had no time for goes on where it stopped, before another one is begun', () => {
  const { requests, add } = waiting()
  add(LOOPING, 10_000)
  add(LOOPING, 20)
  add(QUIET, 1)
  expect(requests.take()).toMatchObject({ requests: [{ flow: QUIET }], mayTakeMs: 20 })
  requests.took([0.03], 1)
  for (let part = 0; part < 3; part++) {
    expect(requests.take().requests).toMatchObject([{ bytes: { length: 10_000 * KIB } }])
    requests.took([4], 0)
    expect(requests.size).toBe(2)
  }
  add(QUIET, 1)
  expect(requests.take().requests).toMatchObject([{ flow: QUIET }])
  requests.took([0.03], 1)
  expect(requests.take().requests).toMatchObject([{ bytes: { length: 10_000 * KIB } }])
  requests.took([4], 1)
  expect(requests.take().requests).toMatchObject([{ bytes: { length: 20 * KIB } }])
  requests.took([0.6], 1)
  expect(requests.size).toBe(0)
})

test('a request that seemed cheap and takes long is interrupted, and those of others go between its parts', () => {
  const { requests, add } = waiting()
  add(LOOPING, 10_000)
  for (const flow of [3, 4, QUIET]) add(flow, 10)
  const goes = (): number[] => requests.take().requests.map(({ flow }) => flow)
  expect(goes()).toEqual([3, 4, QUIET])
  requests.took([20], 0)
  expect(goes()).toEqual([LOOPING])
  requests.took([4], 0)
  expect(goes()).toEqual([QUIET, 4, 3])
  requests.took([0.15, 0.15, 20], 2)
  expect(goes()).toEqual([LOOPING])
  requests.took([4], 0)
  add(QUIET, 10)
  expect(goes()).toEqual([QUIET, 3])
  requests.took([0.15, 3], 2)
  expect(goes()).toEqual([LOOPING])
  requests.took([4], 1)
  expect(requests.size).toBe(0)
})

test('what waits of a flow that turned out costly goes with the costly ones', () => {
  const { requests, add } = waiting()
  const goes = (): number[] => requests.take().requests.map(({ flow }) => flow)
  add(LOOPING, 10_000)
  for (let sent = 0; sent < 20; sent++) add(3, 70)
  // Light, for all that is known of it: each request seems to take a millisecond.
  expect(goes()).toContain(3)
  requests.took([20], 0)
  expect(goes()).toEqual([LOOPING])
  requests.took([4], 0)
  for (let sent = 0; sent < 4; sent++) add(QUIET, 10)
  // Only what is begun stays.
  expect(goes().toSorted((a, b) => a - b)).toEqual([QUIET, QUIET, QUIET, QUIET, 3].toSorted((a, b) => a - b))
  requests.took([0.1, 0.1, 0.1, 0.1, 4], 5)
  expect(goes()).toEqual([LOOPING])
  requests.took([4], 1)
  for (let left = 19; left > 0;) {
    const { requests: taken, mayTakeMs } = requests.take()
    expect({ flows: new Set(taken.map(({ flow }) => flow)), mayTakeMs }).toEqual({
      flows: new Set([3]),
      mayTakeMs: 4,
    })
    requests.took(
      taken.map(() => 1),
      taken.length,
    )
    left -= taken.length
  }
  expect(requests.size).toBe(0)
})

test('a flow is as costly as what is stored of it, however long ago it came', () => {
  const { clock, requests, add } = waiting()
  for (let sent = 0; sent < 100; sent++) add(LOOPING, 10_000)
  for (; clock.nowMs < 5_000; clock.nowMs += 20) {
    expect(requests.take().requests).toMatchObject([{ flow: LOOPING }])
    requests.took([20], clock.nowMs % 140 === 0 ? 1 : 0)
  }
  add(QUIET, 10)
  expect(requests.take().requests).toMatchObject([{ flow: QUIET }])
})

const FLOWS = 5
/** Flows that share connections, and cost each its own: what waits turns out cheaper or dearer than it seemed. */
const drawnHistory = fc.record({
  msPerRequest: fc.array(fc.constantFrom(0.001, 0.01, 0.1, 1, 5), { minLength: FLOWS, maxLength: FLOWS }),
  turns: fc.array(
    fc.record({
      more: fc.array(fc.tuple(fc.nat(FLOWS - 1), fc.constantFrom(0.1, 0.5, 1, 1, 3, 100)), { maxLength: 7 }),
      commits: fc.nat(2),
      passMs: fc.constantFrom(0, 0, 0, 0, 600),
    }),
    { minLength: 200, maxLength: 200 },
  ),
})

test('whatever is sent and whatever it takes, each request is stored once', () => {
  fc.assert(
    fc.property(drawnHistory, ({ msPerRequest, turns }) => {
      const clock = { nowMs: 0 }
      const requests = new WaitingRequests<Request & { leftMs: number }>(new FlowShares(() => clock.nowMs))
      let [sent, stored] = [0, 0]
      const turn = (): void => {
        const { requests: taken, mayTakeMs } = requests.take()
        const costsMs: number[] = []
        let whole = 0
        for (let leftMs = mayTakeMs; whole < taken.length && leftMs > 0; leftMs -= costsMs.at(-1) ?? 0) {
          const request = taken[whole]
          if (request === undefined) break
          const tookMs = Math.min(request.leftMs, leftMs)
          request.leftMs -= tookMs
          costsMs.push(tookMs)
          if (request.leftMs > 0) break
          whole++
        }
        requests.took(costsMs, whole)
        stored += whole
        clock.nowMs += costsMs.reduce((sum, ms) => sum + ms, 0)
      }
      for (const { more, commits, passMs } of turns) {
        for (const [flow, times] of more) {
          const leftMs = (msPerRequest[flow] ?? 0) * times
          requests.add({ client: '10.0.0.1', flow, peer: flow % 3, bytes: { length: 8 * KIB }, leftMs })
          sent++
        }
        clock.nowMs += passMs
        for (let commit = 0; commit < commits && requests.size > 0; commit++) turn()
        if (requests.size !== sent - stored) expect(requests.size).toBe(sent - stored)
      }
      for (let left = 100_000; requests.size > 0 && left > 0; left--) turn()
      expect({ stored, size: requests.size }).toEqual({ stored: sent, size: 0 })
    }),
    { numRuns: 100 },
  )
})

test('an address gets no more by opening more connections', () => {
  const { add, flows } = waiting()
  for (let connection = 100; connection < 150; connection++)
    for (let sent = 0; sent < 4; sent++) add(connection, 100, connection, '10.0.0.1')
  for (let sent = 0; sent < 20; sent++) add(QUIET, 100, QUIET, '10.0.0.2')
  const stored = Array.from({ length: 3 }, () => flows()).flat()
  expect(stored.filter((flow) => flow === QUIET).length).toBeGreaterThanOrEqual(
    Math.floor(stored.length / 2) - 1,
  )
})
