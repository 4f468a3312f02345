import { expect, test } from '@jest/globals'
import { FlowShares } from '../../src/app/flow-shares.ts'
import { WaitingRequests } from '../../src/app/waiting-requests.ts'

const KIB = 1024
const LOOPING = 1
const QUIET = 2

const request = (flow: number, kib: number) => ({ flow, bytes: { length: kib * KIB } })

function waiting() {
  const clock = { nowMs: 0 }
  const requests = new WaitingRequests(new FlowShares(() => clock.nowMs))
  const add = (flow: number, kib: number): void => requests.add(request(flow, kib))
  const flows = (): number[] => requests.take().map(({ flow }) => flow)
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
