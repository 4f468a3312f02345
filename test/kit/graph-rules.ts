import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Ancestry } from '../../src/graph/ancestry.ts'
import { explainMore, recordMergelog } from '../../src/graph/record-mergelog.ts'
import type { Cpid, MergeGraph, MergelogOutcome } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import type { Inside, Open } from './opened.ts'

/** The merge graph as a map, with every question answered by walking it anew. */
class ModelGraph {
  readonly sources = new Map<number, number[]>()
  /** A mergelog took the place of another. What was explained before stays so, whatever the new one lacks. */
  hasReplaced = false

  add({ id, sources, replaces }: Drawn): MergelogOutcome['kind'] {
    const stored = this.sources.get(id)
    if (stored !== undefined && !replaces) return stored.join() === sources.join() ? 'repeated' : 'refused'
    if (sources.some((source) => this.ancestors(source).has(id))) return 'refused'
    this.hasReplaced ||= stored !== undefined
    this.sources.set(id, sources)
    return 'new'
  }

  /** With the CPID itself. */
  ancestors(id: number): Set<number> {
    const found = new Set([id])
    for (const at of found) for (const source of this.sources.get(at) ?? []) found.add(source)
    return found
  }

  isExplained(id: number): boolean {
    return [...this.ancestors(id)].every((ancestor) => this.sources.has(ancestor))
  }

  roots(id: number): number[] {
    return [...this.ancestors(id)].filter((ancestor) => (this.sources.get(ancestor) ?? []).length === 0)
  }
}

const mergelogs = fc.array(
  fc
    .record({
      id: fc.nat(7),
      sources: fc.uniqueArray(fc.nat(7), { maxLength: 3 }),
      replaces: fc.boolean(),
    })
    .map(({ id, sources, replaces }) => ({
      ...{ id, replaces },
      sources: sources.filter((source) => source !== id).sort((a, b) => a - b),
    })),
  { maxLength: 30 },
)

/** How much is explained with a mergelog, and between two of them. */
const turns = fc.option(fc.array(fc.nat(3), { minLength: 1, maxLength: 6 }))

/** That the rules of the graph, on an implementation of its ports, answer as a walk over everything does. */
export function graphRules(open: Open): void {
  test('the graph rules answer as a simple model does, with repeated, conflicting, replaced and cyclic mergelogs, explained at once or in turns', async () => {
    await fc.assert(
      fc.asyncProperty(mergelogs, turns, fc.boolean(), async (drawn, work, mayReplace) => {
        using opened = await open()
        const model = new ModelGraph()
        let at = 0
        for (const one of drawn) {
          const each = { ...one, replaces: one.replaces && mayReplace }
          const explainAtOnce = work === null ? {} : { explainAtOnce: 1 }
          const kind = opened.transactor.run((inside) => record(inside, each, explainAtOnce))
          expect(kind).toBe(model.add(each))
          opened.transactor.run(({ graph }) => explainMore(graph, 100, work?.[at++ % work.length] ?? 0))
        }
        while (opened.transactor.run(({ graph }) => explainMore(graph, 100, 1)) > 0);
        opened.transactor.run(({ graph }) => expectAnswers(graph, model))
        opened.reopened().transactor.run(({ graph }) => expectAnswers(graph, model))
      }),
      { numRuns: 300 },
    )
  })
}

interface Drawn {
  id: number
  sources: number[]
  /** If its CPID has a mergelog already, this one takes the place of that. */
  replaces: boolean
}

const name = (id: number): Cpid => cpid(id + 1) as Cpid

function record(
  { graph, arrivals }: Inside,
  { id, sources, replaces }: Drawn,
  explainAtOnce: { explainAtOnce?: number },
): MergelogOutcome['kind'] {
  const mergelog = { cpid: name(id), sources: sources.map(name) }
  const settings = { maxFanout: 100, ...explainAtOnce, hasBetterClaim: () => replaces }
  const outcome = recordMergelog(graph, mergelog, settings)
  if (outcome.kind === 'new') {
    if (outcome.replaced) arrivals.contestMergelog(graph.findOrAdd(name(id)).id, name(id))
    const said = {
      newCpid: name(id),
      sources: mergelog.sources,
      timeNs: 1n,
      object: undefined,
      reason: undefined,
    }
    const from = { scope: 1, cluster: '' }
    const told = { reportingSpan: undefined, replaces: outcome.replaced }
    arrivals.addMergelog(graph.findOrAdd(name(id)).id, outcome.arrival, mergelog, said, 1n, from, told)
  }
  return outcome.kind
}

function expectAnswers(graph: MergeGraph, model: ModelGraph): void {
  const ancestry = new Ancestry(graph, { maxFanout: 100, waitMs: 0 })
  for (const id of new Set([...model.sources].flatMap(([key, sources]) => [key, ...sources]))) {
    const node = graph.find(name(id))
    const isExplained = model.isExplained(id)
    if (!isExplained && model.hasReplaced) continue
    expect(node?.explained).toBe(isExplained)
    const roots = ancestry.roots(node?.id ?? 0).map((root) => graph.node(root).cpid)
    expect(roots.sort()).toEqual(model.roots(id).map(name).sort())
  }
}
