import { test, expect } from '@jest/globals'
import { VirtualClock } from '../../packages/control-plane/virtual-clock.ts'
import { WorkQueue } from '../../packages/control-plane/runtime/work-queue.ts'

function queueOf() {
  const clock = new VirtualClock()
  const stop = new AbortController()
  return { clock, stop, queue: new WorkQueue(clock, stop.signal) }
}

/** Takes keys, with the time each was there, until nothing comes for so long. */
async function taken(clock: VirtualClock, queue: WorkQueue, forMs: number): Promise<[string, number][]> {
  const begun = clock.nowMs()
  const all: [string, number][] = []
  const take = async (): Promise<never> => {
    for (;;) {
      const key = await queue.take()
      all.push([key, clock.nowMs() - begun])
      queue.done(key)
    }
  }
  await clock.run(Promise.race([take(), clock.sleep(forMs)]))
  return all
}

test('a key that is added twice comes once, and keys come in the order in which they were added', async () => {
  const { clock, queue } = queueOf()
  for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key)
  expect(await taken(clock, queue, 10)).toEqual([
    ['a', 0],
    ['b', 0],
    ['c', 0],
  ])
})

test('a key that is added while in work comes again afterwards, and never to two workers', async () => {
  const { clock, queue } = queueOf()
  queue.add('a')
  expect(await queue.take()).toBe('a')
  queue.add('a')
  queue.add('a')
  queue.add('b')
  expect(await queue.take()).toBe('b')
  const next = queue.take()
  const early = await clock.run(Promise.race([next, clock.sleep(1_000)]))
  expect(early).toBeUndefined()
  queue.done('a')
  expect(await next).toBe('a')
})

test('a key that is done and was not added again does not come again', async () => {
  const { clock, queue } = queueOf()
  queue.add('a')
  queue.done(await queue.take())
  expect(await taken(clock, queue, 1_000)).toEqual([])
})

test('what failed comes again later each time, until it is forgotten', async () => {
  const { clock, queue } = queueOf()
  const waits: number[] = []
  for (let tries = 1; tries <= 6; tries++) {
    const failedMs = clock.nowMs()
    if (tries === 5) queue.forget('a')
    queue.retry('a')
    queue.done(await clock.run(queue.take()))
    waits.push(clock.nowMs() - failedMs)
  }
  expect(waits).toEqual([5, 10, 20, 40, 5, 10])
})

test('what always fails is tried again after 1000 s at the latest', async () => {
  const { clock, queue } = queueOf()
  let waitedMs = 0
  for (let tries = 1; tries <= 30; tries++) {
    const failedMs = clock.nowMs()
    queue.retry('a')
    queue.done(await clock.run(queue.take()))
    waitedMs = clock.nowMs() - failedMs
  }
  expect(waitedMs).toBe(1_000_000)
})

test('of several times that a key is to be added at, the earliest counts', async () => {
  const { clock, queue } = queueOf()
  queue.addAfter('a', 300)
  queue.addAfter('a', 100)
  queue.addAfter('a', 200)
  queue.addAfter('b', 150)
  expect(await taken(clock, queue, 1_000)).toEqual([
    ['a', 100],
    ['b', 150],
  ])
})

test('a queue that is stopped gives nothing more', async () => {
  const { stop, queue } = queueOf()
  const waiting = queue.take()
  stop.abort(new Error('the end'))
  await expect(waiting).rejects.toThrow('the end')
  queue.add('a')
  await expect(queue.take()).rejects.toThrow('the end')
})
