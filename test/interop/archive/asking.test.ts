import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { archiveSettings } from '../../../lab/harness/archive-settings.ts'
import { ClickHouseServer } from '../../../lab/harness/clickhouse-server.ts'
import type { CascadeFilter, CausewayQueries } from '../../../src/model/queries.ts'
import type { Cpid } from '../../../src/model/merge-graph.ts'
import { parseRfc3339 } from '../../../src/model/time-and-size.ts'
import { PARAMETERS } from '../../../src/query/http/route.ts'
import { readRequest, ROUTES } from '../../../src/query/http/routes.ts'
import { isArchived, type Question } from '../../../src/query/question.ts'
import { manyCascades, valuesFor } from '../../api/support/parameter-values.ts'
import { type Step, steps } from '../../support/drawn-history.ts'
import { cpid as cpidText, START_NS } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { addressOf, Asking, inAnyOrder, type Json, oracle } from './support/asking.ts'
import { archiveAll } from './support/archiving.ts'

let server: ClickHouseServer
beforeAll(async () => {
  server = await ClickHouseServer.start()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const cpid = (number: number): Cpid => cpidText(number) as Cpid
const CPIDS = [1, 2, 3, 4, 5, 6].map(cpid)
const SERVICES = ['controller', 'scheduler', 'kubelet']
const CLUSTERS = ['eu', 'us', undefined]
const NAMESPACES = ['default', 'shop']
const ACTORS = ['alice', 'bob']
const REASONS = [
  'schedule: creation by cronjob-controller',
  'health: fixed by bob',
  'health: all by bob alone',
]

/** A drawn step as one of several services, clusters, namespaces and people would make it. */
function playVaried(writers: readonly TestWriter[], step: Step, seen: Set<string>): void {
  switch (step.kind) {
    case 'pass':
      for (const writer of writers) writer.pass(step.ms)
      return
    case 'mergelog': {
      const { at, sources } = step
      const mergelog = {
        new: cpid(at + 1),
        sources: sources.map((source) => cpid(source + 1)),
        time: 10 * at,
        object: `v1/pods/${NAMESPACES[at % 2]}/${at % 3 === 0 ? 'web' : 'cart'}?uid=u${at}&rv=${at}`,
        reason: REASONS[at % 3] ?? '',
      }
      for (const writer of writers)
        writer.mergelogs(SERVICES[at % 3] ?? '', [mergelog], CLUSTERS[(at + sources.length) % 3])
      return
    }
    case 'span': {
      const { span } = step
      const key = `${span.trace} ${span.id}`
      if (seen.has(key)) return
      seen.add(key)
      const wrote = (span.attributes?.['cpid.wrote'] ?? []) as string[]
      const there = wrote.map((ref) => (span.id % 2 === 0 ? ref.replace('/default/', '/shop/') : ref))
      const by = span.id % 4
      const sketch = {
        ...span,
        ...(span.id % 5 === 0 && { status: 2 }),
        attributes: {
          ...span.attributes,
          'cpid.wrote': there,
          ...(by < 2 &&
            wrote.length > 0 && { 'cpid.cause': 'operator', 'user.name': ACTORS[by], 'cpid.gap': by === 1 }),
        },
      }
      for (const writer of writers)
        writer.spans(SERVICES[span.id % 3] ?? '', [sketch], CLUSTERS[Number(span.trace) % 3])
    }
  }
}

/** Two of one Causeway into one archive. */
const EXPORTERS = ['clickhouse', 'clickhouse/second'] as const

const FILTERS: readonly CascadeFilter[] = [
  {},
  { state: 'open' },
  { state: 'settled' },
  { cause: 'operator' },
  { cause: 'self' },
  ...SERVICES.map((service) => ({ service })),
  ...['eu', 'us'].map((cluster) => ({ cluster })),
  ...[...ACTORS, ...SERVICES].map((actor) => ({ actor })),
  ...NAMESPACES.map((namespace) => ({ namespace })),
  ...['v1/pods', 'v1/pods/shop', 'web', '/default/', "o'clock", 'v1/pods/default/web?uid=u0&rv=0'].map(
    (object) => ({ object }),
  ),
  { fromNs: START_NS + 200_000_000n },
  { toNs: START_NS + 150_000_000n },
  { state: 'settled', service: 'kubelet', namespace: 'shop' },
]
const REFERENCES = [
  'v1/pods',
  'v1/pods/shop/web',
  'web',
  'v1/pods/default/web?rv=3',
  'v1/pods/default/cart?uid=u1',
  'none',
]

const started = ({ start }: Json): bigint => parseRfc3339(String(start)) ?? 0n

function newestFirst(a: Json, b: Json): number {
  if (started(a) !== started(b)) return started(a) > started(b) ? -1 : 1
  return String(a['root']) < String(b['root']) ? -1 : 1
}

/** What has no order of its own: several of one time, and cascades beside. */
function unordered(items: readonly Json[]): string[] {
  return items
    .map((item) =>
      JSON.stringify({
        ...item,
        causeway: undefined,
        observed: [...new Set((item['observed'] ?? []) as string[])].sort(),
        cascades: (item['cascades'] as string[]).toSorted(),
        drivenBy: (item['drivenBy'] as string[]).toSorted(),
      }),
    )
    .sort()
}

const without = (items: readonly Json[]): Json[] =>
  items.map((item) => Object.fromEntries(Object.entries(item).filter(([key]) => key !== 'causeway')))

async function expectSameAnswers(asking: Asking, whole: CausewayQueries, limit: number): Promise<void> {
  for (const filter of FILTERS) {
    const expected = oracle(whole, { kind: 'cascades', filter, part: {} }) as { cascades: Json[] }
    const { items, partial } = await asking.all('cascades', filter, limit)
    expect({ filter, partial, cascades: without(items) }).toEqual({
      ...{ filter, partial: undefined, cascades: expected.cascades.toSorted(newestFirst) },
    })
  }
  for (const of of [...CPIDS, cpid(99)])
    for (const kind of ['related', 'ancestors', 'roots'] as const) {
      const [found, expected] = [await asking.answer({ kind, cpid: of }), oracle(whole, { kind, cpid: of })]
      const sorted = (answered: Json | string): unknown =>
        typeof answered === 'string'
          ? answered
          : { ...answered, [kind]: (answered[kind] as string[]).toSorted() }
      expect({ kind, answer: sorted(found) }).toEqual({ kind, answer: sorted(expected) })
    }
  for (const ref of REFERENCES) {
    const expected = oracle(whole, { kind: 'objects', ref, part: {} }) as { objects: Json[] }
    const { items, partial } = await asking.all('objects', ref, limit)
    expect({ ref, partial, objects: unordered(items) }).toEqual({
      ...{ ref, partial: undefined, objects: unordered(expected.objects) },
    })
    const times = items.map(({ timestamp }) => String(timestamp))
    expect(times).toEqual(times.toSorted().reverse())
  }
  expect(await asking.answer({ kind: 'facets' })).toEqual(oracle(whole, { kind: 'facets' }))
  await expectSameChanges(asking, whole, limit)
  for (const ref of REFERENCES) {
    const { items, partial } = await asking.all('objectVersions', ref, limit)
    const expected = oracle(whole, { kind: 'objectVersions', ref, part: {} }) as { versions: Json[] }
    expect({ ref, partial, versions: unordered(items) }).toEqual({
      ...{ ref, partial: undefined, versions: unordered(expected.versions) },
    })
  }
}

/** What is asked of one change: by the graph around it, by its cascades, and by text. */
async function expectSameChanges(asking: Asking, whole: CausewayQueries, limit: number): Promise<void> {
  for (const changed of [...CPIDS, cpid(99)]) {
    for (const question of [
      { kind: 'cpid', cpid: changed },
      { kind: 'graph', cpid: changed, limit: 100 },
      { kind: 'mergelogs', cpid: changed, part: {} },
      { kind: 'cascadesOf', cpid: changed, part: {} },
    ] as const)
      expect({ question, answer: inAnyOrder(await asking.answer(question)) }).toEqual({
        ...{ question, answer: inAnyOrder(oracle(whole, question)) },
      })
    const paged = await asking.all('cascadesOf', changed, limit)
    const expected = oracle(whole, { kind: 'cascadesOf', cpid: changed, part: {} })
    if (typeof expected !== 'string')
      expect(without(paged.items)).toEqual((expected['cascades'] as Json[]).toSorted(newestFirst))
    await expectSameCascade(asking, whole, changed)
    const find = { kind: 'find', text: changed, limit: 20 } as const
    expect(inAnyOrder(await asking.answer(find))).toEqual(inAnyOrder(oracle(whole, find)))
  }
}

/** A cascade that is here is answered here; one that only the archive has, by that. */
async function expectSameCascade(asking: Asking, whole: CausewayQueries, root: Cpid): Promise<void> {
  const answered = await asking.answer({ kind: 'cascade', root })
  const expected = oracle(whole, { kind: 'cascade', root })
  if (typeof answered === 'string' || typeof expected === 'string') {
    expect([answered, typeof expected]).toEqual(
      answered === 'here' ? ['here', expect.any(String)] : [expected, 'string'],
    )
    return
  }
  const { partial, ...shown } = answered
  expect(partial).toMatch(/^this is what prod-eu archived; not in this answer: which fields writes changed/)
  expect(cascadeAsArchived(shown)).toEqual(cascadeAsArchived(expected))
}

/** Of spans that begin at the same time it is not archived which was sent first, nor in which order one named objects. */
function cascadeAsArchived(cascade: Json): unknown {
  const traces = (cascade['traces'] as { spans: Json[] }[]).map(({ spans, ...trace }) => ({
    ...trace,
    spans: spans
      .map(({ wrote = [], observed = [], ...span }) =>
        JSON.stringify({
          ...{ ...span, critical: undefined },
          wrote: [...new Set(wrote as string[])].sort(),
          observed: [...new Set(observed as string[])].sort(),
        }),
      )
      .sort(),
  }))
  return inAnyOrder({
    ...cascade,
    criticalPath: undefined,
    timePerKind: undefined,
    traces: traces as unknown,
  })
}

test('a history cut anywhere between archive and database is answered as by one database that holds all', async () => {
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.array(fc.nat(9), { minLength: 40, maxLength: 40 }),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      async (drawn, numbers, limit, prunes) => {
        const database = `asked_${++run}`
        using whole = await TestWriter.open()
        using first = await TestWriter.open()
        let writer = first
        const settings = archiveSettings(server, database)
        const seen = new Set<string>()
        const archive = async (number = 9): Promise<void> => {
          // A connection that is cut has everything come again.
          if (number === 0) await server.fails({ kind: 'cut after', of: 'INSERT INTO', times: 2 })
          const [first, second] = EXPORTERS
          const names = number === 0 ? { name: second, others: [first] } : { name: first, others: [second] }
          await archiveAll(writer, settings, { ...names, saves: number !== 0 })
          await server.fails()
        }
        await archive()
        for (const [at, step] of drawn.entries()) {
          playVaried([whole, writer], step, seen)
          if ((numbers[at] ?? 9) > 1) continue
          for (const one of [whole, writer]) one.link()
          await archive(numbers[at])
        }
        if (prunes) {
          for (const one of [whole, writer]) one.pass(3_600_000)
          for (const name of EXPORTERS)
            await archiveAll(writer, settings, { name, others: EXPORTERS.filter((one) => one !== name) })
          writer = writer.reopened({ retention: { maxAgeMs: 60_000 } })
          for (const one of [whole, writer]) one.pass(3_600_000)
          while (writer.writer.prune(1_000, { isCalendarRight: true }).more);
        }
        await using asking = new Asking(addressOf(server, database), writer)
        await expectSameAnswers(asking, whole.queries(), limit)
        await server.client.command({ query: `DROP DATABASE ${database}` })
      },
    ),
    { numRuns: 8, endOnFailure: true },
  )
}, 400_000)

/** A change of a cluster: a mergelog and two spans that write. */
function playChange(writer: TestWriter, at: number, cluster: string, sources: number[] = []): void {
  const object = `apps/v1/deployments/shop/web-${at}`
  writer.mergelogs('kubectl', [{ new: cpid(at), sources: sources.map(cpid), time: at, object }], cluster)
  writer.spans(
    'controller',
    [
      {
        trace: at,
        id: 1,
        cpid: cpid(at),
        start: at * 10,
        attributes: { 'cpid.wrote': [`${object}?rv=${at}`] },
      },
      { trace: at, id: 2, parent: 1, cpid: cpid(at), start: at * 10 + 2 },
    ],
    cluster,
  )
}

const rootsIn = (items: readonly Json[]): unknown[] => items.map(({ root }) => root)

test('two Causeways in one archive: each answers with what both wrote, and says whose it is', async () => {
  using east = await TestWriter.open()
  using west = await TestWriter.open()
  const settings = (causeway: string) => archiveSettings(server, 'fleet', { causeway })
  playChange(east, 1, 'east')
  playChange(west, 2, 'west')
  // A change of the one goes on in the cluster of the other.
  playChange(west, 3, 'west', [1])
  for (const writer of [east, west]) writer.pass(301_000)
  await archiveAll(east, settings('eu-east'))
  await archiveAll(west, settings('eu-west'))
  playChange(east, 4, 'east', [3])
  playChange(east, 5, 'east')
  east.pass(301_000)

  await using asking = new Asking(addressOf(server, 'fleet'), east)
  const { items } = await asking.all('cascades', {}, 2)
  const told = items.map(({ root, causeway, cluster }) => [root, causeway, cluster])
  expect(told).toContainEqual([cpid(5), 'eu-east', 'east'])
  expect(told).toContainEqual([cpid(1), 'eu-east', 'east'])
  expect(told).toContainEqual([cpid(2), 'eu-west', 'west'])
  expect(new Set(told.map((row) => JSON.stringify(row))).size).toBe(told.length)
  expect(rootsIn((await asking.all('cascades', { cluster: 'west' }, 10)).items)).toEqual([cpid(2)])
  // Archive, database, archive: the edge to the last one is here alone.
  const related = { cpid: cpid(1), related: [cpid(1), cpid(3), cpid(4)] }
  expect(await asking.answer({ kind: 'related', cpid: cpid(1) })).toEqual(related)
  expect(await asking.answer({ kind: 'roots', cpid: cpid(4) })).toEqual({ cpid: cpid(4), roots: [cpid(1)] })
  const objects = (await asking.all('objects', 'apps/v1/deployments/shop', 3)).items
  expect(objects).toHaveLength(10)
  expect(objects.filter(({ causeway }) => causeway === 'eu-west')).toHaveLength(4)
  expect(await asking.answer({ kind: 'facets' })).toMatchObject({ clusters: ['east', 'west'] })

  // Who has no database, such as an auditor, sees what was sent.
  await using auditor = new Asking(addressOf(server, 'fleet'))
  expect(await auditor.answer({ kind: 'related', cpid: cpid(1) })).toMatchObject({
    related: [cpid(1), cpid(3)],
  })
  expect(await auditor.answer({ kind: 'related', cpid: cpid(9) })).toBe('unknown')
  expect(rootsIn((await auditor.all('cascades', { service: 'controller' }, 10)).items)).not.toContain(cpid(5))
})

test('retention removed it here: the archive still tells, and what it cannot know is said', async () => {
  using first = await TestWriter.open()
  playChange(first, 1, 'east')
  playChange(first, 2, 'east', [1])
  first.pass(301_000)
  await archiveAll(first, archiveSettings(server, 'kept'))
  const writer = first.reopened({ retention: { maxAgeMs: 60_000 } })
  writer.pass(3_600_000)
  while (writer.writer.prune(1_000, { isCalendarRight: true }).more);
  expect(writer.rows('traces')).toBe(0)
  const related: Question = { kind: 'related', cpid: cpid(1) }
  await using asking = new Asking(addressOf(server, 'kept'), writer)
  expect(await asking.answer(related)).toEqual({ cpid: cpid(1), related: [cpid(1), cpid(2)] })
  expect(rootsIn((await asking.all('cascades', {}, 1)).items)).toEqual([cpid(1)])
  await using without = new Asking(addressOf(server, 'kept', { password: 'wrong' }), writer)
  expect(await without.answer(related)).toBe('archiveSilent')
})

let troubled = 0

test.each([
  [
    'is dead',
    { endpoint: 'http://127.0.0.1:1' },
    undefined,
    /only what this Causeway stores.*does not answer/,
  ],
  ['is slow', { timeoutMs: 300 }, { kind: 'silent' }, /did not answer within 0\.3 s/],
  ['refuses the password', { password: 'wrong' }, undefined, /correct username and password/],
  ['is none', { database: 'nowhere' }, undefined, /there is no/],
  ['cuts the connection', {}, { kind: 'cut before' }, /does not answer/],
] as const)(
  'where the archive %s, what is held is answered, and that it is a part',
  async (_what, other, fault, said) => {
    using writer = await TestWriter.open()
    for (const at of [1, 2, 3]) playChange(writer, at, 'east')
    writer.pass(301_000)
    const database = `troubled_${++troubled}`
    await archiveAll(writer, archiveSettings(server, database))
    if (fault !== undefined) await server.fails(fault)
    try {
      await using asking = new Asking(addressOf(server, database, other), writer)
      const { items, partial } = await asking.all('cascades', { service: 'controller' }, 2)
      const held = oracle(writer.queries(), { kind: 'cascades', filter: {}, part: {} }) as {
        cascades: Json[]
      }
      expect(without(items)).toEqual(held.cascades.toSorted(newestFirst))
      expect(items).toHaveLength(3)
      expect(partial).toMatch(said)
      expect(await asking.answer({ kind: 'related', cpid: cpid(1) })).toEqual({
        ...{ cpid: cpid(1), related: [cpid(1)], partial: expect.stringMatching(said) },
      })
      const objects = await asking.all('objects', 'web-2', 1)
      expect(objects.items).toHaveLength(2)
      expect(objects.partial).toMatch(said)
      expect(await asking.answer({ kind: 'facets' })).toMatchObject({ clusters: ['east'] })
      expect(await asking.answer({ kind: 'cascades', filter: {}, part: { after: 'no cursor' } })).toBe(
        'badCursor',
      )
    } finally {
      await server.fails()
    }
  },
)

/** The question of a path with another value of this parameter than is usual. */
function questionWith(path: string, query: readonly (keyof typeof PARAMETERS)[], name: string): Question {
  const { first, then } = valuesFor(path)
  const values = { ...first, [name]: then[name] ?? '' }
  const search = new URLSearchParams()
  for (const one of query)
    if (one === name || 'missing' in PARAMETERS[one]) search.set(one, values[one] ?? '')
  const inPath = path.replaceAll(/\{(\w+)\}/g, (_, one: string) => values[one] ?? '')
  const read = readRequest(`/api/v1${inPath}?${search.toString()}`)
  if (read.kind !== 'question') throw new Error(`${path} with ${name} asks nothing`)
  return read.question
}

/** Without what each of both says in a way of its own: where a list goes on, and what an answer lacks. */
function alike(answer: Json | string): unknown {
  if (typeof answer === 'string') return answer
  return inAnyOrder({ ...answer, next: typeof answer['next'], partial: undefined })
}

test('an archive heeds the query parameters of every path', async () => {
  using writer = await manyCascades()
  await archiveAll(writer, archiveSettings(server, 'parameters'))
  await using asking = new Asking(addressOf(server, 'parameters'), writer)
  const whole = writer.queries()
  const heeded: string[] = []
  for (const { path, query, ask } of ROUTES) {
    if (ask === undefined) continue
    for (const name of query) {
      // The tests above read lists in pages.
      if (name === 'after') continue
      const question = questionWith(path, query, name)
      if (!isArchived(question)) continue
      const answered = await asking.answer(question)
      if (answered === 'here') continue
      const what = `${name} of ${path}`
      heeded.push(what)
      expect([what, alike(answered)]).toEqual([what, alike(oracle(whole, question))])
    }
  }
  expect(heeded.length).toBeGreaterThan(15)
})
