import { expect, test } from '@jest/globals'
import type { Cpid } from '../../src/model/merge-graph.ts'
import type { HeldItem, WorkedOutMergelog } from '../../src/model/reported-writes.ts'
import { HeldItemTable } from '../../src/store/sqlite/held-items.ts'
import { Progress } from '../../src/store/sqlite/transactions.ts'
import { migratedMemory } from '../support/migrated-memory.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestClock } from '../support/test-clock.ts'

const item: HeldItem = { signal: 'traces', request: Buffer.alloc(10), sender: undefined }
const mergelog: WorkedOutMergelog = {
  ...{ cpid: cpid(1) as Cpid, sources: [], service: '', cluster: '' },
  ...{ object: '', reason: '', timeNs: '1' },
}

async function opened(): Promise<HeldItemTable> {
  const db = await migratedMemory()
  return new HeldItemTable(db, new Progress(db, new TestClock()))
}

test('items that programs report have room, however many worked-out mergelogs are held', async () => {
  const held = await opened()
  for (let at = 0; at < 11_000; at++) held.holdWorkedOut(mergelog, 0, undefined)
  let kept = 0
  while (held.hold(cpid(2) as Cpid, item)) kept++
  expect(kept).toBe(2_000)
  held.forget()
  expect(held.hold(cpid(2) as Cpid, item)).toBe(false)
  expect(held.takeDue(20_000)).toHaveLength(8_000)
  expect(held.hold(cpid(2) as Cpid, item)).toBe(true)
})

test('an item that waits long takes the room of one', async () => {
  const held = await opened()
  held.holdWorkedOut(mergelog, 600_000, undefined)
  let kept = 0
  for (let at = 0; at < 10_100; at++) {
    if (held.hold(cpid(at % 2) as Cpid, item)) kept++
    held.take(cpid((at + 1) % 2) as Cpid)
  }
  expect(kept).toBe(10_100)
})

test('an item that is taken before any was counted frees no more room than it took', async () => {
  const held = await opened()
  for (let at = 0; at < 5; at++) held.hold(cpid(1) as Cpid, item)
  held.forget()
  expect(held.take(cpid(1) as Cpid)).toHaveLength(5)
  let kept = 0
  while (held.hold(cpid(2) as Cpid, item)) kept++
  expect(kept).toBe(10_000)
})
