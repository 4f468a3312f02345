import { expect, test } from '@jest/globals'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'
import { cpid } from '../support/otlp-requests.ts'
import { merge } from './arrivals-contract.ts'
import { openedTrace } from './linking-contract.ts'
import type { Inside, Open } from './opened.ts'

const sight = ({ graph }: Inside, most: number): void => {
  for (let number = 1; number <= most; number++) graph.findOrAdd(cpid(number) as Cpid)
}
const ids = (places: readonly { id: number }[]): number[] => places.map(({ id }) => id)

/** What any implementation has to keep to of which CPIDs go first and what is left of them. */
export function pruningContract(open: Open): void {
  test('candidates are the live CPIDs to which no edge points, oldest first, from one place to another', async () => {
    using opened = await open()
    opened.transactor.run((inside) => {
      const { graph, pruning } = inside
      sight(inside, 4)
      merge(inside, 3, { timeNs: 7n, scope: 1 })
      const held = graph.node(2)
      held.inDegree = 1
      graph.save(held)
      pruning.leaveTombstone(1)
      const all = pruning.candidates(undefined, undefined, 9)
      expect(ids(all)).toEqual([3, 4])
      expect(all[0]?.timeNs).toBe(7n)
      expect(ids(pruning.candidates(all[0], undefined, 9))).toEqual([4])
      expect(ids(pruning.candidates(undefined, all[1], 9))).toEqual([3])
      expect(ids(pruning.candidates(undefined, undefined, 1))).toEqual([3])
    })
  })

  test('a mergelog from the future counts from its arrival, and one that came is told of with its place', async () => {
    using opened = await open()
    opened.transactor.run((inside) => {
      const nowNs = nanosOfMs(inside.arrivals.wallMs)
      const first = merge(inside, 1, { timeNs: nowNs + 5n, scope: 1 })
      const second = merge(inside, 2, { timeNs: nowNs - 5n, scope: 1 })
      expect(inside.pruning.mergedAfter(0, 9)).toEqual([
        { arrival: first.arrival, place: { id: first.id, timeNs: nowNs } },
        { arrival: second.arrival, place: { id: second.id, timeNs: nowNs - 5n } },
      ])
      expect(inside.pruning.mergedAfter(first.arrival, 9)).toHaveLength(1)
      expect(inside.pruning.mergedAfter(0, 1)).toHaveLength(1)
    })
  })

  test('a CPID that is marked for removal is no candidate until it is unmarked; forced ones come first; marks survive a restart', async () => {
    using opened = await open()
    opened.transactor.run((inside) => {
      sight(inside, 3)
      inside.pruning.markForRemoval(1, false)
      inside.pruning.markForRemoval(2, true)
    })
    opened.reopened().transactor.run(({ pruning }) => {
      expect(pruning.markedForRemoval(9)).toEqual([
        { id: 2, forced: true },
        { id: 1, forced: false },
      ])
      expect(pruning.markedForRemoval(1)).toHaveLength(1)
      expect(ids(pruning.candidates(undefined, undefined, 9))).toEqual([3])
      const place = pruning.unmark(1)
      expect(place.id).toBe(1)
      expect(pruning.candidates(undefined, undefined, 9)[0]).toEqual(place)
      expect(() => pruning.unmark(9)).toThrow(/9/)
    })
  })

  test('a CPID that is unmarked has the place of its mergelog again', async () => {
    using opened = await open()
    opened.transactor.run((inside) => {
      const { id } = merge(inside, 1, { timeNs: 9n, scope: 1 })
      inside.pruning.markForRemoval(id, false)
      expect(inside.pruning.unmark(id)).toEqual({ id, timeNs: 9n })
    })
  })

  test('a tombstone has neither mergelog nor edges that were taken from it, and the oldest are forgotten first', async () => {
    using opened = await open()
    opened.transactor.run((inside) => {
      const { graph, pruning, mergelogs } = inside
      sight(inside, 4)
      merge(inside, 1, { timeNs: 9n, scope: 1 })
      graph.addEdge(1, 2)
      pruning.removeEdge(1, 2)
      for (const id of [1, 2, 3]) pruning.leaveTombstone(id)
      expect([graph.targetsAfter(1, 0, 9), mergelogs.find(1), pruning.countCpids()]).toEqual([
        [],
        undefined,
        1,
      ])
      expect([pruning.removeOldTombstones(3, 9), graph.forgotten.nextEpisode]).toEqual([0, 0])
      expect(pruning.removeOldTombstones(2, 1)).toBe(1)
      expect([1, 2, 3].map((id) => graph.maybeNode(id)?.id)).toEqual([undefined, 2, 3])
    })
    opened.transactor.run(({ pruning, traces, linkRound, graph }) => {
      // The tombstone of a root whose traces are there is needed.
      linkRound(() => traces.add(openedTrace(2), undefined))
      while (pruning.removeOldTombstones(0, 1) > 0);
      expect([1, 2, 3].map((id) => graph.maybeNode(id)?.id)).toEqual([undefined, 2, undefined])
    })
    // CPID 1 is forgotten with its episodes, of which the mergelog's time tells how late it was.
    const { forgotten } = opened.reopened().transactor.run(({ graph }) => graph)
    expect(forgotten.nextEpisode).toBe(1)
    expect(forgotten.untilMs).toBeGreaterThan(0)
    const left = opened.reopened().transactor.run(({ graph }) => graph.findOrAdd(cpid(1) as Cpid).id)
    expect(left).toBe(5)
  })
}
