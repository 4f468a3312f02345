import { expect, test } from '@jest/globals'
import type { Cpid, MergeGraph } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import type { Open } from './opened.ts'

const name = (number: number): Cpid => cpid(number) as Cpid

/** CPIDs 1 to `most`, whose numbers are those. */
function sighted(graph: MergeGraph, most: number): void {
  for (let number = 1; number <= most; number++) expect(graph.findOrAdd(name(number)).id).toBe(number)
}

/** What any merge graph has to keep to. */
export function graphContract(open: Open): void {
  test('a CPID gets a number at its first sighting, and keeps it', async () => {
    using opened = await open()
    opened.clock.advance(500)
    opened.transactor.run(({ graph }) => {
      expect(graph.find(name(1))).toBeUndefined()
      const node = graph.findOrAdd(name(1))
      expect(node).toMatchObject({
        id: 1,
        cpid: name(1),
        rank: 1,
        pruned: false,
        hasMergelog: false,
        inDegree: 0,
      })
      expect(node).toMatchObject({
        explained: false,
        unexplainedSources: 0,
        nextEpisode: 0,
        missingSinceMs: 500,
      })
      expect([node.roots, node.claim]).toEqual([undefined, undefined])
      expect(graph.findOrAdd(name(1))).toBe(node)
      expect([graph.find(name(1)), graph.node(1), graph.maybeNode(1)]).toEqual([node, node, node])
      expect(graph.maybeNode(2)).toBeUndefined()
      expect(() => graph.node(2)).toThrow(/2/)
    })
  })

  test('a watcher of the graph hears of every saved CPID, and of every rollback', async () => {
    using opened = await open()
    const heard: (number | 'all')[] = []
    opened.transactor.run(({ graph }) => {
      graph.watch({ changed: (id) => heard.push(id), forget: () => heard.push('all') })
      sighted(graph, 2)
      graph.save(graph.node(2))
      graph.revive(graph.node(1))
    })
    expect(heard).toEqual([2, 1])
    const broken = new Error('rolled back')
    expect(() =>
      opened.transactor.run(({ graph }) => {
        graph.save(graph.node(1))
        throw broken
      }),
    ).toThrow(broken)
    expect(heard).toEqual([2, 1, 1, 'all'])
  })

  test('what is saved of a CPID is read again as it was', async () => {
    using opened = await open()
    const saved = opened.transactor.run(({ graph }) => {
      sighted(graph, 3)
      const node = graph.node(3)
      Object.assign(node, { hasMergelog: true, explained: true, unexplainedSources: 2, inDegree: 4 })
      Object.assign(node, { roots: [2, 1], nextEpisode: 5 })
      graph.save(node)
      graph.setRank(3, 1.5)
      graph.claim(node, Buffer.from('whose it is'))
      return { ...node }
    })
    expect(saved.rank).toBe(1.5)
    const again = opened.reopened().transactor.run(({ graph }) => ({ ...graph.node(3) }))
    expect({ ...again, claim: again.claim?.toString() }).toEqual({ ...saved, claim: 'whose it is' })
  })

  test('edges are there once each, and are read from both ends, page by page in the order of numbers', async () => {
    using opened = await open()
    opened.transactor.run(({ graph }) => {
      sighted(graph, 6)
      for (const target of [5, 3, 6, 3]) graph.addEdge(1, target)
      graph.addEdge(2, 3)
      expect(graph.targetsAfter(1, 0, 9)).toEqual([3, 5, 6])
      expect(graph.sourcesOf(3).sort()).toEqual([1, 2])
      expect([graph.targetsAfter(1, 0, 2), graph.targetsAfter(1, 3, 9)]).toEqual([
        [3, 5],
        [5, 6],
      ])
      graph.setRank(5, 9)
      expect(graph.rankedTargets(1, 3, 9)).toEqual([
        { id: 5, rank: 9 },
        { id: 6, rank: 6 },
      ])
      expect(graph.rankedSources(3, 0, 1)).toEqual([{ id: 1, rank: 1 }])
      graph.removeEdgesTo(3)
      expect([graph.sourcesOf(3), graph.targetsAfter(1, 0, 9), graph.targetsAfter(2, 0, 9)]).toEqual([
        [],
        [5, 6],
        [],
      ])
    })
  })

  test('sources that are not explained are counted as they are saved', async () => {
    using opened = await open()
    opened.transactor.run(({ graph }) => {
      sighted(graph, 3)
      graph.addEdge(1, 3)
      graph.addEdge(2, 3)
      expect(graph.countUnexplained(3)).toBe(2)
      const node = graph.node(1)
      node.explained = true
      graph.save(node)
      expect(graph.countUnexplained(3)).toBe(1)
    })
  })

  test('what is to be explained later is remembered until it is done, by the next process too', async () => {
    using opened = await open()
    opened.transactor.run(({ graph }) => {
      sighted(graph, 2)
      graph.postponeExplanation(2, -1)
      graph.postponeExplanation(1, 0)
      graph.postponeExplanation(2, 7)
    })
    const again = opened.reopened()
    expect([opened.reader.hasPostponedExplanation, again.reader.hasPostponedExplanation]).toEqual([
      true,
      true,
    ])
    again.transactor.run(({ graph }) => {
      expect([
        graph.isExplanationPostponed(1),
        graph.isExplanationPostponed(2),
        graph.isExplanationPostponed(3),
      ]).toEqual([true, true, false])
      const first = graph.nextPostponedExplanation()
      expect([
        { id: 1, after: 0 },
        { id: 2, after: 7 },
      ]).toContainEqual(first)
      graph.forgetPostponedExplanation(first?.id ?? 0)
      const second = graph.nextPostponedExplanation()
      expect(second?.id).toBe(3 - (first?.id ?? 0))
      graph.forgetPostponedExplanation(second?.id ?? 0)
      expect(graph.nextPostponedExplanation()).toBeUndefined()
    })
    expect(again.reader.hasPostponedExplanation).toBe(false)
  })

  test('news are numbered together with all arrivals', async () => {
    using opened = await open()
    const numbers = opened.transactor.run(({ graph }) => {
      sighted(graph, 1)
      return [graph.announce(1, 'mergelog'), graph.announce(1, 'explained')]
    })
    expect(numbers).toEqual([1, 2])
    expect(opened.reader.progress.lastArrival).toBe(2)
  })

  test('a tombstone that is revived is a candidate again from now on, and goes on with its next episode', async () => {
    using opened = await open()
    opened.transactor.run(({ graph, pruning }) => {
      sighted(graph, 2)
      pruning.leaveTombstone(1)
      expect(graph.node(1)).toMatchObject({ pruned: true, explained: true, roots: [1], nextEpisode: 1 })
      expect(pruning.countCpids()).toBe(1)
    })
    opened.clock.advance(1_000)
    opened.transactor.run(({ graph, pruning }) => {
      graph.revive(graph.node(1))
      expect(graph.node(1)).toMatchObject({ pruned: false, explained: true, nextEpisode: 1 })
      expect(pruning.candidates(undefined, undefined, 9).map(({ id }) => id)).toEqual([2, 1])
      expect(pruning.countCpids()).toBe(2)
    })
  })
}
