import { test, expect } from '@jest/globals'
import fc from 'fast-check'
import {
  mergeTraceContexts,
  type Mergelog,
} from '../../packages/instrumentation/src/merge/merge-trace-contexts.ts'
import type { TraceContext } from '../../packages/instrumentation/src/context/trace-context.ts'

const OBJECTS = 6

/** Objects that carry trace contexts, with what truly influenced each, and the merge graph that the mergelogs tell of. */
class Cluster {
  readonly #maxAncestors: number
  readonly #carried: (TraceContext | undefined)[] = []
  readonly #influences: Set<string>[] = []
  readonly #rootsOf = new Map<string, Set<string>>()

  constructor(maxAncestors: number) {
    this.#maxAncestors = maxAncestors
  }

  /** Someone writes an object because of what others say. */
  write(target: number, because: readonly number[]): void {
    const read = because.flatMap((number) => this.#carried[number] ?? [])
    const { context, mergelog } = mergeTraceContexts(read, {
      maxAncestors: this.#maxAncestors,
      newCpid: () => `c${this.#rootsOf.size}`,
    })
    if (mergelog !== undefined) this.#record(mergelog)
    const influences = because.flatMap((number) => [...(this.#influences[number] ?? [])])
    this.#influences[target] = new Set(read.length === 0 ? [context.cpid] : influences)
    this.#carried[target] = context
  }

  /** The roots that the merge graph gives for the CPID of each object beside those it truly follows from. */
  comparison(): { told: Set<string>; true: Set<string> }[] {
    return this.#carried.flatMap((context, number) => {
      const influences = this.#influences[number]
      if (context === undefined || influences === undefined) return []
      return [{ told: this.#rootsOf.get(context.cpid) ?? new Set(), true: influences }]
    })
  }

  get mergelogs(): number {
    return this.#rootsOf.size
  }

  #record({ cpid, sources }: Mergelog): void {
    const roots = sources.flatMap((source) => [...(this.#rootsOf.get(source) ?? [])])
    this.#rootsOf.set(cpid, new Set(sources.length === 0 ? [cpid] : roots))
  }
}

const objects = fc.integer({ min: 0, max: OBJECTS - 1 })
const steps = fc.array(fc.record({ target: objects, because: fc.uniqueArray(objects, { maxLength: 4 }) }), {
  maxLength: 60,
})

test('however objects are written, the merge graph tells exactly which root changes each follows from', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 12 }), (history, maxAncestors) => {
      const cluster = new Cluster(maxAncestors)
      for (const { target, because } of history) cluster.write(target, because)
      for (const { told, true: truth } of cluster.comparison()) expect(told).toEqual(truth)
    }),
    { numRuns: 300 },
  )
})

test('with ancestors an object that follows another again and again needs no mergelog (Figure 8)', () => {
  const withAncestors = new Cluster(10)
  const without = new Cluster(0)
  for (const cluster of [withAncestors, without]) {
    cluster.write(0, [])
    cluster.write(1, [])
    for (let round = 0; round < 20; round++) cluster.write(1, [0, 1])
  }
  expect({ withAncestors: withAncestors.mergelogs, without: without.mergelogs }).toEqual({
    withAncestors: 3,
    without: 22,
  })
})
