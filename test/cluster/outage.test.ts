import { expect, test } from '@jest/globals'
import { Backoff, type BackoffClock, Outage } from '../../src/kube/cluster/flow-control.ts'
import { WatchReports } from '../../src/receiver/watched-cluster.ts'

/** Nothing comes but by a signal. */
const FOR_EVER: BackoffClock = {
  now: () => 0n,
  sleep: (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  random: () => 0,
}

const none = (): void => undefined
const OBSERVES_NOTHING = {
  ...{ recorded: none, skipped: none, unreadable: none },
  ...{ relisted: none, watched: none, refused: none },
}

test('once one reaches the server, the others ask it as well, and wait again when it does not answer them', async () => {
  const outage = new Outage()
  const { signal } = new AbortController()
  const ended: string[] = []
  const waits = async (name: string): Promise<void> => {
    await outage.wait(new Backoff(FOR_EVER), signal)
    ended.push(name)
  }
  const both = Promise.all([waits('a'), waits('b')])
  expect(ended).toEqual([])
  outage.over()
  await both
  expect(ended).toEqual(['a', 'b'])
  const again = waits('c')
  expect(ended).toHaveLength(2)
  outage.over()
  await again
  expect(ended).toHaveLength(3)
})

test('after an outage those that are behind are waited for from when the first is level', () => {
  const told: boolean[] = []
  const reports = new WatchReports(
    { receiver: 'r', cluster: 'c', address: 'https://c' },
    {
      observer: OBSERVES_NOTHING,
      ...{ onTrouble: none, onWarning: none, now: () => 0n },
      onBehind: (isBehind) => told.push(isBehind),
    },
  )
  const toldAfter = (tell: () => void): boolean[] => {
    told.length = 0
    tell()
    return [...told]
  }
  const away = (...names: string[]) => toldAfter(() => names.forEach((name) => reports.behind(name)))
  const there = (name: string) => toldAfter(() => reports.inSync(name))
  expect(away('a', 'b', 'c')).toEqual([true])
  expect([there('a'), there('b'), there('c')]).toEqual([[], [], [false]])
  expect(away('a', 'b', 'c')).toEqual([true])
  expect(there('a')).toEqual([false, true])
  expect([there('b'), there('c')]).toEqual([[], [false]])
  // One alone is away, and keeps nobody waiting anew for what others do.
  expect(away('b')).toEqual([true])
  expect([away('a'), there('a')]).toEqual([[], []])
  expect(there('b')).toEqual([false])
  // What is refused is not awaited.
  reports.refused('c', 'it may not be seen')
  expect(away('a', 'b')).toEqual([true])
  expect(there('a')).toEqual([false, true])
})
