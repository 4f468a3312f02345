import { test, expect } from '@jest/globals'
import fc from 'fast-check'
import { mergeTraceContexts } from '../../packages/instrumentation/src/merge/merge-trace-contexts.ts'
import type { TraceContext } from '../../packages/instrumentation/src/context/trace-context.ts'
import { knownDescent } from './support/known-descent.ts'
import { anyContexts, trueContexts, type TrueGraph } from './support/true-graph.ts'

const NEW = 'ffffffff-0000-4000-8000-000000000000'
const RUNS = { numRuns: 500 }
const limits = fc.integer({ min: 0, max: 12 })
const merge = (contexts: readonly TraceContext[], maxAncestors = 10) =>
  mergeTraceContexts(contexts, { maxAncestors, newCpid: () => NEW })
const distinct = (contexts: readonly TraceContext[]) => new Set(contexts.map(({ cpid }) => cpid))

test('a merge is skipped only where the CPID truly descends from all the others', () => {
  fc.assert(
    fc.property(trueContexts, limits, ({ graph, contexts }, most) => {
      const { context, mergelog } = merge(contexts, most)
      if (mergelog !== undefined) return
      const others = [...distinct(contexts)].filter((cpid) => cpid !== context.cpid)
      expect(others.filter((other) => !graph.descends(context.cpid, other))).toEqual([])
    }),
    RUNS,
  )
})

test('a merge is skipped wherever what is listed suffices', () => {
  fc.assert(
    fc.property(trueContexts, ({ contexts }) => {
      const descent = knownDescent(contexts)
      const standing = [...descent].find(([, ancestors]) => ancestors.size === descent.size - 1)
      const { context, mergelog } = merge(contexts)
      if (standing === undefined) expect(mergelog?.cpid).toBe(NEW)
      else expect({ cpid: context.cpid, mergelog }).toEqual({ cpid: standing[0], mergelog: undefined })
    }),
    RUNS,
  )
})

test('a new CPID has as sources the CPIDs that no other is known to descend from, and so descends from all', () => {
  fc.assert(
    fc.property(trueContexts, ({ graph, contexts }) => {
      const { context, mergelog } = merge(contexts)
      if (mergelog === undefined) return
      const { sources } = mergelog
      expect(mergelog.cpid).toBe(context.cpid)
      expect(new Set(sources).size).toBe(sources.length)
      const below = new Set([...knownDescent(contexts).values()].flatMap((ancestors) => [...ancestors]))
      expect([...sources].sort()).toEqual([...distinct(contexts)].filter((cpid) => !below.has(cpid)).sort())
      for (const cpid of distinct(contexts)) {
        expect(sources.some((source) => source === cpid || graph.descends(source, cpid))).toBe(true)
      }
    }),
    RUNS,
  )
})

test('the ancestors that come out are true, each there once, and no more than may be', () => {
  fc.assert(
    fc.property(trueContexts, limits, ({ graph, contexts }, most) => {
      const { context, mergelog } = merge(contexts, most)
      const { ancestors } = context
      expect(ancestors.length).toBeLessThanOrEqual(most)
      expect(new Set(ancestors).size).toBe(ancestors.length)
      const from = mergelog?.sources ?? [context.cpid]
      expect(
        ancestors.filter((ancestor) => !isAncestor(graph, ancestor, from, mergelog !== undefined)),
      ).toEqual([])
    }),
    RUNS,
  )
})

function isAncestor(graph: TrueGraph, ancestor: string, from: readonly string[], orSame: boolean): boolean {
  return from.some((cpid) => (orSame && cpid === ancestor) || graph.descends(cpid, ancestor))
}

test('nothing known is left out while there is room', () => {
  fc.assert(
    fc.property(trueContexts, ({ contexts }) => {
      const { context } = merge(contexts, 1000)
      const told = new Set(contexts.flatMap(({ cpid, ancestors }) => [cpid, ...ancestors]))
      told.delete(context.cpid)
      expect(new Set(context.ancestors)).toEqual(told)
    }),
    RUNS,
  )
})

test('neither order nor repetition changes whether there is a merge, nor its sources', () => {
  const shuffled = trueContexts.chain(({ contexts }) =>
    fc.tuple(
      fc.constant(contexts),
      fc.shuffledSubarray([...contexts, ...contexts], { minLength: 2 * contexts.length }),
    ),
  )
  const essence = (contexts: readonly TraceContext[]) => {
    const { context, mergelog } = merge(contexts)
    return { cpid: context.cpid, sources: mergelog === undefined ? undefined : new Set(mergelog.sources) }
  }
  fc.assert(
    fc.property(shuffled, ([contexts, again]) => expect(essence(again)).toEqual(essence(contexts))),
    RUNS,
  )
})

test('contexts that contradict each other are all merged, and none of their lists is passed on', () => {
  fc.assert(
    fc.property(anyContexts, (contexts) => {
      const contradicts = [...knownDescent(contexts)].some(([cpid, ancestors]) => ancestors.has(cpid))
      if (!contradicts) return
      const { context, mergelog } = merge(contexts)
      expect(new Set(mergelog?.sources)).toEqual(distinct(contexts))
      expect(new Set(context.ancestors)).toEqual(distinct(contexts))
    }),
    RUNS,
  )
})

test('the input stays as it was', () => {
  fc.assert(
    fc.property(anyContexts, limits, (contexts, most) => {
      for (const context of contexts) Object.freeze(Object.freeze(context).ancestors)
      expect(() => merge(Object.freeze(contexts), most)).not.toThrow()
    }),
    RUNS,
  )
})
