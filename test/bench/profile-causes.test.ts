import { Session } from 'node:inspector/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { causesOf, type CpuProfile, threadOf } from '../../lab/bench/measure/profile-causes.ts'

const frame = (functionName: string, url: string) => ({ functionName, url })

const STORE: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)', ''), children: [2, 3, 7] },
    { id: 2, callFrame: frame('(idle)', '') },
    { id: 3, callFrame: frame('turn', 'file:///c/src/store/store-thread.ts'), children: [4, 6] },
    { id: 4, callFrame: frame('send', 'file:///c/src/store/sqlite/outbox.ts'), children: [5] },
    { id: 5, callFrame: frame('set', '') },
    { id: 6, callFrame: frame('exec', 'file:///c/node_modules/better-sqlite3/lib/methods/wrappers.js') },
    { id: 7, callFrame: frame('(program)', '') },
  ],
  samples: [2, 5, 6, 3, 7, 5],
  timeDeltas: [9000, 1000, 2000, 500, 250, 1000],
}

test('a sample counts toward the innermost cause on its stack, and idle time toward none', () => {
  expect(Object.fromEntries(causesOf(STORE))).toEqual({ outbox: 2, commit: 2, schedule: 0.5, other: 0.25 })
  expect(threadOf(STORE)).toBe('store')
})

test('the causes of a profile that V8 writes add up to the time in which it was busy', async () => {
  using session = { at: new Session(), [Symbol.dispose]: () => session.at.disconnect() }
  session.at.connect()
  await session.at.post('Profiler.enable')
  await session.at.post('Profiler.start')
  for (let round = 0; round < 50; round++) gzipSync(Buffer.alloc(100_000, `${round}`))
  const { profile } = (await session.at.post('Profiler.stop')) as unknown as { profile: CpuProfile }
  const idle = profile.nodes.find(({ callFrame }) => callFrame.functionName === '(idle)')?.id
  const busyMicros = profile.samples.reduce(
    (sum, id, at) => sum + (id === idle ? 0 : (profile.timeDeltas[at] ?? 0)),
    0,
  )
  const causes = causesOf(profile)
  expect([...causes.values()].reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(busyMicros / 1000, 6)
  expect(causes.get('compression')).toBeGreaterThan(0)
  expect(threadOf(profile)).toBe('main')
})
