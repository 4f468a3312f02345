import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { ObjectActivity, Position } from '../../src/model/queries.ts'
import {
  ALL_EVENTS,
  ObjectEvents,
  ObjectFactsReader,
  RECENT_EVENTS,
} from '../../src/store/sqlite/object-queries.ts'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

let writer: TestWriter
let numbers = 0
beforeAll(async () => {
  writer = await TestWriter.open()
})
afterAll(() => writer[Symbol.dispose]())

/** All that happened to some objects, put together the plain way: every row, then sorted. */
const PLAIN = `WITH happened AS (
   SELECT o.span AS arrival, (o.object * 2 + o.role) * 4 AS place, o.version, o.uid, b.object, o.role AS action
   FROM span_objects o JOIN objects b ON b.id = o.object
   UNION ALL
   SELECT m.arrival, m.object_id * 8 + 1, -1, NULL, m.object, 2 FROM mergelogs m WHERE m.object_id IS NOT NULL)
 SELECT * FROM happened WHERE instr(object, ?) = 1 ORDER BY arrival DESC, place DESC, version DESC`

interface PlainRow {
  arrival: number
  action: number
  object: string
  uid: string | null
  version: number
}

const plainly = (db: Sqlite, prefix: string): string[] =>
  db
    .prepare<[string], PlainRow>(PLAIN)
    .all(prefix)
    .map(({ arrival, action, object, uid, version }) => {
      const query = [...(uid === null ? [] : [`uid=${uid}`]), ...(version < 0 ? [] : [`rv=${version}`])]
      const reference = action === 2 || query.length === 0 ? object : `${object}?${query.join('&')}`
      return `${arrival} ${['observed', 'wrote', 'mergelog'][action]!} ${reference}`
    })

/** The same in pages, each asked for from where the one before ended. */
function inPages(db: Sqlite, prefix: string, first: number, namedLately: number): string[] {
  const reader = new ObjectFactsReader(
    db,
    () => ({ cascades: [], drivenBy: [] }),
    new ObjectEvents(db, namedLately),
  )
  const found: ObjectActivity[] = []
  for (let after: Position | undefined; ;) {
    let page: readonly ObjectActivity[] = []
    for (const read of reader.pages(prefix, after, first)) {
      page = read
      if (page.length > 0) break
    }
    expect(page.length).toBeLessThanOrEqual(first)
    if (page.length === 0)
      return found.map(({ position, action, object }) => `${position[0]} ${action} ${object}`)
    found.push(...page)
    after = page.at(-1)!.position
  }
}

const reference = fc
  .tuple(
    fc.constantFrom('a', 'b', 'c'),
    fc.option(fc.constantFrom('u1', 'u2'), { nil: undefined }),
    fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }),
  )
  .map(([name, uid, version]) => {
    const query = [
      ...(uid === undefined ? [] : [`uid=${uid}`]),
      ...(version === undefined ? [] : [`rv=${version}`]),
    ]
    return query.length === 0 ? name : `${name}?${query.join('&')}`
  })
const references = fc.array(reference, { maxLength: 3 })
const event = fc.oneof(
  fc.record({ kind: fc.constant('span' as const), observed: references, wrote: references }),
  fc.record({ kind: fc.constant('mergelog' as const), object: reference }),
)

test('whatever happened, in whatever order of versions, pages hold all of it once, newest first', () => {
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom(0, 2, 7, 1_000),
      (events, first, namedLately) => {
        const namespace = `v1/pods/n${++numbers}`
        for (const one of events) {
          const number = ++numbers
          if (one.kind === 'mergelog')
            writer.mergelogs('m', [{ new: cpid(number), object: `${namespace}/${one.object}` }])
          else {
            const named = (all: readonly string[]): string[] => all.map((text) => `${namespace}/${text}`)
            const attributes = { 'cpid.observed': named(one.observed), 'cpid.wrote': named(one.wrote) }
            writer.spans('s', [{ trace: number, id: number, cpid: cpid(number), attributes }])
          }
        }
        for (const prefix of [namespace, `${namespace}/b`]) {
          const exact = plainly(writer.db, `${prefix}${prefix === namespace ? '/' : ''}`)
          expect(inPages(writer.db, prefix, first, namedLately)).toEqual(exact)
        }
      },
    ),
  )
})

const planOf = (sql: string): string[] =>
  writer.db
    .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all({ ids: '[1]', least: 0n, arrival: 9n, most: 100 })
    .map(({ detail }) => detail)

test('what happened lately is read in the order of arrival, until there is enough', () => {
  const plan = planOf(RECENT_EVENTS)
  expect(plan).toContain('SEARCH named USING PRIMARY KEY (span>? AND span<?)')
  expect(plan).toContain('USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY')
  expect(plan).toContain(
    'SEARCH newest USING COVERING INDEX mergelogs_by_object (object_id=? AND arrival>? AND arrival<?)',
  )
  expect(plan.filter((step) => step.startsWith('SCAN')).join()).not.toMatch(
    /SCAN (?!event$|wanted |json_each |same_ids\b)/,
  )
})

test('what happened ever is sought in indexes alone', () => {
  const plan = planOf(ALL_EVENTS)
  expect(plan).toContain('SEARCH named USING COVERING INDEX span_objects_by_version (object=?)')
  expect(plan).toContain(
    'SEARCH newest USING COVERING INDEX mergelogs_by_object (object_id=? AND arrival>? AND arrival<?)',
  )
  expect(plan.filter((step) => step.startsWith('SCAN')).join('\n')).not.toMatch(
    /^SCAN (?!event$|wanted |json_each |same_ids\b)/m,
  )
})

test('the first page of an object that changes often looks no further than lately', async () => {
  using often = await TestWriter.open()
  for (let at = 1; at <= 500; at++) {
    const attributes = { 'cpid.wrote': [`v1/pods/n/often?rv=${at}`] }
    often.spans('s', [{ trace: at, id: at, cpid: cpid(1), attributes }])
  }
  const asked: string[] = []
  const prepare = often.db.prepare.bind(often.db)
  const noted = new Proxy(often.db, {
    get: (db, name) =>
      name === 'prepare'
        ? (sql: string) => {
            const statement = prepare(sql)
            const all = statement.all.bind(statement)
            statement.all = (...bound) => {
              asked.push(sql)
              return all(...bound)
            }
            return statement
          }
        : (Reflect.get(db, name) as unknown),
  })
  const happenings = new ObjectEvents(noted, 200)
  const ids = JSON.stringify([often.db.prepare('SELECT id FROM objects').pluck().get()])
  const versions = (most: number) =>
    happenings.upTo(2n ** 63n - 1n, ids, most).map(({ version }) => Number(version))
  expect(versions(100)).toEqual(Array.from({ length: 100 }, (_, at) => 500 - at))
  expect(asked).toEqual([RECENT_EVENTS])
  expect(versions(300)).toHaveLength(300)
  expect(asked).toEqual([RECENT_EVENTS, RECENT_EVENTS, ALL_EVENTS])
})
