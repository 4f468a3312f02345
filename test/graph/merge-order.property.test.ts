import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { againstOrder } from '../process/support/merge-graph-of.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const CPIDS = 12
const SETTINGS = { retention: { maxCpids: 5 } }
const LONG_SETTLED_MS = 4_000_000

type Step =
  | { kind: 'mergelog'; id: number; sources: number[] }
  | { kind: 'span'; id: number }
  | { kind: 'prune' | 'restart' | 'upgrade' }

const id = fc.nat(CPIDS - 1)
const mergelog = fc.record({
  kind: fc.constant('mergelog' as const),
  id,
  sources: fc.uniqueArray(id, { maxLength: 4 }),
})
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: mergelog },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('span' as const), id }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom('prune' as const, 'restart' as const, 'upgrade' as const),
      }),
    },
  ),
  { maxLength: 60 },
)

/** What the stored graph is, whatever order it is kept in. */
class StoredGraph {
  readonly #targets = new Map<string, string[]>()
  readonly #merged: Set<string>

  constructor(db: Sqlite) {
    const edges = db
      .prepare<[], { source: string; target: string }>(
        `SELECT s.text AS source, t.text AS target FROM edges e JOIN cpids s ON s.id = e.source
         JOIN cpids t ON t.id = e.target`,
      )
      .all()
    for (const { source, target } of edges)
      this.#targets.set(source, [...(this.#targets.get(source) ?? []), target])
    const merged = db.prepare<[], string>('SELECT text FROM cpids WHERE has_mergelog = 1').pluck().all()
    this.#merged = new Set(merged)
  }

  hasMergelog(of: string): boolean {
    return this.#merged.has(of)
  }

  reaches(from: string, to: readonly string[]): boolean {
    const found = new Set([from])
    for (const at of found) for (const target of this.#targets.get(at) ?? []) found.add(target)
    return to.some((each) => found.has(each))
  }
}

const refusals = (db: Sqlite): string[] =>
  db.prepare<[], string>('SELECT reason FROM rejected_mergelogs ORDER BY id').pluck().all()

test('a mergelog is refused when, and only when, a walk over the whole graph finds the cycle it would close', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      using opened = await TestWriter.open(SETTINGS)
      let writer = opened
      let at = 0
      for (const step of drawn) {
        at++
        switch (step.kind) {
          case 'mergelog': {
            const name = cpid(step.id + 1)
            const sources = step.sources
              .filter((source) => source !== step.id)
              .map((source) => cpid(source + 1))
            const before = new StoredGraph(writer.db)
            const refused = refusals(writer.db).length
            writer.mergelogs(`sender ${at}`, [{ new: name, sources, time: at }])
            if (before.hasMergelog(name)) break
            const expected = before.reaches(name, sources) ? ['closes_cycle'] : []
            expect(refusals(writer.db).slice(refused)).toEqual(expected)
            writer.mergelogs(`sender ${at}, again`, [{ new: name, sources, time: at }])
            expect(refusals(writer.db).slice(refused)).toEqual([...expected, ...expected])
            break
          }
          case 'span':
            writer.spans(`sender ${at}`, [{ trace: at, id: at, cpid: cpid(step.id + 1) }])
            break
          case 'prune':
            writer.pass(LONG_SETTLED_MS)
            while (writer.writer.prune(100).more);
            break
          case 'upgrade':
            writer.db.exec(
              `UPDATE cpids SET rank = NULL; UPDATE progress SET unranked_cpids = (SELECT max(id) FROM cpids)
               WHERE EXISTS (SELECT 1 FROM cpids)`,
            )
            writer = writer.reopened()
            break
          case 'restart':
            writer = writer.reopened()
        }
        expect(againstOrder(writer.db)).toEqual([])
      }
    }),
    { numRuns: 300 },
  )
})
