import { expect, test } from '@jest/globals'
import type { Cpid } from '../../src/model/merge-graph.ts'
import type { CascadeFilter } from '../../src/model/queries.ts'
import { changeIt, DEPLOYMENT, FIRST, makeIt, MERGED, REPLICASET, SECOND } from '../support/changed-again.ts'
import { cpid } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'
import { ask, id, inParts, numbersOf } from './asking.ts'
import { figureSeven } from './figure-seven.ts'

interface Cascade {
  root: string
  state: string
  traces: { traceId: string; episode: number; state: string; spans: { name: string; depth: number }[] }[]
  timePerService: unknown[]
  missingCpids: string[]
}

function rootsOf(writer: TestWriter, filter: CascadeFilter): number[] {
  const { cascades } = ask<{ cascades: Cascade[] }>(writer, { kind: 'cascades', filter, part: {} })
  return numbersOf(cascades.map(({ root }) => root))
}

const treeOf = (cascade: Cascade, trace = 0): string[] =>
  (cascade.traces[trace]?.spans ?? []).map(({ name, depth }) => `${'  '.repeat(depth)}${name}`)

test('Figure 7 has a cascade for each root, newest first', async () => {
  using writer = await figureSeven()
  const { cascades } = ask<{ cascades: unknown[] }>(writer, { kind: 'cascades', filter: {}, part: {} })
  expect(cascades[4]).toEqual({
    root: cpid(1),
    traceId: traceOf(cpid(1)),
    state: 'open',
    start: '2026-01-01T00:00:00.001000000Z',
    lastActivity: '2026-01-01T00:00:00.015000000Z',
    durationMs: 14,
    traceCount: 1,
    spans: 3,
    failed: 0,
    services: 1,
    merges: 2,
    missing: 0,
    truncated: false,
    clockSkew: false,
    object: 'apps/v1/deployments/default/web-1?uid=u1&rv=1',
    service: 'paper',
    actor: 'paper',
    gaps: 0,
    cluster: 'kind',
    reason: null,
  })
  expect(rootsOf(writer, {})).toEqual([8, 6, 4, 2, 1])
  const parts = inParts<Cascade>(writer, { kind: 'cascades', filter: {}, part: {} }, 'cascades', 2)
  expect(parts.map((part) => numbersOf(part.map(({ root }) => root)))).toEqual([[8, 6], [4, 2], [1]])
})

test('cascades by state, service and object', async () => {
  using writer = await figureSeven()
  writer.pass(300_001)
  writer.mergelogs('kubectl', [
    { new: cpid(20), time: 300_001, object: 'apps/v1/deployments/default/web-10' },
  ])
  writer.link()
  expect(rootsOf(writer, { state: 'open' })).toEqual([20])
  expect(rootsOf(writer, { state: 'settled' })).toEqual([8, 6, 4, 2, 1])
  expect(rootsOf(writer, { service: 'odd' })).toEqual([6, 4, 2, 1])
  expect(rootsOf(writer, { service: 'kubectl' })).toEqual([20])
  expect(rootsOf(writer, { service: 'nobody' })).toEqual([])
  expect(rootsOf(writer, { object: 'apps/v1/deployments/default/web-1' })).toEqual([1])
  expect(rootsOf(writer, { object: 'apps/v1/deployments/default' })).toEqual([20, 8, 6, 4, 2, 1])
  expect(rootsOf(writer, { object: 'apps/v1/deployments/default', state: 'open' })).toEqual([20])
  expect(rootsOf(writer, { object: 'apps/v1/deploy' })).toEqual([])
})

test('a cascade with its tree as it was linked, and the time of each service', async () => {
  using writer = await figureSeven()
  writer.pass(300_001)
  const cascade = ask<Cascade>(writer, { kind: 'cascade', root: id(2) })
  expect(cascade).toMatchObject({
    root: cpid(2),
    state: 'settled',
    spans: 4,
    services: 2,
    missing: 0,
    traceCount: 1,
  })
  expect(treeOf(cascade)).toEqual([
    'change apps/v1/deployments',
    '  work of 2',
    '  cascade',
    '  merge',
    '    work of 3',
    '    merge',
    '      work of 5',
    '  merge',
    '    work of 7',
  ])
  expect(cascade.traces[0]?.spans[1]).toEqual({
    spanId: '0000000000000002',
    parentSpanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    depth: 1,
    name: 'work of 2',
    service: 'even',
    cpid: cpid(2),
    start: '2026-01-01T00:00:00.002000000Z',
    offsetMs: 0,
    durationMs: 10,
    selfMs: 10,
    kind: 1,
    status: 0,
    synthetic: false,
    copy: false,
    parentMissing: false,
  })
  expect(cascade.timePerService).toEqual([
    {
      service: 'odd',
      totalMs: 30,
      selfMs: 30,
      waitMs: 0,
      spans: 3,
      errors: 0,
      firstStart: '2026-01-01T00:00:00.003000000Z',
      lastEnd: '2026-01-01T00:00:00.017000000Z',
    },
    {
      service: 'even',
      totalMs: 10,
      selfMs: 10,
      waitMs: 0,
      spans: 1,
      errors: 0,
      firstStart: '2026-01-01T00:00:00.002000000Z',
      lastEnd: '2026-01-01T00:00:00.012000000Z',
    },
  ])
})

test('episodes belong to the cascade of their root', async () => {
  using writer = await figureSeven()
  writer.pass(300_001)
  writer.spans('odd', [{ trace: 40, id: 40, cpid: cpid(8), name: 'later', start: 300_001 }])
  writer.link()
  const cascade = ask<Cascade>(writer, { kind: 'cascade', root: id(8) })
  expect(cascade.state).toBe('open')
  expect(cascade.traces.map(({ episode, state }) => [episode, state])).toEqual([
    [0, 'settled'],
    [1, 'open'],
  ])
  expect(treeOf(cascade, 1)).toEqual(['episode apps/v1/deployments', '  later'])
  expect(rootsOf(writer, { state: 'open' })).toEqual([8])
  expect(rootsOf(writer, {})).toEqual([8, 6, 4, 2, 1])
})

test('any CPID leads to the cascades it takes part in', async () => {
  using writer = await figureSeven()
  const queries = writer.queries()
  const cascadesOf = (number: number): unknown => {
    const found = queries.cascadesOf(id(number))
    return typeof found === 'string' ? found : numbersOf(found.cascades)
  }
  expect([1, 3, 5, 7, 8, 99].map(cascadesOf)).toEqual([[1], [2, 1], [4, 2, 1], [6, 4, 2], [8], 'unknown'])
  // Not linked yet: those of its roots.
  writer.mergelogs('paper', [{ new: cpid(30), sources: [cpid(5)], time: 9 }])
  expect(cascadesOf(30)).toEqual([4, 2, 1])
  writer.mergelogs('paper', [{ new: cpid(31), time: 9 }])
  expect(cascadesOf(31)).toEqual([])
  expect(queries.cascade(id(5))).toBe('unknown')
})

test('a missing mergelog is named, and a CPID that turns out to have sources is no root', async () => {
  using writer = await TestWriter.open()
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(5) }])
  writer.pass(10_001)
  const before = ask<Cascade>(writer, { kind: 'cascade', root: id(5) })
  expect(before).toMatchObject({ missing: 1, missingCpids: [cpid(5)] })
  writer.mergelogs('controller', [
    { new: cpid(4), time: 1 },
    { new: cpid(5), sources: [cpid(4)], time: 2 },
  ])
  writer.link()
  expect(rootsOf(writer, {})).toEqual([4])
  expect(writer.queries().cascadesOf(id(5))).toEqual({ cascades: [cpid(4)], drivenBy: [cpid(4)] })
  expect(ask(writer, { kind: 'cascade', root: id(5) })).toBe('unknown')
  expect(ask(writer, { kind: 'cascade', root: id(4) })).toMatchObject({ missing: 0, missingCpids: [] })
})

test('where every CPID is its own trace, each is the root of its own cascade', async () => {
  using writer = await figureSeven(undefined, { linking: { mode: 'links' } })
  expect(rootsOf(writer, {})).toEqual([8, 7, 6, 5, 4, 3, 2, 1])
  expect(treeOf(ask<Cascade>(writer, { kind: 'cascade', root: id(5) }))).toEqual(['merge', '  work of 5'])
  expect(writer.queries().cascadesOf(id(5))).toEqual({ cascades: [cpid(5)], drivenBy: [cpid(5)] })
})

test('a trace of 10,000 levels is answered', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 20_000, maxTraceBytes: 2 ** 30 } })
  writer.mergelogs('controller', [{ new: cpid(1) }])
  writer.spans(
    'controller',
    Array.from({ length: 10_000 }, (_, at) => ({
      trace: 1,
      id: at + 1,
      parent: at,
      cpid: cpid(1),
      start: at,
    })),
  )
  writer.link()
  const cascade = ask<Cascade>(writer, { kind: 'cascade', root: id(1) })
  expect(cascade.traces[0]?.spans.at(-1)).toMatchObject({ depth: 10_000 })
})

test('of the cascades of a CPID, those that drive it are told from those that were passed on', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  expect(ask(writer, { kind: 'objectVersions', ref: `${DEPLOYMENT}?rv=20`, part: {} })).toMatchObject({
    versions: [{ cascades: [FIRST], drivenBy: [] }],
  })
  writer.link()
  expect(ask(writer, { kind: 'cascadesOf', cpid: MERGED as Cpid, part: {} })).toMatchObject({
    cascades: [
      { root: SECOND, drives: true },
      { root: FIRST, drives: false },
    ],
  })
  expect(ask(writer, { kind: 'objectVersions', ref: DEPLOYMENT, part: {} })).toMatchObject({
    versions: [
      { object: `${DEPLOYMENT}?rv=20`, cascades: [SECOND, FIRST], drivenBy: [SECOND] },
      { object: `${DEPLOYMENT}?rv=10`, cascades: [FIRST], drivenBy: [FIRST] },
    ],
  })
  expect(ask(writer, { kind: 'objects', ref: REPLICASET, part: {} })).toMatchObject({
    objects: [{ drivenBy: [SECOND] }, { drivenBy: [FIRST] }],
  })
})
