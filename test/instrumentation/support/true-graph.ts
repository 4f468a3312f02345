import fc from 'fast-check'
import type { TraceContext } from '../../../packages/instrumentation/src/context/trace-context.ts'
import { cpid } from '../../support/otlp-requests.ts'

/** A merge graph as it truly is: CPID n is cpid(n), and merges only CPIDs that are older. */
export class TrueGraph {
  readonly #ancestors: ReadonlySet<string>[] = []

  constructor(sources: readonly (readonly number[])[]) {
    for (const own of sources) {
      const ancestors = new Set<string>()
      for (const source of own) {
        ancestors.add(cpid(source))
        for (const older of this.#ancestors[source] ?? []) ancestors.add(older)
      }
      this.#ancestors.push(ancestors)
    }
  }

  get size(): number {
    return this.#ancestors.length
  }

  ancestorsOf(number: number): ReadonlySet<string> {
    return this.#ancestors[number] ?? new Set()
  }

  descends(from: string, ancestor: string): boolean {
    return this.ancestorsOf(Number.parseInt(from.slice(-12), 16)).has(ancestor)
  }
}

const graphs: fc.Arbitrary<TrueGraph> = fc
  .integer({ min: 1, max: 14 })
  .chain((size) =>
    fc
      .tuple(
        ...Array.from({ length: size }, (_, number) =>
          number === 0
            ? fc.constant([])
            : fc.uniqueArray(fc.integer({ min: 0, max: number - 1 }), { maxLength: 3 }),
        ),
      )
      .map((sources) => new TrueGraph(sources)),
  )

/** A true context: some of the true ancestors, in any order. */
function contextIn(graph: TrueGraph): fc.Arbitrary<TraceContext> {
  return fc.integer({ min: 0, max: graph.size - 1 }).chain((number) => {
    const all = [...graph.ancestorsOf(number)]
    return fc
      .oneof(fc.constant(all), fc.shuffledSubarray(all))
      .map((ancestors) => ({ cpid: cpid(number), ancestors }))
  })
}

/** Contexts that tell nothing but the truth about a merge graph, and little of it, with repeats. */
export const trueContexts: fc.Arbitrary<{ graph: TrueGraph; contexts: TraceContext[] }> = graphs.chain(
  (graph) => fc.array(contextIn(graph), { maxLength: 8 }).map((contexts) => ({ graph, contexts })),
)

/** Contexts that tell anything about few CPIDs, so that they contradict one another and themselves. */
export const anyContexts: fc.Arbitrary<TraceContext[]> = fc.array(
  fc.record({
    cpid: fc.integer({ min: 0, max: 7 }).map(cpid),
    ancestors: fc.array(fc.integer({ min: 0, max: 9 }).map(cpid), { maxLength: 6 }),
  }),
  { maxLength: 8 },
)
