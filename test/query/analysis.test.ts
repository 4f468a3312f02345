import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { REPLICASET, WEB, webCascades } from '../api/support/web-cascade.ts'
import { cpid } from '../support/otlp-requests.ts'
import type { TestWriter } from '../support/test-writer.ts'
import { ask, id, inParts, numbersOf } from './asking.ts'

interface Cascade {
  criticalPath: {
    durationMs: number
    longestStep: number | null
    longestWait: number | null
    steps: { name: string; offsetMs: number; waitMs: number; heldMs: number; selfMs: number }[]
  }
  durationMs: number
  timePerService: { service: string }[]
  timePerKind: unknown[]
  mergelogs: { cpid: string }[]
  traces: {
    traceId: string
    spans: { spanId: string; name: string; parentSpanId: string; critical?: true }[]
  }[]
}

let writer: TestWriter
beforeAll(async () => {
  writer = await webCascades()
})
afterAll(() => writer[Symbol.dispose]())

test('a cascade says where its time went', () => {
  const cascade = ask<Cascade>(writer, { kind: 'cascade', root: id(1) })
  expect(cascade.criticalPath).toMatchObject({
    durationMs: 60,
    longestStep: 3,
    longestWait: 3,
    steps: [
      { name: 'change apps/v1/deployments', offsetMs: 0, waitMs: 0, heldMs: 0 },
      { name: 'reconcile deployment', offsetMs: 5, waitMs: 5, heldMs: 5, selfMs: 12 },
      { name: 'update replicaset', offsetMs: 10, waitMs: 0, heldMs: 8, selfMs: 8 },
      { name: 'reconcile replicaset', offsetMs: 30, waitMs: 12, heldMs: 30, selfMs: 30, mostly: null },
    ],
  })
  expect(cascade.timePerKind).toEqual([
    {
      kind: 'apps/v1/replicasets',
      totalMs: 38,
      selfMs: 38,
      waitMs: 12,
      spans: 2,
      writes: 1,
      objects: 1,
    },
    { kind: 'apps/v1/deployments', totalMs: 20, selfMs: 12, waitMs: 0, spans: 1, writes: 0, objects: 1 },
  ])
  expect(cascade.timePerService).toMatchObject([
    { service: 'replicaset-controller', totalMs: 30, selfMs: 30, waitMs: 12, spans: 1, errors: 0 },
    { service: 'deployment-controller', totalMs: 28, selfMs: 20, waitMs: 0, spans: 2, errors: 0 },
  ])
  expect(numbersOf(cascade.mergelogs.map((mergelog) => mergelog.cpid))).toEqual([1, 2])
  const spans = cascade.traces[0]?.spans ?? []
  expect(spans.filter(({ critical }) => critical).map(({ name }) => name)).toEqual(
    cascade.criticalPath.steps.map(({ name }) => name),
  )
  expect(spans.find(({ name }) => name === 'reconcile replicaset')).toMatchObject({
    waitMs: 12,
    observed: [`${REPLICASET}?uid=u2&rv=100`],
  })
  expect(spans.find(({ name }) => name === 'update replicaset')).toMatchObject({
    wrote: [`${REPLICASET}?uid=u2&rv=100`],
  })
  for (const { name, ...span } of spans) if (name === 'merge') expect(span).not.toHaveProperty('waitMs')
})

test('a cascade that goes on in an episode has one critical path through both', async () => {
  using later = await webCascades()
  later.spans('late', [{ trace: 90, id: 900, cpid: cpid(1), name: 'late work', start: 20_000, end: 20_010 }])
  later.link()
  const { criticalPath, durationMs } = ask<Cascade>(later, { kind: 'cascade', root: id(1) })
  expect(criticalPath.steps.map(({ name }) => name).slice(-3)).toEqual([
    'reconcile replicaset',
    'episode apps/v1/deployments',
    'late work',
  ])
  expect(criticalPath.durationMs).toBe(20_010 - 1000)
  expect(criticalPath.steps.at(-2)).toMatchObject({ waitMs: 20_000 - 1060 })
  const sum = criticalPath.steps.reduce((ms, { waitMs, heldMs }) => ms + waitMs + heldMs, 0)
  expect(sum).toBe(criticalPath.durationMs)
  expect(sum).toBeLessThanOrEqual(durationMs)
  expect(criticalPath.steps[criticalPath.longestWait!]).toMatchObject({ name: 'episode apps/v1/deployments' })
})

test('compared, what got slower comes first', () => {
  const compared = ask<{ services: unknown; kinds: unknown; durationMs: unknown }>(writer, {
    kind: 'compare',
    a: id(1),
    b: id(11),
  })
  expect(compared).toMatchObject({
    a: { root: cpid(1) },
    b: { root: cpid(11) },
    durationMs: { a: 60, b: 180, difference: 120 },
    services: [
      { service: 'replicaset-controller', a: { totalMs: 30 }, b: { totalMs: 90 }, differenceMs: 60 },
      { service: 'deployment-controller', a: { totalMs: 28 }, b: { totalMs: 84 }, differenceMs: 56 },
    ],
    kinds: [
      { kind: 'apps/v1/replicasets', differenceMs: 76 },
      { kind: 'apps/v1/deployments', differenceMs: 40 },
    ],
  })
  expect(ask(writer, { kind: 'compare', a: id(1), b: id(99) })).toBe('unknown')
})

test('cascades by name, part of a reference, cluster and time', () => {
  const roots = (filter: object): number[] => {
    const { cascades } = ask<{ cascades: { root: string }[] }>(writer, {
      kind: 'cascades',
      filter,
      part: {},
    })
    return numbersOf(cascades.map(({ root }) => root))
  }
  for (const object of ['web', 'deployments/default/web', '/default/', 'apps/v1/deployments']) {
    expect(roots({ object })).toEqual([11, 1])
  }
  expect(roots({ object: `${WEB}?uid=u1&rv=1` })).toEqual([1])
  for (const object of ['we', 'eb', '%', '_eb', 'default/we', `web' OR 1=1 --`, '<b>', '/']) {
    expect(roots({ object })).toEqual([])
  }
  expect(roots({ cluster: 'kind' })).toEqual([11, 1])
  expect(roots({ cluster: 'other' })).toEqual([])
  const start = BigInt(Date.UTC(2026, 0, 1)) * 1_000_000n
  const ns = (ms: number): bigint => start + BigInt(ms) * 1_000_000n
  expect(roots({ toNs: ns(999) })).toEqual([])
  expect(roots({ fromNs: ns(1060), toNs: ns(11_000) })).toEqual([11, 1])
  expect(roots({ fromNs: ns(1061) })).toEqual([11])
  expect(roots({ toNs: ns(10_999) })).toEqual([1])
})

test('what happened to an object, newest first, by any way to name it', () => {
  const happened = (ref: string): unknown[] =>
    ask<{ objects: unknown[] }>(writer, { kind: 'objects', ref, part: {} }).objects
  const all = happened(REPLICASET)
  expect(all).toEqual(
    [11, 1].flatMap((root) =>
      (['observed', 'wrote'] as const).map((action) => ({
        object: `${REPLICASET}?uid=u2&rv=${root * 100}`,
        cpid: cpid(root),
        action,
        timestamp: expect.any(String),
        service: action === 'wrote' ? 'deployment-controller' : 'replicaset-controller',
        cluster: 'kind',
        cascades: [cpid(root)],
        drivenBy: [cpid(root)],
      })),
    ),
  )
  expect(all[1]).toMatchObject({ timestamp: '2026-01-01T00:00:11.054000000Z' })
  for (const ref of ['web-1', 'apps/v1/replicasets', 'apps/v1/replicasets/', 'replicasets/default/web-1']) {
    expect(happened(ref)).toEqual(all)
  }
  expect(happened(`${REPLICASET}?rv=100`)).toEqual(all.slice(2))
  expect(happened('web')).toMatchObject([
    { action: 'observed' },
    { action: 'mergelog', object: `${WEB}?uid=u1&rv=11`, service: 'kubectl' },
    { action: 'observed' },
    { action: 'mergelog', object: `${WEB}?uid=u1&rv=1` },
  ])
  expect(happened('default')).toHaveLength(8)
  expect(happened('apps/v1/repl')).toEqual([])
  const parts = inParts(writer, { kind: 'objects', ref: 'default', part: {} }, 'objects', 3)
  expect(parts.map((part) => part.length)).toEqual([3, 3, 2])
  expect(parts.flat()).toEqual(happened('default'))
})

test('a span that names several versions comes as often, and parts break between them', async () => {
  using many = await webCascades()
  const wrote = Array.from({ length: 450 }, (_, at) => `v1/pods/default/p-${at % 2}?rv=${at}`)
  many.spans('pods', [{ trace: 70, id: 700, cpid: cpid(1), attributes: { 'cpid.wrote': wrote } }])
  const parts = inParts<{ object: string }>(many, { kind: 'objects', ref: 'v1/pods', part: {} }, 'objects', 7)
  const objects = parts.flat().map(({ object }) => object)
  expect(objects).toHaveLength(450)
  expect(new Set(objects)).toEqual(new Set(wrote))
})

test('finding by CPID, by trace id and by name', () => {
  const find = (text: string): unknown => ask(writer, { kind: 'find', text, limit: 20 })
  for (const text of [cpid(2), cpid(2).toUpperCase(), ` ${cpid(2).replaceAll('-', '')}\n`]) {
    expect(find(text)).toMatchObject({
      cpid: { cpid: cpid(2), state: 'known' },
      cascades: [{ root: cpid(1) }],
    })
  }
  expect(find(cpid(99))).toEqual({
    cpid: { cpid: cpid(99), state: 'unknown' },
    cpids: [],
    cascades: [],
    objects: [],
  })
  expect(find('WEB')).toMatchObject({
    cpid: null,
    cascades: [{ root: cpid(11) }, { root: cpid(1) }],
    objects: [REPLICASET, WEB],
  })
  for (const text of ['%', '_', "'", '<script>', '\\']) {
    expect(find(text)).toEqual({ cpid: null, cpids: [], cascades: [], objects: [] })
  }
})

test('a span as it was sent', () => {
  const cascade = ask<Cascade>(writer, { kind: 'cascade', root: id(1) })
  const [trace] = cascade.traces
  const update = trace!.spans.find(({ name }) => name === 'update replicaset')!
  const ofSpan = (spanId: string, traceId?: string): unknown =>
    ask(writer, { kind: 'span', root: id(1), spanId, ...(traceId && { traceId }) })
  expect(ofSpan(update.spanId)).toMatchObject({
    resourceSpans: [
      {
        resource: { attributes: expect.arrayContaining([expect.objectContaining({ key: 'service.name' })]) },
        scopeSpans: [
          {
            spans: [
              {
                traceId: trace!.traceId,
                spanId: update.spanId,
                parentSpanId: update.parentSpanId,
                name: 'update replicaset',
                attributes: expect.arrayContaining([
                  { key: 'note', value: { stringValue: 'ünïcode' } },
                  { key: 'cpid.original_trace_id', value: { stringValue: '1'.padStart(32, '0') } },
                ]),
              },
            ],
          },
        ],
      },
    ],
  })
  const [root] = trace!.spans
  expect(ofSpan(root!.spanId, trace!.traceId)).toMatchObject({
    resourceSpans: [{ scopeSpans: [{ spans: [{ name: 'change apps/v1/deployments' }] }] }],
  })
  expect(ofSpan(update.spanId, '1'.repeat(32))).toBe('unknownSpan')
  expect(ofSpan('1'.repeat(16))).toBe('unknownSpan')
})

test('the merge graph around a CPID, cut where it is too large', async () => {
  using wide = await webCascades()
  for (let at = 0; at < 30; at++) {
    wide.mergelogs('fan', [{ new: cpid(100 + at), sources: [cpid(2)], time: 5000 + at }])
  }
  interface Graph {
    nodes: { cpid: string; distance: number; root: boolean; timestamp: string }[]
    edges: { source: string; target: string }[]
    truncated: boolean
  }
  const graph = (limit: number): Graph => ask<Graph>(wide, { kind: 'graph', cpid: id(2), limit })
  const whole = graph(200)
  expect(whole.nodes).toHaveLength(32)
  expect(whole.nodes.slice(0, 3)).toMatchObject([
    { cpid: cpid(2), distance: 0, root: false, service: 'deployment-controller', cluster: 'kind' },
    { cpid: cpid(1), distance: -1, root: true, reason: 'scale', object: `${WEB}?uid=u1&rv=1` },
    { distance: 1, explained: true },
  ])
  expect(whole.edges).toHaveLength(31)
  expect(whole.truncated).toBe(false)
  const cut = graph(10)
  expect([cut.nodes.length, cut.edges.length, cut.truncated]).toEqual([10, 9, true])
  expect(graph(1)).toMatchObject({ nodes: [{ cpid: cpid(2) }], edges: [], truncated: true })
})

test('facets', () => {
  expect(ask(writer, { kind: 'facets' })).toEqual({
    services: ['deployment-controller', 'kubectl', 'replicaset-controller'],
    clusters: ['kind'],
    actors: [],
    namespaces: ['default'],
    kinds: ['apps/v1/deployments', 'apps/v1/replicasets'],
  })
})
