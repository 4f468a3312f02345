import { afterAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { parseCpid } from '../../src/model/merge-graph.ts'
import type { ObjectVersion, ObjectVersions } from '../../src/query/object-answer-schemas.ts'
import type { Question } from '../../src/query/question.ts'
import { cpid } from '../support/otlp-requests.ts'
import { liveThroughRollout } from '../support/recorded-rollout.ts'
import { TestWriter } from '../support/test-writer.ts'
import { ask, inParts } from './asking.ts'

const { writer, decisions } = await liveThroughRollout()
afterAll(() => writer[Symbol.dispose]())

const WEB = 'apps/v1/deployments/shop/web'
const question = (ref: string): Question => ({ kind: 'objectVersions', ref, part: {} })
const versionsOf = (ref: string, of = writer): readonly ObjectVersion[] =>
  ask<ObjectVersions>(of, question(ref)).versions
const versionIn = (reference: string): bigint => BigInt(/rv=(\d+)/.exec(reference)?.[1] ?? '-1')

test('the versions of an object are those that were decided, the highest first', () => {
  const decided = decisions
    .filter(({ write: { object } }) => object.resource === 'deployments' && object.name === 'web')
    .map(({ write, writer: { user }, cause }) => [write.version, user, cause])
  const told = versionsOf(WEB).map(({ object, user, cause }) => [versionIn(object), user, cause])
  expect(decided.length).toBeGreaterThan(20)
  expect(told).toEqual(decided.toSorted(([a], [b]) => (Number(a) > Number(b) ? -1 : 1)))
})

test('each says by what name it was written, why, from what, and in which cascades', () => {
  const created = versionsOf(WEB).at(-1)
  expect(created).toMatchObject({
    name: 'create apps/v1/deployments',
    service: 'kubectl',
    user: 'alice',
    cause: 'operator',
    observed: [],
    cluster: expect.any(String),
  })
  const root = parseCpid(created?.cpid ?? '')
  expect(created?.cascades[0]).toBe(root)
  const [set] = versionsOf('apps/v1/replicasets/shop').slice(-1)
  expect(set).toMatchObject({ name: 'create apps/v1/replicasets', cascades: [root] })
  expect(set?.observed).toContain(created?.object)
})

test('a uid or a version narrows them down', () => {
  const all = versionsOf(WEB)
  const [newest] = all
  const version = versionIn(newest?.object ?? '')
  expect(versionsOf(`${WEB}?rv=${version}`)).toEqual([newest])
  expect(versionsOf(newest?.object ?? '')).toEqual([newest])
  expect(versionsOf(`${WEB}?uid=another`)).toEqual([])
  expect(versionsOf(`${WEB}?rv=1`)).toEqual([])
  expect(versionsOf('apps/v1/deployments/shop/nothing')).toEqual([])
})

test('parts of any size make the whole, whatever was written in which order, with versions and without', async () => {
  const write = fc.record({
    object: fc.constantFrom('v1/pods/shop/a', 'v1/pods/shop/b', 'apps/v1/deployments/shop/a'),
    version: fc.option(fc.nat(6), { nil: undefined }),
    also: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(write, { maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      async (writes, limit) => {
        using drawn = await TestWriter.open()
        writes.forEach(({ object, version, also }, at) => {
          const rv = version === undefined ? '' : `?rv=${version}`
          const wrote = [`${object}${rv}`, ...(also ? [`v1/pods/shop/c${rv}`] : [])]
          const span = { trace: at + 1, id: at + 1, cpid: cpid(1), attributes: { 'cpid.wrote': wrote } }
          drawn.spans('controller', [span])
        })
        for (const ref of ['shop', 'v1/pods/shop', 'a']) {
          const isNamed = (object: string): boolean => ref !== 'a' || object.endsWith('/a')
          const all = writes.flatMap(({ object, version = -1, also }, at) =>
            [object, ...(also ? ['v1/pods/shop/c'] : [])]
              .filter((one) => isNamed(one) && (ref !== 'v1/pods/shop' || one.startsWith(ref)))
              .map((one) => ({ one, version, at })),
          )
          all.sort((a, b) => b.version - a.version || b.at - a.at)
          const parts = inParts<ObjectVersion>(drawn, question(ref), 'versions', limit)
          expect(parts.slice(0, -1).every((part) => part.length === limit)).toBe(true)
          const told = parts
            .flat()
            .map(
              ({ object, spanId }) =>
                `${object.split('?')[0]} ${versionIn(object)} ${Number.parseInt(spanId, 16)}`,
            )
          expect(new Set(told)).toEqual(
            new Set(all.map(({ one, version, at }) => `${one} ${version} ${at + 1}`)),
          )
          expect(told).toHaveLength(all.length)
          const order = (texts: readonly string[]): string[] => texts.map((text) => text.replace(/^\S+ /, ''))
          expect(order(told)).toEqual(all.map(({ version, at }) => `${version} ${at + 1}`))
        }
      },
    ),
    { numRuns: 25 },
  )
})

test('a span that was sent again wrote a version once', async () => {
  using twice = await TestWriter.open()
  const span = { trace: 1, id: 1, cpid: cpid(1), attributes: { 'cpid.wrote': ['v1/pods/shop/a?rv=1'] } }
  twice.spans('controller', [span])
  twice.spans('controller', [span, { ...span, id: 2 }])
  expect(versionsOf('v1/pods/shop/a', twice)).toHaveLength(2)
  expect(versionsOf('v1/pods/shop/a', twice)[0]).toMatchObject({ service: 'controller' })
  expect(Object.keys(versionsOf('v1/pods/shop/a', twice)[0] ?? {})).not.toContain('cause')
})

test('a page of an object that was written often is sought in its index alone', () => {
  const plan = writer.db
    .prepare<[], { detail: string }>(
      `EXPLAIN QUERY PLAN SELECT named.span FROM span_objects named WHERE named.object = 1 AND named.role = 1
         AND named.version >= -1 AND (named.version, named.span) <= (7, 9) ORDER BY named.version DESC, named.span DESC LIMIT 3`,
    )
    .all()
    .map(({ detail }) => detail)
  expect(plan).toEqual([
    'SEARCH named USING COVERING INDEX span_objects_by_version (object=? AND role=? AND version>? AND (version,span)<(?,?))',
  ])
})
