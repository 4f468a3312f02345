import { afterAll, expect, test } from '@jest/globals'
import { parseCpid } from '../../src/model/merge-graph.ts'
import type { CascadeFilter } from '../../src/model/queries.ts'
import type {
  Cascade,
  CascadeList,
  CascadeOutline,
  Facets,
  Found,
  Span,
} from '../../src/query/answer-schemas.ts'
import { cpid } from '../support/otlp-requests.ts'
import { liveThroughRollout } from '../support/recorded-rollout.ts'
import { TestWriter } from '../support/test-writer.ts'
import { begunBecause } from '../../web/src/text/change-sentence.ts'
import { ask, id, inParts, numbersOf } from './asking.ts'

const { writer } = await liveThroughRollout()
afterAll(() => writer[Symbol.dispose]())

const cascades = (filter: CascadeFilter, of = writer): readonly CascadeOutline[] =>
  ask<CascadeList>(of, { kind: 'cascades', filter, part: {} }).cascades

const whole = ({ root }: CascadeOutline): Cascade =>
  ask<Cascade>(writer, { kind: 'cascade', root: parseCpid(root) ?? id(1) })
const spansOf = (outline: CascadeOutline): readonly Span[] =>
  whole(outline).traces.flatMap(({ spans }) => spans)
const ALL = cascades({}).map((outline) => ({ outline, spans: spansOf(outline) }))
/** Received spans that the cascade drives. */
const driven = (spans: readonly Span[]): Span[] =>
  spans.filter(({ synthetic, activity }) => !synthetic && activity !== false)
const actorsOf = (spans: readonly Span[]): string[] =>
  driven(spans).map(({ user, service }) => user ?? service)
const servicesOf = (spans: readonly Span[]): string[] => driven(spans).map(({ service }) => service)

/** What a filter lets through, and what the spans of every cascade say. */
function expectSame(filter: CascadeFilter, isIn: (one: (typeof ALL)[number]) => boolean): void {
  const expected = ALL.filter(isIn).map(({ outline }) => outline.root)
  expect(expected.length).toBeGreaterThan(0)
  expect(cascades(filter).map(({ root }) => root)).toEqual(expected)
}

test('each write says who made it and why; only those of operators begin cascades', () => {
  const writes = ALL.flatMap(({ spans }) => spans.filter(({ synthetic }) => !synthetic))
  expect(writes.length).toBeGreaterThan(400)
  expect(writes.filter(({ user }) => user !== undefined).length).toBeGreaterThan(400)
  expect(new Set(writes.map(({ cause }) => cause))).toEqual(
    new Set(['operator', 'self', 'exact', 'inferred']),
  )
  for (const { outline, spans } of ALL) {
    const own = spans.find(({ cpid: of, cause }) => of === outline.root && cause === 'operator')
    if (own !== undefined) expect(outline.actor).toBe(own.user ?? own.service)
  }
  for (const span of ALL.flatMap(({ spans }) => spans).filter(({ synthetic }) => synthetic))
    expect([span.user, span.cause, span.gap]).toEqual([undefined, undefined, undefined])
})

test('a cascade says how many of its writes came after something that was not seen', async () => {
  for (const { outline } of ALL) expect(outline.gaps).toBe(0)
  using gaping = await TestWriter.open()
  const seen = { 'cpid.cause': 'inferred' }
  gaping.spans('kubelet', [
    { trace: 1, id: 1, cpid: cpid(1), attributes: { ...seen, 'cpid.gap': true, 'cpid.gap.missed': 3 } },
    { trace: 2, id: 2, cpid: cpid(1), attributes: { ...seen, 'cpid.gap': true } },
    { trace: 3, id: 3, cpid: cpid(1), attributes: { ...seen, 'cpid.gap.missed': 5 } },
    { trace: 4, id: 4, cpid: cpid(1), attributes: { ...seen, 'cpid.gap': true, 'cpid.gap.missed': -7 } },
  ])
  gaping.pass(20_000)
  const [outline] = cascades({}, gaping)
  expect(outline).toMatchObject({ gaps: 3, actor: null, service: null })
  const { traces, missedVersions } = ask<Cascade>(gaping, { kind: 'cascade', root: id(1) })
  const spans = traces.flatMap((trace) => trace.spans).filter(({ synthetic }) => !synthetic)
  expect(spans.map(({ gap }) => gap)).toEqual([true, true, undefined, true])
  // Only what has a gap counts, and no number below none.
  expect(missedVersions).toBe(3)
  expect(gaping.db.prepare('SELECT missed_versions FROM audit_cascades').pluck().all()).toEqual([3])
})

test('the cascades of an actor are those in which that user wrote, or that service', () => {
  const actors = new Set(ALL.flatMap(({ spans }) => actorsOf(spans)))
  const services = ALL.flatMap(({ spans }) => servicesOf(spans))
  expect(actors.size).toBeGreaterThan(5)
  for (const actor of [...actors, ...services.slice(0, 3)])
    expectSame({ actor }, ({ spans, outline }) =>
      [...actorsOf(spans), ...servicesOf(spans), outline.service].includes(actor),
    )
  expect(cascades({ actor: 'nobody' })).toEqual([])
  expect(cascades({ actor: 'kub' })).toEqual([])
})

test('the cascades of a namespace are those that wrote into it, or began in it', () => {
  const isIn = (reference: string, namespace: string): boolean =>
    reference.split('?', 1)[0]?.split('/').at(-2) === namespace && !reference.startsWith('v1/nodes/')
  for (const namespace of ['shop', 'kube-system'])
    expectSame({ namespace }, ({ spans, outline }) =>
      [outline.object ?? '', ...driven(spans).flatMap(({ wrote = [] }) => wrote)].some(
        (reference) => isIn(reference, namespace) || reference.startsWith(`v1/namespaces/${namespace}?`),
      ),
    )
  expect(cascades({ namespace: 'sho' })).toEqual([])
  expect(cascades({ namespace: 'nowhere' })).toEqual([])
})

test('the cascades that somebody began, and those that a controller began by itself', async () => {
  for (const cause of ['operator', 'self'] as const)
    expectSame({ cause }, ({ outline, spans }) =>
      spans.some((span) => span.cpid === outline.root && span.cause === cause),
    )
  using told = await TestWriter.open()
  const reasons = [
    ...['schedule: creation by cronjob-controller', 'unknown: status by a b', 'health: by by by'],
    ...[
      'schedule: moved forward by an hour: bob',
      'health: fixed',
      ' health: status by kubelet',
      'status by health: x by y',
    ],
    ...['Schedule: creation by x', 'health: * by', 'an outage: status by x'],
  ]
  for (const [at, reason] of reasons.entries())
    told.mergelogs('paper', [{ new: cpid(at + 1), time: at, reason }])
  told.mergelogs('paper', [{ new: cpid(21), time: 20 }])
  told.spans('paper', [{ trace: 22, id: 22, cpid: cpid(22) }])
  told.pass(20_000)
  for (const [cause, isSelf] of [
    ['self', true],
    ['operator', false],
  ] as const)
    expect(new Set(cascades({ cause }, told))).toEqual(
      new Set(cascades({}, told).filter(({ reason }) => (begunBecause(reason) !== undefined) === isSelf)),
    )
  expect(numbersOf(cascades({ cause: 'self' }, told).map(({ root }) => root))).toEqual([3, 2, 1])
})

test('filters narrow down together, also those of time, state and object, in parts of any size', () => {
  const filter: CascadeFilter = {
    actor: 'kube-scheduler',
    namespace: 'shop',
    object: 'deployments',
    state: 'settled',
  }
  const found = cascades(filter).map(({ root }) => root)
  const { actor = '', namespace = '', ...others } = filter
  const each = [{ actor }, { namespace }, others].map((one) => new Set(cascades(one).map(({ root }) => root)))
  expect(found).toEqual(
    ALL.map(({ outline }) => outline.root).filter((root) => each.every((set) => set.has(root))),
  )
  expect(found.length).toBeGreaterThan(2)
  const parts = inParts<CascadeOutline>(writer, { kind: 'cascades', filter, part: {} }, 'cascades', 2)
  expect(parts.flat().map(({ root }) => root)).toEqual(found)
})

test('what many do and what one does are found alike', async () => {
  using many = await TestWriter.open()
  const wrote = (number: number, user: string, namespace: string): void => {
    many.mergelogs('kubectl', [{ new: cpid(number), time: number }])
    const attributes = {
      'cpid.cause': 'operator',
      'user.name': user,
      'cpid.wrote': [`v1/pods/${namespace}/web?rv=${number}`],
    }
    many.spans(user === 'bob' ? 'bob' : 'kubectl', [
      { trace: number, id: number, cpid: cpid(number), start: number, attributes },
    ])
  }
  for (let number = 1; number <= 2_100; number++)
    wrote(number, number % 700 === 0 ? 'bob' : 'alice', number % 700 === 1 ? 'rare' : 'shop')
  many.link()
  const of = (filter: CascadeFilter): number[] => numbersOf(cascades(filter, many).map(({ root }) => root))
  expect(of({ actor: 'alice' })).toHaveLength(2_097)
  expect(of({ actor: 'alice', namespace: 'rare' })).toEqual([1_401, 701, 1])
  expect(of({ namespace: 'shop' })).toHaveLength(2_097)
  expect(of({ namespace: 'shop', actor: 'bob' })).toEqual([2_100, 1_400, 700])
  expect(of({ actor: 'bob' })).toEqual([2_100, 1_400, 700])
  const question = { kind: 'cascades', filter: { namespace: 'rare' }, part: {} } as const
  const parts = inParts<CascadeOutline>(many, question, 'cascades', 2)
  expect(parts.map((part) => numbersOf(part.map(({ root }) => root)))).toEqual([[1_401, 701], [1]])
})

test('a service that writes nothing is found as an actor beside a user of the same name', async () => {
  using few = await TestWriter.open()
  const seen = { 'cpid.cause': 'operator', 'user.name': 'deployer' }
  few.spans('kubectl', [{ trace: 1, id: 1, cpid: cpid(1), attributes: seen }])
  few.spans('deployer', [{ trace: 2, id: 2, cpid: cpid(2) }])
  few.pass(20_000)
  expect(numbersOf(cascades({ actor: 'deployer' }, few).map(({ root }) => root)).sort()).toEqual([1, 2])
})

test('a change that a program tells of for another was begun by the other, and is found by it', async () => {
  using told = await TestWriter.open()
  told.mergelogs('federation', [{ new: cpid(1), writer: 'kubectl-edit' }, { new: cpid(2) }])
  told.spans('federation', [
    { trace: 1, id: 1, cpid: cpid(1) },
    { trace: 2, id: 2, cpid: cpid(2) },
  ])
  told.pass(0)
  const begun = cascades({}, told).map(({ root, actor, service }) => [root, actor, service])
  expect(begun.sort()).toEqual([
    [cpid(1), 'kubectl-edit', 'kubectl-edit'],
    [cpid(2), 'federation', 'federation'],
  ])
  expect(cascades({ actor: 'kubectl-edit' }, told).map(({ root }) => root)).toEqual([cpid(1)])
})

test('what there is to choose from: actors and namespaces seen lately', () => {
  const { actors, namespaces } = ask<Facets>(writer, { kind: 'facets' })
  expect([...actors]).toEqual([...new Set(ALL.flatMap(({ spans }) => actorsOf(spans)))].sort())
  expect(namespaces).toEqual(expect.arrayContaining(['default', 'kube-system', 'shop']))
})

const find = (text: string, filter: CascadeFilter = {}): Found =>
  ask<Found>(writer, { kind: 'find', text, limit: 1_000, filter })

test('what is found of a name is narrowed down by namespace and actor, objects and cascades alike', () => {
  const objects = find('kube-root-ca.crt').objects
  expect(objects.length).toBeGreaterThan(2)
  expect(find('kube-root-ca.crt', { namespace: 'shop' }).objects).toEqual(
    objects.filter((object) => object.includes('/shop/')),
  )
  const all = find('v1/')
  const byScheduler = find('v1/', { actor: 'kube-scheduler' })
  expect(byScheduler.objects.length).toBeGreaterThan(0)
  expect(byScheduler.objects.length).toBeLessThan(all.objects.length)
  const actor = new Set(cascades({ actor: 'kube-scheduler' }).map(({ root }) => root))
  for (const { root } of byScheduler.cascades) expect(actor.has(root)).toBe(true)
  expect(find('web', { actor: 'nobody' })).toMatchObject({ objects: [], cascades: [] })
  expect(find('web', { namespace: 'nowhere' })).toMatchObject({ objects: [], cascades: [] })
})

test('a CPID is found with those of its cascades that the filter lets through', () => {
  const root = cascades({ namespace: 'shop' })[0]?.root ?? ''
  expect(find(root, { namespace: 'shop' }).cascades.map((one) => one.root)).toEqual([root])
  expect(find(root, { namespace: 'nowhere' })).toMatchObject({ cpid: { state: 'known' }, cascades: [] })
})
