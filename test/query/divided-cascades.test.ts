import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { TraceFacts } from '../../src/model/queries.ts'
import { CascadeFold } from '../../src/query/span-tree.ts'
import { type Chains, ingestChains, waitedMs } from '../support/divided-cascade.ts'
import { cpid, type SpanSketch } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { ask, id } from './asking.ts'
import { linkedSpan } from './linked-span.ts'

interface Figures {
  merges: number
  missing: number
  services: number
  durationMs: number
  timePerService: { service: string; waitMs: number; selfMs: number }[]
  timePerKind: unknown[]
  criticalPath: { durationMs: number; steps: Record<string, unknown>[] }
  traces: { traceId: string; continues: string | null; spans: ShownSpan[] }[]
}

interface ShownSpan {
  spanId: string
  parentSpanId: string | null
  traceId?: string
  depth: number
  name: string
  waitMs?: number
  selfMs: number
  synthetic: boolean
  beingPlaced?: true
}

const CHAINS: Chains = { objects: 15, writes: 100 }

async function chains(maxTraceSpans: number): Promise<Figures> {
  using writer = await TestWriter.open({ linking: { maxTraceSpans } })
  ingestChains(writer, CHAINS)
  writer.pass(300_001)
  return ask<Figures>(writer, { kind: 'cascade', root: id(1) })
}

/** What does not depend on how many traces there are: figures, and the tree with ids, depths and times. */
function comparable({ traces, criticalPath, ...rest }: Figures): unknown {
  const { merges, missing, services, durationMs, timePerService, timePerKind } = rest
  return {
    figures: { merges, missing, services, durationMs, timePerService, timePerKind },
    path: { ...criticalPath, steps: criticalPath.steps.map(stepWithout) },
    tree: traces
      .flatMap(({ spans }) => spans)
      .filter(({ synthetic }) => !synthetic)
      .map(({ spanId, name, waitMs, selfMs, depth }) => ({ spanId, name, waitMs, selfMs, depth })),
  }
}

/** Of Causeway's own spans the ids are those of the trace that they are in. */
function stepWithout({ spanId, traceId, name, ...step }: Record<string, unknown>): unknown {
  const isOwn = /^(change|merge|episode)/.test(String(name))
  return { name, ...step, ...(!isOwn && { spanId }), ...(traceId === undefined && { traceId }) }
}

test('a cascade of thirty traces says of its time what it says when it is one', async () => {
  const whole = await chains(10_000)
  const divided = await chains(100)
  expect(whole.traces).toHaveLength(1)
  expect(divided.traces.length).toBeGreaterThan(30)
  expect(comparable(divided)).toEqual(comparable(whole))
  expect(divided.timePerService).toMatchObject([{ service: 'controller', waitMs: waitedMs(CHAINS) }])
  expect(divided.criticalPath.durationMs).toBe(1 + 100 * 10 + 99 * 7)
  expect(divided.criticalPath.steps).toHaveLength(101)
})

test('traces that a cascade goes on in are named, and its spans are one tree', async () => {
  const { traces } = await chains(100)
  const [first, ...rest] = traces
  expect(first).toMatchObject({ continues: null })
  expect(first?.spans).toHaveLength(1 + 2 * 15 * 100)
  expect(rest.every(({ continues, spans }) => continues === first?.traceId && spans.length === 0)).toBe(true)
  const ids = new Set(first?.spans.map(({ spanId }) => spanId))
  expect(ids.size).toBe(first?.spans.length)
  expect(first?.spans.filter(({ parentSpanId }) => parentSpanId === null)).toHaveLength(1)
  for (const span of first?.spans ?? []) {
    if (span.parentSpanId !== null) expect(ids).toContain(span.parentSpanId)
  }
  const elsewhere = new Set(first?.spans.map(({ traceId }) => traceId))
  expect(elsewhere).toEqual(new Set([undefined, ...rest.map(({ traceId }) => traceId)]))
})

test('work of an hour later is another cascade: it waited for nothing', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 50 } })
  ingestChains(writer, { objects: 4, writes: 20 })
  writer.pass(3_600_000)
  const observed = { 'cpid.observed': ['v1/pods/default/p-0?rv=20'] }
  const late = { trace: 9_000, id: 90_000, cpid: cpid(1), name: 'resync', start: 3_600_000 }
  writer.spans('controller', [{ ...late, attributes: observed }])
  writer.pass(300_001)
  const { timePerService, traces } = ask<Figures>(writer, { kind: 'cascade', root: id(1) })
  expect(timePerService).toMatchObject([{ waitMs: waitedMs({ objects: 4, writes: 20 }) }])
  expect(traces.at(-1)).toMatchObject({ continues: null, spans: [{ depth: 0 }, { name: 'resync' }, {}] })
})

type Step =
  | { kind: 'span'; span: SpanSketch }
  | { kind: 'mergelog'; at: number; sources: number[] }
  | { kind: 'pass'; ms: number }

const podAt = (version: number): string => `v1/pods/default/web-${version % 2}?rv=${version}`

const aSpan = fc
  .record({
    trace: fc.integer({ min: 1, max: 4 }),
    id: fc.integer({ min: 1, max: 6 }),
    parent: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
    carried: fc.option(fc.nat(3), { nil: undefined, freq: 3 }),
    observed: fc.array(fc.nat(7), { maxLength: 2 }),
    wrote: fc.array(fc.nat(7), { maxLength: 2 }),
    start: fc.integer({ min: 10, max: 60 }),
    ms: fc.integer({ min: 0, max: 20 }),
  })
  .map(({ trace, id: number, parent, carried, observed, wrote, start, ms }): Step => ({
    kind: 'span',
    span: {
      trace,
      id: trace * 100 + number,
      ...(parent !== undefined && { parent: trace * 100 + parent }),
      ...(carried !== undefined && { cpid: cpid(carried + 1) }),
      start,
      end: start + ms,
      attributes: { 'cpid.observed': observed.map(podAt), 'cpid.wrote': wrote.map(podAt) },
    },
  }))

const aMergelog = fc
  .record({ at: fc.integer({ min: 1, max: 3 }), sources: fc.uniqueArray(fc.nat(2), { maxLength: 3 }) })
  .map(({ at, sources }): Step => ({
    kind: 'mergelog',
    at,
    sources: [0, ...sources].filter((source) => source < at),
  }))

const aPass = fc.constantFrom(0, 4_000, 11_000).map((ms): Step => ({ kind: 'pass', ms }))

const history = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: aSpan },
    { weight: 1, arbitrary: aMergelog },
    { weight: 1, arbitrary: aPass },
  ),
  { minLength: 5, maxLength: 40 },
)

async function played(steps: readonly Step[], maxTraceSpans: number): Promise<unknown> {
  using writer = await TestWriter.open({ linking: { maxTraceSpans } })
  // Mergelogs that come before their time count as of their arrival, wherever that is stamped.
  writer.clock.advance(1_000)
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 0 }])
  writer.link()
  const arrived = new Set<number>()
  for (const step of steps) {
    if (step.kind === 'pass') writer.pass(step.ms)
    else if (step.kind === 'mergelog') {
      const { at, sources } = step
      const merged = { new: cpid(at + 1), sources: [...new Set(sources)].map((source) => cpid(source + 1)) }
      writer.mergelogs('merger', [{ ...merged, time: at }])
    } else if (!arrived.has(step.span.id)) {
      arrived.add(step.span.id)
      writer.spans(`service ${step.span.trace}`, [step.span])
    }
  }
  writer.pass(11_000)
  writer.pass(301_000)
  return comparable(ask<Figures>(writer, { kind: 'cascade', root: id(1) }))
}

test('what a late mergelog sends again stands in a divided cascade once', async () => {
  const pod = [podAt(0)]
  const at = { start: 10, end: 10 }
  const steps: Step[] = [
    { kind: 'span', span: { ...at, trace: 1, id: 101, cpid: cpid(2), attributes: { 'cpid.wrote': pod } } },
    { kind: 'mergelog', at: 2, sources: [0, 1] },
    { kind: 'span', span: { ...at, trace: 2, id: 201, cpid: cpid(3), attributes: { 'cpid.observed': pod } } },
    { kind: 'pass', ms: 11_000 },
    { kind: 'mergelog', at: 1, sources: [0] },
  ]
  expect(await played(steps, 2)).toEqual(await played(steps, 10_000))
})

test('a parent that two traces of a cascade wait for hangs in both where it would in one', async () => {
  const at = { trace: 3, start: 10, end: 10 }
  const steps: Step[] = [
    { kind: 'span', span: { ...at, id: 301, parent: 305, cpid: cpid(2) } },
    { kind: 'span', span: { ...at, id: 305, parent: 303, cpid: cpid(1) } },
    { kind: 'mergelog', at: 1, sources: [0] },
    { kind: 'span', span: { ...at, id: 303, cpid: cpid(3) } },
  ]
  expect(await played(steps, 2)).toEqual(await played(steps, 10_000))
})

test('changes alone give a divided cascade no duration either', async () => {
  const steps: Step[] = [1, 2].map((at) => ({ kind: 'mergelog', at, sources: [0] }))
  expect(await played(steps, 2)).toEqual(await played(steps, 10_000))
})

test('whatever happened, what a cascade says does not depend on how large its traces may be', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.integer({ min: 2, max: 12 }), async (steps, maxTraceSpans) => {
      expect(await played(steps, maxTraceSpans)).toEqual(await played(steps, 10_000))
    }),
    { numRuns: 25 },
  )
})

test('a span that is placed while its cascade is read is shown as it was sent', () => {
  const part = (trace: number): TraceFacts => ({
    ...{ id: trace, cascade: 1, episode: trace - 1, traceId: Buffer.alloc(16, trace), spans: 1, open: true },
    ...{ startNs: 0n, lastNs: 9n, lastDecision: 9 },
  })
  const parts = [part(1), part(2)]
  const placing = linkedSpan(5, 0, { decision: -5, beingPlaced: true })
  const sent = linkedSpan(5, 0, { decision: 8 })
  for (const spans of [
    [placing, sent],
    [sent, placing],
  ]) {
    const fold = new CascadeFold(parts)
    for (const [at, one] of parts.entries()) fold.add(one, spans.slice(at, at + 1))
    expect(fold.spans().map(({ decision, beingPlaced }) => [decision, beingPlaced])).toEqual([[8, undefined]])
  }
})

test('spans that are being placed stand where they stand when the cascade is one trace', async () => {
  const shown = async (maxTraceSpans: number): Promise<Figures> => {
    using writer = await TestWriter.open({ linking: { maxTraceSpans } })
    ingestChains(writer, { objects: 5, writes: 60 })
    for (const number of [1, 2, 3]) {
      const observed = { 'cpid.observed': [`v1/pods/default/lost?rv=${number}`] }
      const child = { trace: 5_000, parent: 5_000 + number, start: 15 + number }
      writer.spans('reader', [
        { ...child, id: 10_000 + number, name: `PUT ${number}`, cpid: cpid(1) },
        { ...child, id: 20_000 + number, name: `step ${number}` },
      ])
      writer.link()
      const reads = { trace: 5_000, id: 5_000 + number, cpid: cpid(1), name: `reads ${number}` }
      writer.spans('reader', [{ ...reads, start: 14 + number, end: 40, attributes: observed }])
      writer.link()
      ingestChains(writer, { objects: 5, writes: 10 + 20 * number })
    }
    return ask<Figures>(writer, { kind: 'cascade', root: id(1) })
  }
  const whole = await shown(10_000)
  const divided = await shown(100)
  expect([whole.traces.length, divided.traces.length > 3]).toEqual([1, true])
  expect(comparable(divided)).toEqual(comparable(whole))
  const waiting = divided.traces.flatMap(({ spans }) => spans.filter(({ beingPlaced }) => beingPlaced))
  expect(waiting.map(({ name, depth }) => [name, depth])).toEqual([
    ['reads 1', 1],
    ['step 1', 2],
    ['reads 2', 1],
    ['step 2', 2],
    ['reads 3', 1],
    ['step 3', 2],
  ])
})
