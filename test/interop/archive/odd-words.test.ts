import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { archiveSettings } from '../../../lab/harness/archive-settings.ts'
import { ClickHouseServer } from '../../../lab/harness/clickhouse-server.ts'
import type { CascadeFilter } from '../../../src/model/queries.ts'
import type { Cpid } from '../../../src/model/merge-graph.ts'
import type { Question } from '../../../src/query/question.ts'
import { cpid as cpidText, hexTrace, START_NS } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { addressOf, Asking, inAnyOrder, type Json, oracle } from './support/asking.ts'
import { archiveAll } from './support/archiving.ts'
import { viewsOf } from './support/same-views.ts'

let server: ClickHouseServer
beforeAll(async () => {
  server = await ClickHouseServer.start()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const cpid = (number: number): Cpid => cpidText(number) as Cpid
const CPIDS = [1, 2, 3, 4, 5].map(cpid)
const WORDS = [
  ...[
    "o'clock",
    '"said"',
    'back\\slash',
    "\\'",
    '\\N',
    'NULL',
    'two\nlines',
    'tab\there',
    '%',
    '_',
    '{x:String}',
  ],
  ...['Zürich', '東京', '👩‍💻', 'é', 'e\u0301', ' ', ' led', 'a&b=c', 'x?rv=1', ''],
]
/** A version that is no number of at most 18 digits is not archived. */
const VERSIONS = ['1', '9007199254740993', '999999999999999999', '']

const word = fc.constantFrom(...WORDS)
/** No name is empty, or ends a reference. */
const name = fc.constantFrom(...WORDS.filter((text) => text !== '' && !text.includes('?')))
/** An empty one counts as none. */
const user = fc.constantFrom(...WORDS.filter((text) => text !== ''))
const at = fc.nat(4)
/** Milliseconds after START_NS. */
const time = fc.oneof(
  fc.nat(300),
  fc.constantFrom(0.000_001, 0.999_999, 1.5, 1e9, -1e9, -Number(START_NS / 1_000_000n)),
)
const reference = fc
  .tuple(name, name, fc.constantFrom(...VERSIONS), fc.constantFrom('u1', 'Zürich', null))
  .map(([namespace, called, version, uid]) => {
    const told = [...(uid === null ? [] : [`uid=${uid}`]), ...(version === '' ? [] : [`rv=${version}`])]
    return `v1/pods/${namespace}/${called}${told.length === 0 ? '' : `?${told.join('&')}`}`
  })
const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('mergelog' as const),
      ...{ at, sources: fc.uniqueArray(at, { maxLength: 2 }), time, service: word, cluster: fc.option(word) },
      ...{ object: fc.option(reference), reason: fc.option(word) },
    }),
    fc.record({
      kind: fc.constant('span' as const),
      ...{
        at: fc.option(at),
        id: fc.integer({ min: 1, max: 9 }),
        time,
        length: fc.constantFrom(0, 1, 20, -3, 0.000_001),
      },
      ...{ service: word, cluster: fc.option(word), called: word, user: fc.option(user) },
      ...{ wrote: fc.array(reference, { maxLength: 2 }), observed: fc.array(reference, { maxLength: 2 }) },
      status: fc.constantFrom(0, 1, 2),
    }),
    fc.record({
      kind: fc.constant('log' as const),
      at: fc.option(at),
      time,
      service: word,
      event: word,
      severity: fc.nat(24),
    }),
    fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(0, 11_000, 301_000) }),
  ),
  { minLength: 4, maxLength: 14 },
)
type Step = typeof steps extends fc.Arbitrary<(infer T)[]> ? T : never

function play(writer: TestWriter, step: Step): void {
  switch (step.kind) {
    case 'pass':
      writer.pass(step.ms)
      return
    case 'mergelog': {
      const { at: of, sources, time: when, object, reason, service, cluster } = step
      const told = {
        ...(object !== null && { object }),
        ...(reason !== null && { reason }),
      }
      writer.mergelogs(
        service,
        [
          {
            new: cpid(of + 1),
            sources: sources.filter((one) => one < of).map((one) => cpid(one + 1)),
            time: when,
            ...told,
          },
        ],
        cluster ?? undefined,
      )
      return
    }
    case 'span': {
      const {
        at: of,
        id,
        time: start,
        length,
        service,
        cluster,
        called,
        user,
        wrote,
        observed,
        status,
      } = step
      writer.spans(
        service,
        [
          {
            ...{ trace: (of ?? 7) + 1, id, start, end: start + length, name: called, status },
            ...(of !== null && { cpid: cpid(of + 1) }),
            attributes: {
              'cpid.wrote': wrote,
              'cpid.observed': observed,
              ...(user !== null && { 'cpid.cause': 'operator', 'user.name': user }),
            },
          },
        ],
        cluster ?? undefined,
      )
      return
    }
    case 'log': {
      const { at: of, time: when, service, event, severity } = step
      const attributes = { 'event.name': event }
      writer.logs(service, [
        { body: event, time: when, severity, attributes, ...(of !== null && { cpid: cpid(of + 1) }) },
      ])
    }
  }
}

const NS = 1_000_000n
const FILTERS: readonly CascadeFilter[] = [
  {},
  ...WORDS.filter((text) => text !== '').flatMap((text) => [
    { service: text },
    { cluster: text },
    { actor: text },
    { namespace: text },
    { object: text },
  ]),
  ...[0n, 1n, 300n * NS, NS, NS + 500_000n].flatMap((after) => [
    { fromNs: START_NS + after },
    { toNs: START_NS + after },
  ]),
]

test('odd words, times and versions are answered by the archive as by the database', async () => {
  let run = 0
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 3 }), async (drawn, limit) => {
      const database = `odd_${++run}`
      using whole = await TestWriter.open()
      const settings = archiveSettings(server, database)
      for (const step of drawn) play(whole, step)
      whole.pass(301_000)
      const archived = await archiveAll(whole, settings)
      expect({ refused: archived.refused, retries: archived.retries }).toEqual({ refused: 0, retries: [] })
      await using asking = new Asking(addressOf(server, database))
      const queries = whole.queries()
      for (const filter of FILTERS) {
        const { items } = await asking.all('cascades', filter, limit)
        const expected = oracle(queries, { kind: 'cascades', filter, part: {} }) as { cascades: Json[] }
        expect({ filter, cascades: inAnyOrder(items) }).toEqual({
          filter,
          cascades: inAnyOrder(expected.cascades),
        })
      }
      for (const text of [...WORDS, 'v1/pods']) {
        for (const [kind, name] of [
          ['objects', 'objects'],
          ['objectVersions', 'versions'],
        ] as const) {
          const { items } = await asking.all(kind, text, limit)
          const expected = oracle(queries, { kind, ref: text, part: {} }) as Json
          expect({ kind, text, items: unlisted(items) }).toEqual({
            kind,
            text,
            items: unlisted(expected[name]),
          })
        }
        const find: Question = { kind: 'find', text, limit: 20 }
        expect({ text, found: inAnyOrder(await asking.answer(find)) }).toEqual({
          text,
          found: inAnyOrder(oracle(queries, find)),
        })
      }
      for (const number of [1, 2, 3, 4, 5, 8, 9]) {
        const find: Question = { kind: 'find', text: hexTrace(number), limit: 20 }
        expect({ number, found: inAnyOrder(await asking.answer(find)) }).toEqual({
          number,
          found: inAnyOrder(oracle(queries, find)),
        })
      }
      for (const changed of CPIDS)
        for (const question of [
          { kind: 'cpid', cpid: changed },
          { kind: 'mergelogs', cpid: changed, part: {} },
          { kind: 'related', cpid: changed },
          { kind: 'cascadesOf', cpid: changed, part: {} },
        ] as const)
          expect({ question, answer: inAnyOrder(await asking.answer(question)) }).toEqual({
            ...{ question, answer: inAnyOrder(oracle(queries, question)) },
          })
      const views = await viewsOf(whole, server, database)
      expect(views.archive).toEqual(views.database)
      await server.client.command({ query: `DROP DATABASE ${database}` })
    }),
    { numRuns: 3, endOnFailure: true },
  )
}, 400_000)

/** Objects, with those named in an event as a set. */
function unlisted(items: unknown): unknown {
  return inAnyOrder(
    (items as Json[]).map((item) => ({
      ...item,
      observed: [...new Set((item['observed'] ?? []) as string[])],
    })),
  )
}
