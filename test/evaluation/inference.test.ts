import { expect, test } from '@jest/globals'
import { historyOf } from '../../lab/evaluation/inference/history.ts'
import { measureHistories } from '../../lab/evaluation/inference/measure-histories.ts'
import { measureRecording } from '../../lab/evaluation/inference/measure-recording.ts'
import { playHistory } from '../../lab/evaluation/inference/play-history.ts'

test('nothing of a CPID can be seen from outside, and no version that only a CPID made', async () => {
  const { shown } = await playHistory(historyOf(1))
  expect(shown.writes.length).toBeGreaterThan(50)
  expect(shown.left.size).toBeGreaterThan(0)
  expect(JSON.stringify(shown.writes.map(({ object }) => object))).not.toContain('causeway.io/')
  for (const { version, accepted } of shown.writes) {
    expect(shown.left.has(`${accepted.object.metadata.uid}@${version}`)).toBe(false)
  }
})

test('every write has somebody who told of it, and an operator says to have begun each of their own', async () => {
  const { shown, said } = await playHistory(historyOf(2))
  expect(said.size).toBe(shown.writes.length)
  const operators = shown.writes.filter(({ component }) => component === 'kubectl')
  expect(operators.length).toBeGreaterThan(3)
  for (const write of operators) expect(said.get(write)?.roots).toEqual([write])
})

test('what is inferred of some histories is what their controllers said, nearly always', async () => {
  const { sources, writes } = await measureHistories(40, () => undefined)
  const [both, watch, audit] = sources.map(({ all }) => all)
  expect(both).toMatchObject({ writes, unseen: 0, wronglyExact: 0 })
  expect(both!.wrongRoots / writes).toBeLessThan(0.07)
  expect(both!.wrongParents / both!.asked).toBeLessThan(0.05)
  // Only what a new ReplicaSet copies tells all that was read for it.
  expect(both!.exact).toBeGreaterThan(40)
  expect(watch!.wrongRoots).toBeGreaterThan(both!.wrongRoots)
  expect(audit!.unseen).toBe(0)
  const ofControllers = Object.entries(sources[0]!.kinds).filter(
    ([kind, tally]) => !kind.startsWith('kubectl') && tally.writes >= 100,
  )
  expect(ofControllers.length).toBeGreaterThan(8)
  for (const [kind, tally] of ofControllers) {
    expect([kind, tally.wrongAtFirst / tally.writes < 0.04]).toEqual([kind, true])
    expect([kind, tally.wrongParents / tally.writes < 0.1]).toEqual([kind, true])
  }
  const operators = Object.entries(sources[0]!.kinds).filter(([kind]) => kind.startsWith('kubectl'))
  expect(operators.map(([, { wrongRoots }]) => wrongRoots)).toEqual(operators.map(() => 0))
})

test('a recorded rollout is read as Events, requests and templates say it was', () => {
  const { events, requests, templates, undecided } = measureRecording()
  expect(undecided).toBe(0)
  expect(events).toEqual({
    SuccessfulCreate: { right: 26, of: 26 },
    SuccessfulDelete: { right: 19, of: 19 },
    Scheduled: { right: 26, of: 26 },
    ScalingReplicaSet: { right: 9, of: 10 },
  })
  expect(requests.right).toBe(requests.of)
  expect(templates).toEqual({ right: 4, of: 4 })
})
