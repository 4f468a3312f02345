import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Cpid } from '../../src/model/merge-graph.ts'
import type { CascadeFilter } from '../../src/model/queries.ts'
import type { CascadeList } from '../../src/query/answer-schemas.ts'
import { ask } from '../query/asking.ts'
import { cpid, type SpanSketch } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { expectSoundTraces } from '../support/sound-traces.ts'
import { TestWriter } from '../support/test-writer.ts'

/** A change: without sources a root. Sources are changes before it. */
interface Change {
  sources: number[]
  told: number | undefined
}

/** A piece of work of a change, which writes an object of its own. */
interface Work {
  change: number
  trace: number
  parent: number | undefined
  /** Works before it whose writes it observed. */
  observed: number[]
  /** Which of some objects it observed that nobody ever says to have written. */
  unknown: number | undefined
}

interface History {
  changes: Change[]
  works: Work[]
}

const ROOTS = 3
const WORKS = 9
const WAIT = 10_000

const history: fc.Arbitrary<History> = fc
  .record({
    merges: fc.array(fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }), { maxLength: 4 }),
    tellers: fc.array(fc.option(fc.nat(WORKS), { nil: undefined }), { minLength: 7, maxLength: 7 }),
    works: fc.array(
      fc.record({
        change: fc.nat(20),
        above: fc.option(fc.nat(20), { nil: undefined }),
        observed: fc.array(fc.nat(20), { maxLength: 2 }),
        unknown: fc.option(fc.nat(2), { nil: undefined }),
      }),
      { minLength: 1, maxLength: WORKS },
    ),
  })
  .map(({ merges, tellers, works: drawn }) => {
    const sources = [
      ...Array.from({ length: ROOTS }, () => []),
      ...merges.map((picks, at) => [...new Set(picks.map((pick) => pick % (ROOTS + at)))]),
    ]
    const works: Work[] = []
    for (const [at, { change, above, observed, unknown }] of drawn.entries()) {
      const parent = at === 0 || above === undefined ? undefined : above % at
      works.push({
        change: change % sources.length,
        trace: parent === undefined ? at + 1 : (works[parent]?.trace ?? 0),
        parent,
        observed: at === 0 ? [] : [...new Set(observed.map((pick) => pick % at))],
        unknown,
      })
    }
    const changes = sources.map((from, at) => {
      const told = tellers[at]
      return { sources: from, told: told === undefined || told >= works.length ? undefined : told }
    })
    return { changes, works }
  })

const startOf = (work: number): number => 100 + 10 * work

function rootsOf(changes: readonly Change[], at: number): number[] {
  const from = changes[at]?.sources ?? []
  return from.length === 0 ? [at] : [...new Set(from.flatMap((source) => rootsOf(changes, source)))]
}

/** What drives each work, the slow and obvious way. */
function drivers({ changes, works }: History): number[][] {
  const driving: number[][] = []
  for (const [at, { change, trace, parent, observed }] of works.entries()) {
    const listed = rootsOf(changes, change)
    const among = (roots: readonly number[] = []): number[] => roots.filter((root) => listed.includes(root))
    const orAll = (roots: readonly number[]): number[] => (roots.length === 0 ? listed : [...roots])
    const begun = listed.filter((root) => changes[root]?.told === at)
    const causes = observed.filter(
      (writer) => works[writer]?.trace !== trace && among(driving[writer]).length > 0,
    )
    if (parent !== undefined) driving.push(orAll(among(driving[parent])))
    else if (begun.length > 0) driving.push(begun)
    else driving.push(orAll(among(driving[Math.max(...causes)])))
  }
  return driving
}

/** What drives each change: what drives the work that told of it, else all its roots; and what drives its works. */
function driversOfChanges({ changes, works }: History, driving: readonly number[][]): number[][] {
  return changes.map(({ told }, at) => {
    const listed = rootsOf(changes, at)
    const teller = told === undefined ? [] : (driving[told] ?? []).filter((root) => listed.includes(root))
    const ofWorks = works.flatMap(({ change }, work) => (change === at ? (driving[work] ?? []) : []))
    return [...new Set([...(teller.length === 0 ? listed : teller), ...ofWorks])]
  })
}

const NAMESPACES = 4
const SERVICES = 3

const uidOf = (work: number): string => `u${work}`
const objectOf = (work: number): string =>
  `v1/pods/n${work % NAMESPACES}/p${work}?uid=${uidOf(work)}&rv=${work + 1}`
/** A write whose version the answer did not tell, as of what went. */
const goneOf = (work: number): string => `v1/pods/gone${work % NAMESPACES}/g${work}`

function sketchOf({ change, trace, parent, observed, unknown }: Work, at: number): SpanSketch {
  const seen = [
    ...observed.map(objectOf),
    ...(unknown === undefined ? [] : [`v1/secrets/default/s${unknown}?rv=1`]),
  ]
  return {
    trace,
    id: at + 1,
    ...(parent !== undefined && { parent: parent + 1 }),
    cpid: cpid(change + 1),
    start: startOf(at),
    end: startOf(at) + 5,
    attributes: { 'cpid.observed': seen, 'cpid.wrote': [objectOf(at), goneOf(at)] },
  }
}

/**
 * All that happens, in an order that is drawn, within what is waited for, and then what is waited for goes by; Causeway starts anew
 * now and then.
 */
function play(first: TestWriter, { changes, works }: History, chances: readonly number[]): TestWriter {
  let writer = first
  const arrivals = [
    ...changes.map(({ sources, told }, at) => () => {
      const teller = told === undefined ? undefined : works[told]
      writer.mergelogs('merger', [
        {
          new: cpid(at + 1),
          sources: sources.map((source) => cpid(source + 1)),
          ...(teller && { told: { trace: teller.trace, id: (told ?? 0) + 1 } }),
        },
      ])
    }),
    ...works.map((work, at) => () => {
      writer.spans(`service ${at % SERVICES}`, [sketchOf(work, at)])
    }),
  ]
  const shuffled = arrivals.map((arrive, at) => ({ arrive, at: chances[at] ?? 0 }))
  for (const { arrive, at } of [...shuffled].sort((a, b) => a.at - b.at)) {
    arrive()
    if (at % 2 === 0) writer.pass(300)
    if (at % 3 === 0) writer = writer.reopened()
  }
  for (let passed = 0; passed < 2 * WAIT; passed += 1_700) {
    writer.pass(1_700)
    if (passed % 3 === 0) writer = writer.reopened()
  }
  return writer
}

test('in whatever order spans and mergelogs arrive, the same roots drive each span, none is lost, and each is no copy in exactly one trace', async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.array(fc.nat(1_000), { minLength: 20, maxLength: 20 }),
      async (drawn, chances) => {
        using first = await TestWriter.open()
        const writer = play(first, drawn, chances)
        const sighted = new Map(
          writer.db
            .prepare<[], { id: number; text: string }>('SELECT id, text FROM cpids')
            .all()
            .map(({ id, text }) => [text, id]),
        )
        const sightingOf = (root: number): number => sighted.get(cpid(root + 1)) ?? 0
        const rows = writer.db
          .prepare<[], { root: string; span_id: string; activity: string; copy: string }>(
            'SELECT root, span_id, activity, copy FROM audit_cascade_spans',
          )
          .all()
        const driving = drivers(drawn)
        for (const [at, { change }] of drawn.works.entries()) {
          const listed = rootsOf(drawn.changes, change).map((root) => cpid(root + 1))
          const everywhere = rows.filter(({ span_id: id }) => Number.parseInt(id, 16) === at + 1)
          // A child of another change may have brought it along: that makes it no activity.
          const brought = everywhere.filter(({ root }) => !listed.includes(root))
          expect(brought.every(({ activity, copy }) => activity === 'no' && copy === 'yes')).toBe(true)
          const mine = everywhere.filter(({ root }) => listed.includes(root))
          const rootsWith = (test: (row: (typeof rows)[number]) => boolean): string[] =>
            mine.flatMap((row) => (test(row) ? row.root : [])).sort()
          const names = (roots: readonly number[]): string[] => roots.map((root) => cpid(root + 1)).sort()
          expect(rootsWith(() => true)).toEqual([...listed].sort())
          expect(rootsWith(({ activity }) => activity === 'yes')).toEqual(names(driving[at] ?? []))
          const newest = [...(driving[at] ?? [])].sort((a, b) => sightingOf(b) - sightingOf(a)).slice(0, 1)
          expect(rootsWith(({ copy }) => copy === 'no')).toEqual(names(newest))
        }
        for (const [at, roots] of driversOfChanges(drawn, driving).entries()) {
          const found = writer.queries().cascadesOf(cpid(at + 1) as Cpid)
          const { cascades, drivenBy } = typeof found === 'string' ? { cascades: [], drivenBy: [] } : found
          expect([...drivenBy].sort()).toEqual(roots.map((root) => cpid(root + 1)).sort())
          expect(cascades.slice(0, drivenBy.length)).toEqual(drivenBy)
          expect([...cascades].sort()).toEqual(
            rootsOf(drawn.changes, at)
              .map((root) => cpid(root + 1))
              .sort(),
          )
        }
        const found = (filter: CascadeFilter): readonly string[] =>
          ask<CascadeList>(writer, { kind: 'cascades', filter, part: {} })
            .cascades.map(({ root }) => root)
            .sort()
        const drivingWork = (isIn: (work: number) => boolean): string[] =>
          [...new Set(driving.flatMap((roots, at) => (isIn(at) ? roots : [])))]
            .map((root) => cpid(root + 1))
            .sort()
        for (let n = 0; n < NAMESPACES; n++) {
          const expected = drivingWork((at) => at % NAMESPACES === n)
          expect(found({ namespace: `n${n}` })).toEqual(expected)
          expect(found({ namespace: `gone${n}` })).toEqual(expected)
        }
        const pods = writer.db
          .prepare<[], { root: string; uid: string }>(
            `SELECT DISTINCT text AS root, uid FROM cascade_pods JOIN traces ON traces.id = trace JOIN cpids ON cpids.id = root`,
          )
          .all()
        for (const at of drawn.works.keys())
          expect(pods.flatMap(({ root, uid }) => (uid === uidOf(at) ? root : [])).sort()).toEqual(
            drivingWork((work) => work === at),
          )
        for (let n = 0; n < SERVICES; n++) {
          const expected = drivingWork((at) => at % SERVICES === n)
          expect(found({ service: `service ${n}` })).toEqual(expected)
          expect(found({ actor: `service ${n}` })).toEqual(expected)
        }
        writer.pass(301_000)
        const sent = writer.sent()
        expectSoundTraces(sent)
        for (let root = 0; root < ROOTS; root++) {
          const mine = drawn.works.flatMap((_, at) => (driving[at]?.includes(root) === true ? at : []))
          const said = sent.find(
            ({ name, traceId }) => name === 'cascade' && traceId === traceOf(cpid(root + 1)),
          )
          expect(said?.attributes).toMatchObject({
            'cpid.cascade.spans': mine.length,
            'cpid.cascade.services': new Set(mine.map((at) => at % SERVICES)).size,
            'cpid.cascade.duration_ms': mine.length === 0 ? 0 : startOf(Math.max(...mine)) + 5,
          })
        }
      },
    ),
    { numRuns: 120 },
  )
})
