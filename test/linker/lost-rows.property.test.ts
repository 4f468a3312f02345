import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { openForWriting } from '../../src/store/sqlite/open-database.ts'
import { cpid, type SpanSketch } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const CPIDS = 8
const SPAN_IDS = 8
/** What another program, a faulty disk or a mistake in Causeway may take away or spoil, of one CPID. */
const FAULTS = [
  'DELETE FROM cpids WHERE text = ?',
  "UPDATE cpids SET roots = '[7' WHERE text = ?",
  'DELETE FROM traces WHERE root = (SELECT id FROM cpids WHERE text = ?)',
  'DELETE FROM change_spans WHERE cpid = (SELECT id FROM cpids WHERE text = ?)',
  'UPDATE cpids SET has_mergelog = 1, explained = 0 WHERE text = ?',
]

type Step =
  | { kind: 'span'; span: SpanSketch }
  | { kind: 'mergelog'; at: number; sources: number[] }
  | { kind: 'log'; carried: number | undefined; span: number }
  | { kind: 'fault'; fault: string; at: number }
  | { kind: 'link' }
  | { kind: 'pass'; ms: number }

const podAt = (version: number): string => `v1/pods/default/web?rv=${version}`
const maybe = (most: number): fc.Arbitrary<number | undefined> => fc.option(fc.nat(most), { nil: undefined })

const aStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record({
        trace: fc.integer({ min: 1, max: 3 }),
        id: fc.integer({ min: 1, max: SPAN_IDS }),
        parent: maybe(SPAN_IDS),
        carried: maybe(CPIDS - 1),
        observed: maybe(4),
        wrote: maybe(4),
      })
      .map(({ trace, id, parent, carried, observed, wrote }): Step => ({
        kind: 'span',
        span: {
          trace,
          id: trace * 100 + id,
          ...(parent !== undefined && { parent: trace * 100 + parent }),
          ...(carried !== undefined && { cpid: cpid(carried + 1) }),
          attributes: {
            ...(observed !== undefined && { 'cpid.observed': [podAt(observed)] }),
            ...(wrote !== undefined && { 'cpid.wrote': [podAt(wrote)] }),
          },
        },
      })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ at: fc.nat(CPIDS - 1), sources: fc.uniqueArray(fc.nat(CPIDS - 1), { maxLength: 3 }) })
      .map(({ at, sources }): Step => ({
        kind: 'mergelog',
        at,
        sources: sources.filter((source) => source < at),
      })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ carried: maybe(CPIDS - 1), span: fc.integer({ min: 1, max: SPAN_IDS }) })
      .map((drawn): Step => ({ kind: 'log', ...drawn })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ fault: fc.constantFrom(...FAULTS), at: fc.nat(CPIDS - 1) })
      .map((drawn): Step => ({ kind: 'fault', ...drawn })),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'link' }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(4_000, 11_000, 301_000).map((ms): Step => ({ kind: 'pass', ms })),
  },
)

/** A span whose CPID is gone before it is linked: there is nothing to link it by, in any mode. */
const CPID_GONE: Step[] = [
  { kind: 'span', span: { trace: 1, id: 101, cpid: cpid(1) } },
  { kind: 'fault', fault: 'DELETE FROM cpids WHERE text = ?', at: 0 },
  { kind: 'link' },
]

const folder = mkdtempSync(join(tmpdir(), 'causeway-lost-rows-'))
let files = 0

afterAll(() => rmSync(folder, { recursive: true }))

test.each(['cascade', 'links', 'passthrough'] as const)(
  '%s: whatever rows are lost, each span and log record is sent or set aside, and all traces settle',
  async (mode) => {
    let aside = 0
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { maxLength: 50 }), async (drawn) => {
        const path = join(folder, `${++files}.db`)
        using writer = await TestWriter.open(
          { linking: { mode, logs: true, maxFanout: 2, maxTraceSpans: 12 } },
          path,
        )
        const other = openForWriting(path)
        for (const step of drawn) {
          switch (step.kind) {
            case 'span':
              writer.spans('controller', [step.span])
              break
            case 'mergelog':
              writer.mergelogs('merger', [
                { new: cpid(step.at + 1), sources: step.sources.map((source) => cpid(source + 1)) },
              ])
              break
            case 'log': {
              const { carried, span } = step
              const carries = carried !== undefined && { cpid: cpid(carried + 1) }
              writer.logs('controller', [{ body: 'line', trace: 1, span: 100 + span, ...carries }])
              break
            }
            case 'fault':
              other.prepare(step.fault).run(cpid(step.at + 1))
              break
            case 'link':
              writer.link()
              break
            case 'pass':
              writer.pass(step.ms)
          }
        }
        other.close()
        for (const ms of [11_000, 11_000, 301_000, 301_000]) writer.pass(ms)
        expect(writer.writer.linkLag).toBe(0)
        expect(writer.writer.gauges()).toMatchObject({ waiting: 0, openTraces: 0 })
        aside += writer.writer.gauges().setAside
        const left = (items: string, outbox: string): unknown[] =>
          writer.db
            .prepare(
              `SELECT id FROM ${items} WHERE id NOT IN (${outbox}) AND id NOT IN (SELECT item FROM set_aside)`,
            )
            .all()
        // One that came before under the same ids is sent once.
        const spans = `spans s WHERE NOT EXISTS (SELECT 1 FROM spans p WHERE p.origin = s.origin AND p.span_id = s.span_id
           AND p.id < s.id)`
        expect(left(`(SELECT id FROM ${spans})`, 'SELECT span FROM outbox WHERE span IS NOT NULL')).toEqual(
          [],
        )
        const logs = '(SELECT id FROM logs WHERE id NOT IN (SELECT arrival FROM mergelogs))'
        expect(left(logs, 'SELECT log FROM log_outbox')).toEqual([])
      }),
      { numRuns: 10, examples: [[CPID_GONE]] },
    )
    expect(aside).toBeGreaterThan(0)
  },
  240_000,
)
