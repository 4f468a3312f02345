import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cpid } from '../support/otlp-requests.ts'
import {
  ALICE,
  DEPLOYED,
  MADE,
  OPERATOR,
  OVER_MS,
  referenceOf,
  ROOT,
  rootOf,
  SPAN,
  type Version,
  Watched,
} from '../support/watched-cluster.ts'

interface Step {
  readonly who:
    'alice' | 'alice with a CPID' | 'alice with one that merges' | 'operator' | 'operator by itself'
  /** When the mergelog of the change arrives: at once, before the wait is over, after it, or never. */
  readonly mergelogMs: number
  readonly spanMs: number
  readonly watchedMs: number
  readonly auditedMs: number
  /** Whether the version says which ancestors the change has. */
  readonly saysAncestors: boolean
  readonly isKilled: boolean
}

const at = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max })
const step = fc.record<Step>({
  who: fc.constantFrom<Step['who']>(
    ...(['alice', 'alice with a CPID', 'alice with one that merges'] as const),
    ...(['operator', 'operator', 'operator', 'operator by itself'] as const),
  ),
  mergelogMs: fc.oneof(
    at(1_000),
    at(12_000),
    fc.integer({ min: 15_000, max: 60_000 }),
    fc.constant(Infinity),
  ),
  spanMs: fc.oneof(at(5_500), fc.constant(Infinity)),
  watchedMs: at(300),
  auditedMs: at(1_500),
  saysAncestors: fc.boolean(),
  isKilled: fc.boolean(),
})

/** Its mergelog comes after the operator has merged it. */
const TAKEN_FOR_A_ROOT: Step = {
  ...{ who: 'alice with one that merges', mergelogMs: 20_000, spanMs: 1_000, watchedMs: 100 },
  ...{ auditedMs: 500, saysAncestors: false, isKilled: false },
}
const MERGED_AT_ONCE: Step = { ...TAKEN_FOR_A_ROOT, who: 'operator', mergelogMs: 500, saysAncestors: true }

interface Before {
  readonly carried: string
  readonly change: string
}

/** What the change of a step comes from; undefined where the operator has nothing to do. */
function sourcesOf(who: Step['who'], { carried, change }: Before): string[] | undefined {
  if (who === 'alice with one that merges') return [change]
  if (who !== 'operator') return []
  return carried === change ? undefined : [carried, change].sort()
}

/** What each change truly comes from. */
class TrueChanges {
  readonly sources = new Map<string, readonly string[]>()

  /** All above it, nearest first. */
  above(of: string): string[] {
    const above = new Set<string>()
    let row = [of]
    while (row.length > 0) {
      row = row.flatMap((one) => this.sources.get(one) ?? [])
      for (const one of row) above.add(one)
    }
    return [...above]
  }

  rootsOf(of: string): string[] {
    return [of, ...this.above(of)].filter((one) => this.sources.get(one)?.length === 0).sort()
  }
}

test('a change whose mergelog is lost comes from what its version says or what was read, until its own mergelog comes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 2, max: 10 }),
      async (steps, most) => {
        using watched = await Watched.open()
        const truth = new TrueChanges()
        truth.sources.set(ROOT, [])
        watched.make(MADE)
        watched.make({ ...DEPLOYED, ancestors: [] }, 100, 100)
        watched.tell(OPERATOR, SPAN, 1_000, [referenceOf(DEPLOYED)])
        const made: (Step & {
          readonly own: string
          readonly version: Version
          readonly isKnown: boolean
        })[] = []
        let [change, carried, tenant, generation] = [ROOT, ROOT, 1, 1]
        let isActedOn = true
        for (const [index, drawn] of steps.entries()) {
          watched.pass(500)
          const { who, mergelogMs, spanMs, watchedMs, auditedMs, saysAncestors, isKilled } = drawn
          const number = 20 + index
          // What she overwrites before the operator looks may come along with it.
          const overwrites = who === 'alice' || who === 'alice with a CPID'
          if (overwrites && !isActedOn) continue
          isActedOn = who === 'operator' || (isActedOn && !overwrites)
          if (who === 'alice') {
            const version = { ...MADE, version: number, verb: 'patch', generation: ++tenant } as const
            watched.make(version, watchedMs, auditedMs)
            change = rootOf('tenants', number)
            truth.sources.set(change, [])
            continue
          }
          const own = cpid(1_000 + index)
          const sources = sourcesOf(who, { carried, change })
          if (sources === undefined) continue
          truth.sources.set(own, sources)
          // What a controller began by itself cannot be told from what it merged, where the version says nothing.
          const isSaid = who !== 'alice with one that merges' && (saysAncestors || sources.length === 0)
          const ancestors = isSaid ? truth.above(own).slice(0, most) : undefined
          const isAlice = !who.startsWith('operator')
          const version: Version = {
            ...(isAlice ? MADE : DEPLOYED),
            ...{ version: number, verb: 'patch', actor: isAlice ? ALICE : DEPLOYED.actor },
            ...{ generation: isAlice ? ++tenant : ++generation, carries: own, ancestors },
          }
          watched.make(version, watchedMs, auditedMs)
          const teller = isAlice ? 'kubectl' : OPERATOR
          if (mergelogMs < Infinity)
            watched.mergelog(teller, own, [...sources], referenceOf(version), mergelogMs)
          if (spanMs < Infinity)
            watched.tell(teller, { name: 'patch it', cpid: own }, spanMs, [referenceOf(version)])
          made.push({ ...drawn, own, version, isKnown: isSaid || !isAlice })
          change = own
          if (!isAlice) carried = own
          if (isKilled) watched.kill()
        }
        watched.pass(OVER_MS, 500)
        for (const { own } of made) {
          const above = truth.above(own)
          const { sources } = watched.mergelogOf(own) ?? {}
          expect(sources).toBeDefined()
          for (const source of sources ?? []) expect(above).toContain(source)
        }
        watched.pass(60_000, 5_000)
        const isLost = ({ isKnown, mergelogMs }: (typeof made)[number]): boolean =>
          mergelogMs === Infinity && !isKnown
        const unknown = new Set(made.filter(isLost).map(({ own }) => own))
        for (const { own, version, mergelogMs } of made) {
          const { isWorkedOut, sources } = watched.mergelogOf(own) ?? {}
          expect(isWorkedOut).toBe(mergelogMs === Infinity)
          if (mergelogMs < Infinity) expect(sources).toEqual(truth.sources.get(own))
          if (![own, ...truth.above(own)].some((one) => unknown.has(one))) {
            expect(watched.rootsOf(version.resource, version.version)).toEqual(truth.rootsOf(own))
            expect(watched.listedRootsOf(own)).toEqual(truth.rootsOf(own))
          }
          // Nothing counts as begun by a change that comes from others.
          if (mergelogMs < Infinity && sources?.length !== 0) expect(watched.cascadesOf(own)).toEqual([])
        }
        expect(watched.writer.rows('rejected_mergelogs')).toBe(0)
        expect(watched.writer.rows('held_items')).toBe(0)
      },
    ),
    { numRuns: 8, examples: [[[TAKEN_FOR_A_ROOT, MERGED_AT_ONCE], 2]] },
  )
}, 120_000)
