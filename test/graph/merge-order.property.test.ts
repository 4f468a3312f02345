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
  | { kind: 'work out'; id: number }
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
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('work out' as const), id }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom('prune' as const, 'restart' as const, 'upgrade' as const),
      }),
    },
  ),
  { maxLength: 60 },
)

interface Edge {
  readonly source: string
  readonly target: string
}

/** What the stored graph is, whatever order it is kept in. */
class StoredGraph {
  readonly #edges: readonly Edge[]
  readonly #merged: Set<string>
  readonly #workedOut: Set<string>

  constructor(db: Sqlite) {
    this.#edges = db
      .prepare<[], Edge>(
        `SELECT s.text AS source, t.text AS target FROM edges e JOIN cpids s ON s.id = e.source
         JOIN cpids t ON t.id = e.target`,
      )
      .all()
    const merged = db.prepare<[], string>('SELECT text FROM cpids WHERE has_mergelog = 1').pluck().all()
    this.#merged = new Set(merged)
    const workedOut = 'SELECT c.text FROM mergelogs m JOIN cpids c ON c.id = m.cpid WHERE m.worked_out = 1'
    this.#workedOut = new Set(db.prepare<[], string>(workedOut).pluck().all())
  }

  get edges(): string[] {
    return this.#edges.map(({ source, target }) => `${source} ${target}`).sort()
  }

  /** Whether one was sent, so that no other may take its place. */
  hasMergelog(of: string): boolean {
    return this.#merged.has(of) && !this.#workedOut.has(of)
  }

  /** Whether mergelogs that were sent lead from one to others. */
  leads(from: string, to: readonly string[]): boolean {
    const below = this.#below(from, ({ target }) => !this.#workedOut.has(target))
    return to.some((one) => below.has(one))
  }

  /** The edges after a mergelog was accepted: those that were worked out and lead back to it are gone. */
  edgesWith(cpid: string, sources: readonly string[]): string[] {
    const below = this.#below(cpid, () => true)
    const leadsBack = ({ source, target }: Edge): boolean => {
      if (!below.has(source) || !this.#workedOut.has(target)) return false
      const on = this.#below(target, () => true)
      return sources.some((one) => on.has(one))
    }
    const kept = this.#edges.filter((edge) => edge.target !== cpid && !leadsBack(edge))
    const added = sources.map((source) => `${source} ${cpid}`)
    return [...kept.map(({ source, target }) => `${source} ${target}`), ...added].sort()
  }

  #below(from: string, passes: (edge: Edge) => boolean): Set<string> {
    const found = new Set([from])
    for (const at of found)
      for (const edge of this.#edges) if (edge.source === at && passes(edge)) found.add(edge.target)
    return found
  }
}

const prunedIn = (db: Sqlite): Set<string> =>
  new Set(db.prepare<[], string>('SELECT text FROM cpids WHERE state = 1').pluck().all())

const refusals = (db: Sqlite): string[] =>
  db.prepare<[], string>('SELECT reason FROM rejected_mergelogs ORDER BY id').pluck().all()

test('a mergelog is refused when, and only when, those that were sent lead in a cycle; what was worked out gives way', async () => {
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
            const expected = before.leads(name, sources) ? ['closes_cycle'] : []
            expect(refusals(writer.db).slice(refused)).toEqual(expected)
            const isPruned = prunedIn(writer.db)
            const live = sources.filter((source) => !isPruned.has(source))
            expect(new StoredGraph(writer.db).edges).toEqual(
              expected.length > 0 ? before.edges : before.edgesWith(name, live),
            )
            writer.mergelogs(`sender ${at}, again`, [{ new: name, sources, time: at }])
            expect(refusals(writer.db).slice(refused)).toEqual([...expected, ...expected])
            break
          }
          case 'span':
            writer.spans(`sender ${at}`, [{ trace: at, id: at, cpid: cpid(step.id + 1) }])
            break
          case 'work out':
            // As if Causeway had worked out what was sent.
            writer.db
              .prepare(
                'UPDATE mergelogs SET worked_out = 1 WHERE cpid = (SELECT id FROM cpids WHERE text = ?)',
              )
              .run(cpid(step.id + 1))
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
