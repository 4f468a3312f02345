import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Ancestry } from '../../src/graph/ancestry.ts'
import { explainMore } from '../../src/graph/record-mergelog.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import { plainEnds, plainRoots } from './plain-walk.ts'
import { TestGraph } from './test-graph.ts'

const CPIDS = 9
const WAIT_MS = 20

const cpids = fc.nat(CPIDS - 1)
const sources = fc.uniqueArray(cpids, { maxLength: 3 })
const several = fc.uniqueArray(cpids, { minLength: 1, maxLength: CPIDS })
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('mergelog' as const),
        id: cpids,
        sources,
        replaces: fc.boolean(),
        explained: fc.nat(3),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('ask' as const), ids: several }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune' as const), id: cpids }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.nat(12) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('rollback' as const), id: cpids, sources, ids: several }),
    },
  ),
  { maxLength: 60, size: 'max' },
)

const name = (id: number): Cpid => cpid(id + 1) as Cpid

function add(stored: TestGraph, id: number, sources: readonly number[], replaces = false): void {
  const names = sources.filter((source) => source !== id).map(name)
  stored.add(name(id), names, { maxFanout: 3, explainAtOnce: 1, hasBetterClaim: () => replaces })
}

type Drawn = (typeof steps extends fc.Arbitrary<infer T> ? T : never)[number]
type Ask = (id: number, nowMs: number) => void

/** Does one step of a history; `ask` is to ask about the CPID with a number, in a round. */
function live(stored: TestGraph, ancestry: Ancestry, step: Drawn, ask: Ask): void {
  const asking = (ids: readonly number[]): void =>
    stored.inTransaction((nowMs) => {
      ancestry.beginRound(nowMs)
      for (const id of ids) {
        const node = stored.graph.find(name(id))
        if (node !== undefined) ask(node.id, nowMs)
      }
    })
  switch (step.kind) {
    case 'ask':
      asking(step.ids)
      return
    case 'time':
      stored.clock.advance(step.ms)
      return
    case 'prune':
      stored.inTransaction(() => stored.prune(name(step.id)))
      return
    case 'mergelog':
      stored.inTransaction(() => {
        add(stored, step.id, step.sources, step.replaces)
        explainMore(stored.graph, 3, step.explained)
      })
      return
    case 'rollback':
      stored.undone((nowMs) => {
        add(stored, step.id, step.sources)
        ancestry.beginRound(nowMs)
        for (const id of step.ids) {
          const node = stored.graph.find(name(id))
          if (node !== undefined) ask(node.id, nowMs)
        }
      })
  }
}

test('the remembered ancestors of a CPID are those that a walk finds, whatever has changed since they were last asked for', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      await using stored = await TestGraph.open()
      const { graph } = stored
      const ancestry = new Ancestry(graph, { maxFanout: 3, waitMs: WAIT_MS })
      for (const step of drawn) {
        live(stored, ancestry, step, (id, nowMs) => {
          expect(ancestry.waitsUntil(id)).toBe(plainEnds(graph, id, WAIT_MS, nowMs)[0])
          expect(ancestry.roots(id)).toEqual(plainRoots(graph, id, 3))
        })
      }
    }),
    { numRuns: 200 },
  )
})

test('a round with a small budget says so, is right where it answers, and finishes after enough rounds', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 6 }), async (drawn, perRound) => {
      await using stored = await TestGraph.open()
      const { graph } = stored
      const ancestry = new Ancestry(graph, { maxFanout: 3, waitMs: WAIT_MS, perRound, perAskAfter: 1 })
      const answers: boolean[] = []
      const ask = (id: number, nowMs: number): void => {
        const until = ancestry.waitsUntil(id)
        answers.push(until !== 'later')
        if (until === 'later') return
        const ends = plainEnds(graph, id, WAIT_MS, nowMs)
        if (until === undefined) expect(ends).toEqual([])
        else expect(ends).toContain(until)
        expect(ancestry.roots(id)).toEqual(plainRoots(graph, id, 3))
      }
      for (const step of drawn) live(stored, ancestry, step, ask)
      for (let id = 0; id < CPIDS; id++) {
        let rounds = 0
        do {
          answers.push(true)
          live(stored, ancestry, { kind: 'ask', ids: [id] }, ask)
          expect(rounds++).toBeLessThan(20 * CPIDS)
        } while (answers.at(-1) === false)
      }
    }),
    { numRuns: 200 },
  )
})

test('a chain below a missing mergelog is walked once, not anew for each that is added to it', async () => {
  await using stored = await TestGraph.open()
  const { graph } = stored
  const ancestry = new Ancestry(graph, { maxFanout: 3, waitMs: WAIT_MS })
  const looked: number[] = []
  for (let at = 1; at <= 3_000; at++) {
    stored.inTransaction((nowMs) => {
      add(stored, at, [at - 1])
      ancestry.beginRound(nowMs)
      stored.looks = 0
      const id = graph.find(name(at))?.id ?? 0
      ancestry.waitsUntil(id)
      ancestry.roots(id)
      looked.push(stored.looks)
    })
  }
  expect(Math.max(...looked)).toBe(1)
})

test('a chain that was never asked for is walked in several rounds, each within its budget', async () => {
  await using stored = await TestGraph.open()
  const { graph } = stored
  stored.inTransaction(() => {
    for (let at = 1; at <= 3_000; at++) add(stored, at, [at - 1])
  })
  const ancestry = new Ancestry(graph, { maxFanout: 3, waitMs: WAIT_MS, perRound: 1_000 })
  const last = graph.find(name(3_000))?.id ?? 0
  const looked: number[] = []
  while (
    stored.inTransaction((nowMs) => {
      ancestry.beginRound(nowMs)
      stored.looks = 0
      const until = ancestry.waitsUntil(last)
      looked.push(stored.looks)
      return until === 'later'
    })
  );
  expect(Math.max(...looked)).toBeLessThanOrEqual(1_000)
  expect(looked.reduce((sum, looks) => sum + looks, 0)).toBe(3_000)
  expect(ancestry.roots(last)).toEqual([graph.find(name(0))?.id])
})
