import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cpid } from '../support/otlp-requests.ts'
import { expectSoundScopes } from '../support/sound-scopes.ts'
import { TestWriter } from '../support/test-writer.ts'

const CPIDS = 5
const PODS = 6
const DAY = 24 * 3_600_000

type Step =
  | { kind: 'span'; id: number; pod: number; at: number | undefined }
  | { kind: 'log'; pod: number; at: number | undefined }
  | { kind: 'mergelog'; pod: number; at: number; source: number | undefined }
  | { kind: 'spoil'; at: number }
  | { kind: 'poison' | 'link' | 'prune' | 'restart' }
  | { kind: 'pass'; ms: number }

const of = fc.option(fc.nat(CPIDS - 1), { nil: undefined, freq: 3 })
const pod = fc.nat(PODS - 1)
const aStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('span' as const),
      id: fc.integer({ min: 1, max: 9 }),
      pod,
      at: of,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('log' as const), pod, at: of }) },
  // A mergelog that names itself is refused.
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('mergelog' as const), pod, at: fc.nat(CPIDS - 1), source: of }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('spoil' as const), at: fc.nat(CPIDS - 1) }) },
  {
    weight: 5,
    arbitrary: fc.constantFrom<Step>(
      { kind: 'poison' },
      { kind: 'link' },
      { kind: 'prune' },
      { kind: 'restart' },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Step>(
      { kind: 'pass', ms: 11_000 },
      { kind: 'pass', ms: 301_000 },
      { kind: 'pass', ms: DAY + 1 },
    ),
  },
)

/** While it is there, a transaction that adds this span, or that prunes it, throws at its end. */
const POISONS = `
  CREATE TEMP TRIGGER IF NOT EXISTS poisoned_arrival AFTER INSERT ON spans WHEN new.span_id = 7
  BEGIN SELECT RAISE(ABORT, 'poisoned'); END;
  CREATE TEMP TRIGGER IF NOT EXISTS poisoned_removal BEFORE DELETE ON cpid_origins WHEN old.cpid % 2 = 1
  BEGIN SELECT RAISE(ABORT, 'poisoned'); END`

function play(writer: TestWriter, step: Step): TestWriter {
  const carried = (at: number | undefined) => at !== undefined && { cpid: cpid(at + 1) }
  switch (step.kind) {
    case 'span':
      writer.spans(`pod ${step.pod}`, [{ trace: step.id, id: step.id, ...carried(step.at) }])
      return writer
    case 'log':
      writer.logs(`pod ${step.pod}`, [{ body: 'line', ...carried(step.at) }])
      return writer
    case 'mergelog': {
      const sources = step.source === undefined ? [] : [cpid(step.source + 1)]
      writer.mergelogs(`pod ${step.pod}`, [{ new: cpid(step.at + 1), sources }])
      return writer
    }
    case 'spoil':
      writer.db.prepare("UPDATE cpids SET roots = '[' WHERE text = ?").run(cpid(step.at + 1))
      return writer.reopened()
    case 'poison':
      writer.db.exec(POISONS)
      return writer
    case 'link':
      writer.link()
      return writer
    case 'prune':
      writer.writer.prune(2, { isCalendarRight: true })
      return writer
    case 'restart':
      writer.db.exec('DROP TRIGGER IF EXISTS poisoned_arrival; DROP TRIGGER IF EXISTS poisoned_removal')
      return writer.reopened()
    case 'pass':
      writer.pass(step.ms)
      return writer
  }
}

test('whatever comes, goes, throws and starts again, each scope counts the rows that name it, and no number is given twice', async () => {
  let removed = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(aStep, { maxLength: 60 }),
      fc.constantFrom(
        { maxAgeMs: DAY },
        { maxCpids: 1 },
        { maxBytes: 1 },
        { maxAgeMs: 1, maxBytes: 100_000 },
      ),
      async (drawn, retention) => {
        using opened = await TestWriter.open({ retention, linking: { logs: true, maxTraceSpans: 5 } })
        let writer = opened
        const envelopes = new Map<string, string>()
        let before = 0
        for (const step of drawn) {
          writer = play(writer, step)
          expectSoundScopes(writer.db)
          const rows = writer.db
            .prepare<[], { id: string; hash: string }>(
              `SELECT 'scope ' || s.id AS id, hex(s.hash) || hex(r.hash) AS hash FROM scopes s JOIN resources r ON r.id = s.resource
               UNION ALL SELECT 'resource ' || id, hex(hash) FROM resources`,
            )
            .all()
          // A reader of another thread remembers envelopes by number for as long as this process runs.
          if (step.kind === 'restart' || step.kind === 'spoil') envelopes.clear()
          for (const { id, hash } of rows) {
            expect([id, envelopes.get(id) ?? hash]).toEqual([id, hash])
            envelopes.set(id, hash)
          }
          before = Math.max(before, rows.length)
        }
        writer = play(writer, { kind: 'restart' })
        writer.link()
        writer.pass(2 * DAY)
        while (writer.writer.prune(1_000, { isCalendarRight: true }).more);
        expectSoundScopes(writer.db)
        const left = writer.rows('scopes')
        if (left < before) removed++
      },
    ),
    { numRuns: 60 },
  )
  expect(removed).toBeGreaterThan(0)
}, 180_000)
