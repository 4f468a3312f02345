import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Step, steps } from '../support/drawn-history.ts'
import { cpid, mergelogEvent, type MergelogSketch } from '../support/otlp-requests.ts'
import type { SentSpan } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const VIEWS = [
  'audit_mergelogs',
  'audit_edges',
  'audit_cpids',
  'audit_rejected_mergelogs',
  'audit_cascades',
  'audit_cascade_changes',
]

type Form = 'event' | 'log before' | 'log after'

/** A drawn step; each mergelog is of a span of its own, as its event or as a log record in it that comes first or last. */
function playAs(form: Form, writer: TestWriter, step: Step, at: number, seen: Set<string>): void {
  if (step.kind === 'pass') {
    writer.pass(step.ms)
    return
  }
  if (step.kind === 'span') {
    const key = `${step.span.trace} ${step.span.id}`
    if (!seen.has(key)) writer.spans('controller', [step.span])
    seen.add(key)
    return
  }
  const told = { trace: 50 + at, id: 5_000 + at }
  const mergelog: MergelogSketch = {
    ...{ new: cpid(step.at + 1), sources: step.sources.map((source) => cpid(source + 1)), time: at },
    ...{ object: `v1/pods/default/web?rv=${at}`, reason: `reason ${at}` },
  }
  const span = {
    ...{ ...told, start: at, end: at + 1 },
    ...(at % 2 === 0 && { cpid: mergelog.new }),
    ...(at % 3 === 0 && step.sources[0] !== undefined && { cpid: cpid(step.sources[0] + 1) }),
  }
  if (form === 'log before') writer.mergelogs('merger', [{ ...mergelog, told }])
  writer.spans('merger', [{ ...span, ...(form === 'event' && { events: [mergelogEvent(mergelog)] }) }])
  if (form === 'log after') writer.mergelogs('merger', [{ ...mergelog, told }])
}

const order = (a: SentSpan, b: SentSpan): number =>
  `${a.traceId} ${a.spanId} ${a.name}` < `${b.traceId} ${b.spanId} ${b.name}` ? -1 : 1

/** Roots first seen at the same time are in no order. */
function inNoOrder(span: SentSpan): SentSpan {
  const roots = span.attributes['cpid.roots']
  const attributes = { ...span.attributes, ...(Array.isArray(roots) && { 'cpid.roots': roots.toSorted() }) }
  return { ...span, attributes, links: span.links.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1)) }
}

/** What is stored, in no order. */
function stored(writer: TestWriter): Record<string, string[]> {
  const rows = (view: string): string[] =>
    writer.db
      .prepare<[], object>(`SELECT * FROM ${view}`)
      .all()
      .map((row) => JSON.stringify(row))
      .sort()
  return Object.fromEntries(VIEWS.map((view) => [view, rows(view)]))
}

/** What was sent and is stored, in no order. */
function outcome(writer: TestWriter): unknown {
  return { sent: writer.sent().map(inNoOrder).sort(order), ...stored(writer) }
}

/** The same history with the mergelogs in both forms. */
async function expectAlike(
  mode: 'cascade' | 'links' | 'passthrough',
  form: Form,
  of: (writer: TestWriter) => unknown,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      const [asEvent, asLog] = [new Set<string>(), new Set<string>()]
      using one = await TestWriter.open({ linking: { mode } })
      using other = await TestWriter.open({ linking: { mode } })
      // No time is ahead of the clock.
      for (const writer of [one, other]) writer.clock.advance(60_000)
      for (const [at, step] of [...drawn, { kind: 'pass', ms: 301_000 } as const].entries()) {
        playAs('event', one, step, at, asEvent)
        playAs(form, other, step, at, asLog)
      }
      expect(of(other)).toEqual(of(one))
    }),
    { numRuns: 100 },
  )
}

const MODES = ['cascade', 'links', 'passthrough'] as const

test.each(MODES)(
  '%s: a mergelog has the same outcome as a span event and as a log record that comes before its span',
  (mode) => expectAlike(mode, 'log before', outcome),
)

// Of roots that are first seen at the same time the one whose span comes first is in front.
test.each(MODES)(
  '%s: the merge graph is the same with a mergelog as a span event and as a log record that comes after its span',
  (mode) => expectAlike(mode, 'log after', stored),
)
