import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Waiting, WaitingKind } from '../../src/model/linking-ports.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import { merge } from './arrivals-contract.ts'
import { openInMemory } from './in-memory/open-in-memory.ts'
import { openedTrace } from './linking-contract.ts'
import type { Inside, Open, Opened } from './opened.ts'

const CPIDS = 5
const KINDS: readonly WaitingKind[] = ['span', 'change', 'orphan', 'cause', 'parent']

/** One call, or a few that belong together, with the numbers it takes; returns what it was answered. */
type Call = (inside: Inside, a: number, b: number) => unknown

const CALLS: readonly Call[] = [
  ({ graph }, a) => ({ ...graph.findOrAdd(cpid(a + 1) as Cpid) }),
  ({ graph }, a) => ({ ...graph.maybeNode(a) }),
  (inside, a, b) => {
    const { id, pruned } = inside.graph.findOrAdd(cpid(a + 1) as Cpid)
    if (pruned || inside.graph.storedSources(id) !== undefined) return 'known'
    return merge(inside, a + 1, { sources: [b + 1], timeNs: BigInt(b), scope: 1 })
  },
  ({ graph }, a, b) => {
    const node = graph.maybeNode(a)
    if (node === undefined) return 'unknown'
    Object.assign(node, { inDegree: b % 2, explained: b > 2, roots: [b], unexplainedSources: b })
    graph.save(node)
    return node.nextEpisode
  },
  ({ graph }, a, b) => {
    graph.addEdge(a, b)
    return [graph.targetsAfter(a, 0, 9), graph.sourcesOf(b).sort()]
  },
  ({ graph }, a, b) => [
    graph.targetsAfter(a, b, 2),
    graph.rankedTargets(a, b, 2),
    graph.rankedSources(a, b, 2),
  ],
  ({ graph }, a, b) => {
    if (graph.maybeNode(a) === undefined) return 'unknown'
    graph.setRank(a, b + 0.5)
    return graph.node(a).rank
  },
  ({ graph }, a) => {
    graph.removeEdgesTo(a)
  },
  ({ graph }, a) => graph.countUnexplained(a),
  ({ graph }, a, b) => {
    graph.postponeExplanation(a, b)
    return graph.isExplanationPostponed(b)
  },
  ({ graph }, a) => {
    graph.forgetPostponedExplanation(a)
    return graph.nextPostponedExplanation()
  },
  ({ graph }, a) => graph.announce(a, 'explained'),
  ({ pruning, graph }, a) => (graph.maybeNode(a)?.pruned === false ? pruning.leaveTombstone(a) : 'not live'),
  ({ graph }, a) => {
    const node = graph.maybeNode(a)
    if (node?.pruned !== true) return 'not pruned'
    graph.revive(node)
    return { ...node }
  },
  ({ pruning }, a, b) => pruning.markForRemoval(a, b % 2 === 0),
  ({ pruning, graph }, a) => (graph.maybeNode(a) === undefined ? 'unknown' : pruning.unmark(a)),
  ({ pruning }, a, b) => [
    pruning.candidates(undefined, undefined, b),
    pruning.markedForRemoval(b),
    pruning.mergedAfter(a, b),
  ],
  ({ pruning }, a, b) => [pruning.removeOldTombstones(a % 3, b), pruning.countCpids()],
  ({ positions }, a, b) => positions.traces.keep([`${a % 3}`, `${b % 3}`], a),
  ({ positions }, a, b) => positions.traces.moveTo(`${a % 3}`, b, 0),
  ({ waiting }, a, b) =>
    waiting.hasSpan(a) || waiting.remove(a)
      ? 'waited'
      : waiting.add({ ...waitsAs(a, b), cpid: b, parentId: BigInt(b) }, b * 100),
  ({ unfinished, waiting }, a, b) => {
    unfinished.add([
      { kind: 'child', row: a, cpid: b === 0 ? undefined : b, joined: a > b },
      { kind: 'moved', row: a, cpid: b },
      ...waiting.forCpid(b).map((one) => ({ kind: 'waited', waiting: one }) as const),
    ])
    unfinished.addFirst([
      { kind: 'observer', row: b },
      { kind: 'moved', row: b, cpid: a },
    ])
    return unfinished.areAny
  },
  ({ unfinished }) => [unfinished.take(), unfinished.areAny],
  ({ waiting }, a) => waiting.isBehind(a),
  ({ waiting }, a, b) => [
    waiting.forCpid(a),
    waiting.changeOf(a),
    waiting.forParent(a % 2, BigInt(b)),
    waiting.changesReportedBy(BigInt(b)),
    waiting.due(b),
  ],
  ({ changes }, a, b) =>
    changes.find(a, b) ??
    changes.add(a, { trace: b, spanId: BigInt(a - b), depth: (a * b) % 3, driven: a > b }),
  ({ changes }, a, b) => {
    const there = changes.find(a, b)
    if (there !== undefined) changes.noteDriven(a, there)
  },
  ({ changes }, a, b) => [changes.newest(a, b), changes.cpidsIn(b)],
  ({ traces }, root) => {
    const before = traces.currentOf(root)
    const dueMs = (root + 1) * 150 + (before?.episode ?? 0)
    const added = traces.add({ ...openedTrace(root, (before?.episode ?? -1) + 1), dueMs }, before)
    return { ...added }
  },
  ({ traces }, a, b) => {
    const trace = traces.currentOf(a)
    if (trace === undefined) return 'none'
    trace.sentSpans += b
    trace.open = b % 2 === 0
    traces.touch(trace)
    return traces.addService(trace, `${b}`)
  },
  ({ traces }, a, b) => [
    traces.ofRoot(a).map((trace) => ({ ...trace })),
    traces.partsOf(traces.trace(b)?.cascade ?? b).map(({ id }) => id),
    traces.servicesIn(traces.trace(b)?.cascade ?? b),
    traces.due(b).map(({ id }) => id),
  ],
]

/** A change waits for a span in whichever trace. */
function waitsAs(a: number, b: number): Pick<Waiting, 'arrival' | 'kind' | 'origin' | 'behindUntilMs'> {
  const kind = KINDS[b % 5] ?? 'span'
  const behindUntilMs = a % 3 === 0 ? b * 200 : undefined
  return { arrival: a, kind, origin: kind === 'change' ? undefined : a % 2, behindUntilMs }
}

/** Some calls in one transaction, or in a part of one, which throws at its end where `breaks` says so. */
const round = fc.record({
  calls: fc.array(fc.tuple(fc.nat(CALLS.length - 1), fc.nat(CPIDS), fc.nat(CPIDS)), { maxLength: 12 }),
  asPart: fc.boolean(),
  breaks: fc.boolean(),
  reopens: fc.boolean(),
  passMs: fc.nat(400),
})
type Round = typeof round extends fc.Arbitrary<infer Drawn> ? Drawn : never

/** What was answered, with what is stored at the end of each round. */
function answersOf(opened: Opened, rounds: readonly Round[]): unknown[] {
  let at = opened
  return rounds.map(({ calls, asPart, breaks, reopens, passMs }) => {
    if (reopens) at = at.reopened()
    at.clock.advance(passMs)
    const answers: unknown[] = []
    const work = (inside: Inside): void =>
      inside.linkRound(() => {
        for (const [call, a, b] of calls) answers.push(CALLS[call]?.(inside, a, b))
        if (breaks) throw new Error('broken off')
      })
    const attempted = ({ attempt, ...inside }: Inside): void => {
      inside.graph.findOrAdd(cpid(1) as Cpid)
      const part = (): void => attempt(() => work({ attempt, ...inside }))
      if (breaks) expect(part).toThrow('broken off')
      else part()
    }
    const whole = (): void => at.transactor.run(asPart ? attempted : work)
    if (breaks && !asPart) expect(whole).toThrow('broken off')
    else whole()
    return [answers, at.reader.progress.lastArrival, [...at.reader.positions('traces')].sort()]
  })
}

/** That an implementation answers whatever is asked, in whatever order, as the ports in maps do. */
export function answersLikeModel(open: Open): void {
  test('drawn calls are answered as by the ports in maps, over rollbacks and restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(round, { maxLength: 12 }), async (rounds) => {
        using opened = await open()
        using model = openInMemory()
        expect(answersOf(opened, rounds)).toEqual(answersOf(model, rounds))
      }),
      { numRuns: 200 },
    )
  })
}
