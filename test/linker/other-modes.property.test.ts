import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cpid, hexSpan, hexTrace, type SpanSketch } from '../support/otlp-requests.ts'
import { type SentSpan, traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const CHANGES = 5

/** The sources of each change, of lower numbers. */
const graphs = fc
  .array(fc.uniqueArray(fc.nat(CHANGES - 1), { maxLength: 3 }), { minLength: CHANGES, maxLength: CHANGES })
  .map((drawn) => drawn.map((sources, at) => sources.filter((source) => source < at)))
const worlds = fc.record({
  graph: graphs,
  /** Span n is of trace 1 or 2; a parent comes before it in the list, though not in time. */
  spans: fc.array(
    fc.record({
      trace: fc.constantFrom(1, 2),
      parent: fc.option(fc.nat(7), { freq: 2 }),
      of: fc.option(fc.nat(CHANGES - 1)),
      isLinked: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  order: fc.infiniteStream(fc.nat(99)).map((stream) => [...stream.take(20)]),
})
type World = typeof worlds extends fc.Arbitrary<infer T> ? T : never

interface Modelled {
  readonly sketch: SpanSketch
  readonly parent: Modelled | undefined
  readonly change: number | undefined
}

function modelOf({ spans }: World): Modelled[] {
  const all: Modelled[] = []
  for (const [at, { trace, parent, of, isLinked }] of spans.entries()) {
    const above = parent === null || parent >= at ? undefined : all[parent]
    const own = above?.sketch.trace === trace ? above : undefined
    const sketch: SpanSketch = {
      ...{ trace, id: at + 1, name: `span ${at}` },
      ...(own !== undefined && { parent: own.sketch.id }),
      ...(of !== null && { cpid: cpid(of + 1) }),
      // Without a CPID it would join what it links to.
      ...(isLinked && of !== null && at > 0 && { links: [{ trace: spans[0]?.trace ?? 0, id: 1 }] }),
    }
    all.push({ sketch, parent: own, change: of ?? own?.change })
  }
  return all
}

/** Mergelogs first, then spans in some order, one a request, then everything that waits. */
async function played(
  mode: 'links' | 'passthrough',
  world: World,
  spans: readonly Modelled[],
): Promise<SentSpan[]> {
  using writer = await TestWriter.open({ linking: { mode } })
  writer.clock.advance(60_000)
  for (const [at, sources] of world.graph.entries())
    writer.mergelogs('merger', [
      { new: cpid(at + 1), sources: sources.map((source) => cpid(source + 1)), time: at },
    ])
  const shuffled = spans
    .map((span, at) => ({ span, place: world.order[at] ?? 0 }))
    .sort((a, b) => a.place - b.place)
  for (const { span } of shuffled) {
    writer.spans('controller', [span.sketch])
    writer.link()
  }
  writer.pass(20_001)
  writer.pass(301_000)
  return writer.sent()
}

function rootsOf(graph: readonly (readonly number[])[], change: number): number[] {
  const roots = new Set<number>()
  const seen = new Set([change])
  for (const at of seen) {
    const sources = graph[at] ?? []
    if (sources.length === 0) roots.add(at)
    for (const source of sources) seen.add(source)
  }
  return [...roots].sort()
}

/** The one change span of each change, by its trace; and what links to it and from it. */
function expectChangeSpans(sent: readonly SentSpan[], graph: World['graph']): void {
  for (const [at, sources] of graph.entries()) {
    const trace = sent.filter(({ traceId }) => traceId === traceOf(cpid(at + 1)))
    const tops = trace.filter(({ parentSpanId }) => parentSpanId === '')
    expect(tops.map(({ name }) => name)).toEqual([sources.length === 0 ? 'change' : 'merge'])
    const linked = (spans: readonly SentSpan[]): string[] =>
      spans.flatMap(({ links }) => links.map(({ traceId }) => traceId)).sort()
    expect(linked(tops)).toEqual(sources.map((source) => traceOf(cpid(source + 1))).sort())
    const targets = graph.flatMap((of, target) => (of.includes(at) ? [traceOf(cpid(target + 1))] : []))
    expect(linked(trace.filter(({ name }) => name === 'merged into'))).toEqual(targets.sort())
  }
  const there = new Set(sent.map(({ traceId, spanId }) => `${traceId} ${spanId}`))
  for (const { name, links } of sent.filter(({ attributes }) => attributes['cpid.synthetic'] === true))
    for (const { traceId, spanId } of links)
      expect({ name, isThere: there.has(`${traceId} ${spanId}`) }).toEqual({ name, isThere: true })
}

function isAbove(span: Modelled, below: Modelled): boolean {
  for (let at = below.parent; at !== undefined; at = at.parent) if (at === span) return true
  return false
}

const named = (sent: readonly SentSpan[], { sketch }: Modelled): SentSpan[] =>
  sent.filter(({ name }) => name === sketch.name)

test('links: each span is once in the trace of its own change, under its parent or its change span', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const spans = modelOf(world)
      const sent = await played('links', world, spans)
      expectChangeSpans(sent, world.graph)
      for (const span of spans) {
        const { change, parent, sketch } = span
        const into = change === undefined ? [hexTrace(sketch.trace)] : [traceOf(cpid(change + 1))]
        // A parent that comes after its children is sent where they went, too.
        const lent = spans.filter((below) => isAbove(span, below) && below.change !== undefined)
        const may = new Set([...into, ...lent.map((child) => traceOf(cpid((child.change ?? 0) + 1)))])
        const found = named(sent, span)
        const traces = found.map(({ traceId }) => traceId)
        expect(traces).toContain(into[0])
        expect(new Set(traces).size).toBe(traces.length)
        for (const traceId of traces) expect(may).toContain(traceId)
        for (const { traceId, spanId, parentSpanId, attributes } of found) {
          expect(spanId).toBe(hexSpan(sketch.id))
          if (change === undefined && traceId === into[0]) {
            expect(attributes['cpid.original_trace_id']).toBeUndefined()
            expect(parentSpanId).toBe(parent === undefined ? '' : hexSpan(parent.sketch.id))
            continue
          }
          expect(attributes['cpid.original_trace_id']).toBe(hexTrace(sketch.trace))
          if (traceId !== into[0]) continue
          expect(attributes['cpid.id']).toBe(cpid((change ?? 0) + 1))
          const top = sent.find((one) => one.traceId === traceId && one.parentSpanId === '')
          const isParentThere =
            parent !== undefined && named(sent, parent).some((one) => one.traceId === traceId)
          expect(parentSpanId).toBe(isParentThere ? hexSpan(parent.sketch.id) : top?.spanId)
        }
      }
    }),
    { numRuns: 100 },
  )
})

test('passthrough: each span is where it was, with its roots and links to their change spans', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const spans = modelOf(world)
      const sent = await played('passthrough', world, spans)
      expectChangeSpans(sent, world.graph)
      for (const span of spans) {
        const { change, parent, sketch } = span
        const roots = change === undefined ? [] : rootsOf(world.graph, change)
        const [found, ...others] = named(sent, span)
        expect(others).toEqual([])
        expect(found).toMatchObject({
          traceId: hexTrace(sketch.trace),
          spanId: hexSpan(sketch.id),
          parentSpanId: parent === undefined ? '' : hexSpan(parent.sketch.id),
        })
        const { attributes = {}, links = [] } = found ?? {}
        expect(attributes['cpid.original_trace_id']).toBeUndefined()
        expect(attributes['cpid.id']).toBe(change === undefined ? undefined : cpid(change + 1))
        const told = (attributes['cpid.roots'] ?? []) as string[]
        expect(told.toSorted()).toEqual(roots.map((root) => cpid(root + 1)))
        const own = (sketch.links ?? []).map(({ trace }) => hexTrace(trace))
        const changes = change === undefined ? [] : [...new Set([change, ...roots])]
        expect(links.map(({ traceId }) => traceId).sort()).toEqual(
          [...own, ...changes.map((one) => traceOf(cpid(one + 1)))].sort(),
        )
      }
    }),
    { numRuns: 100 },
  )
})
