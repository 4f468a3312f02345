import { MIB } from '../model/time-and-size.ts'
import type { OutboxItem } from '../model/outbox.ts'
import type { CausewayQueries, Pages } from '../model/queries.ts'
import { withFewEnvelopes } from './list-json.ts'
import { BadQuestion } from './question.ts'
import { SpanRenderer } from './sent-span-json.ts'
import {
  COUNTED,
  diffSpan,
  type DiffSpan,
  type DiffTrace,
  type Patch,
  patchOf,
  placedTrace,
  SpanKeys,
} from './trace-diff.ts'

/** `trace-patch-v0` has every change of each span; `native` has counts and sums; `composed` adds a patch if it is short. */
export const DIFF_FORMATS = [
  'trace-patch-v0',
  'trace-summary-v0-native',
  'trace-summary-v0-composed',
] as const

export interface TraceDiffAsked {
  /** Trace ids, 32 hex digits each. */
  readonly base: string
  readonly compare: string
  readonly format: (typeof DIFF_FORMATS)[number]
}

/** The most spans of both traces together. */
const MOST_SPANS = 20_000
const MOST_BYTES = 16 * MIB
/** The longest patch in a summary. */
const PATCH_BYTES = 65_536

/** The most elements of the tree paths of all spans together. */
const MOST_STEPS = 2_000_000

/** The differences between two traces, as Tempo's experimental endpoint answers. Throws BadQuestion if the traces are too large. */
export function* traceDiffJson(
  queries: CausewayQueries,
  { base, compare, format }: TraceDiffAsked,
  pagesOf: readonly [Pages<OutboxItem>, Pages<OutboxItem>],
): Generator<string> {
  const left = { spans: MOST_SPANS, bytes: MOST_BYTES, steps: MOST_STEPS }
  const sides: DiffTrace[] = []
  const keys = new SpanKeys()
  for (const [at, pages] of pagesOf.entries()) {
    const spans = yield* readSpans(queries, pages, left, keys)
    sides.push(placedTrace(at === 0 ? 'base' : 'compare', at === 0 ? base : compare, spans, left))
  }
  const [before, after] = sides
  if (!before?.count || !after?.count)
    throw new BadQuestion('the spans of one of these traces were pruned: ask for traces that are kept')
  const patch = patchOf(before, after)
  yield ''
  if (format === 'trace-patch-v0') {
    yield JSON.stringify(patch)
    return
  }
  const summary = summaryOf(patch, before, after)
  if (format === 'trace-summary-v0-native') {
    yield JSON.stringify(summary)
    return
  }
  const bytes = Buffer.byteLength(JSON.stringify(patch))
  yield JSON.stringify({
    version: format,
    summary,
    ...(bytes <= PATCH_BYTES ? { patch } : { patchOmitted: { bytes, reason: 'over_budget' } }),
  })
}

const TOO_LARGE = `both traces together may have at most ${MOST_SPANS} spans and ${MOST_BYTES} bytes`

function* readSpans(
  queries: CausewayQueries,
  pages: Pages<OutboxItem>,
  left: { spans: number; bytes: number },
  keys: SpanKeys,
): Generator<string, DiffSpan[]> {
  const renderer = new SpanRenderer(queries)
  const spans: DiffSpan[] = []
  for (const page of withFewEnvelopes(pages, queries)) {
    yield ''
    for (const item of page) {
      left.spans--
      left.bytes -= item.raw?.length ?? 0
      for (const { span, resource } of renderer.show(item)) {
        const one = diffSpan(span, resource, keys)
        // The service name is repeated for each span in the answer.
        left.bytes -= one.service.length
        spans.push(one)
      }
      if (left.spans < 0 || left.bytes < 0)
        throw new BadQuestion(`these traces are too large to compare: ${TOO_LARGE}; look at each by itself`)
    }
  }
  return spans
}

const ERROR = 'error'
const UNKNOWN = '<unknown>'
const MILLISECOND = 1_000_000n
/** The durations of a service count as changed if their sums differ by at least 1 ms and a twentieth. */
const DRIFT = { leastNs: MILLISECOND, parts: 20n }

const serviceOf = ({ service }: { readonly service: string }): string => service || UNKNOWN
const absolute = (value: bigint): bigint => (value < 0n ? -value : value)
const millis = (nanos: bigint): number => Number(nanos / MILLISECOND)
const direction = (delta: number): string => (delta > 0 ? 'increased' : delta < 0 ? 'decreased' : 'unchanged')
const lasting = ({ placed }: DiffTrace): bigint =>
  placed.reduce((sum, { span }) => sum + (span.durationNs ?? 0n), 0n)

/** From the first start to the last end of spans that have both. */
function envelopeOf({ placed }: DiffTrace): bigint {
  let [first, last]: (bigint | undefined)[] = [undefined, undefined]
  for (const { span } of placed) {
    if (span.durationNs === undefined) continue
    const endNs = span.startNs + span.durationNs
    if (first === undefined || span.startNs < first) first = span.startNs
    if (last === undefined || endNs > last) last = endNs
  }
  return first === undefined || last === undefined ? 0n : last - first
}

const errorsIn = ({ placed }: DiffTrace): number => placed.filter(({ span }) => span.status === ERROR).length

function sideOf(trace: DiffTrace): object {
  const root = trace.placed[0]?.span
  return {
    traceId: trace.traceId,
    ...(root?.service !== undefined && root.service !== '' && { rootService: root.service }),
    ...(root?.name !== undefined && root.name !== '' && { rootName: root.name }),
    spanCount: trace.count,
    errorSpanCount: errorsIn(trace),
    durationMs: millis(envelopeOf(trace)),
    sumSpanDurationMs: millis(lasting(trace)),
  }
}

interface Rollup {
  readonly name: string
  sumSpanDurationDeltaMs: number
  modified: number
  added: number
  removed: number
  newErrors: number
  resolvedErrors: number
}

function summaryOf(patch: Patch, base: DiffTrace, compare: DiffTrace): object {
  const reshaped = servicesReshaped(base, compare)
  const { rollups, changed } = rollupsOf(patch, base, compare)
  const latency = millis(envelopeOf(compare) - envelopeOf(base))
  const sum = millis(lasting(compare) - lasting(base))
  const errors = errorsIn(compare) - errorsIn(base)
  const spans = compare.count - base.count
  const { matchedSpans, addedSpans, removedSpans } = patch.stats
  const isReshaped = addedSpans > 0 || removedSpans > 0 || reshaped.size > 0
  return {
    version: 'trace-summary-v0-native',
    base: sideOf(base),
    compare: sideOf(compare),
    signals: {
      traceLatency: direction(latency),
      sumSpanDuration: direction(sum),
      errors: direction(errors),
      spanCount: direction(spans),
      structure: isReshaped ? 'changed' : 'unchanged',
    },
    trust: {
      matchedSpanRatio: matchedSpans / Math.max(base.count, compare.count),
      structureOverlap: matchedSpans / Math.min(base.count, compare.count),
    },
    stats: {
      traceLatencyDeltaMs: latency,
      sumSpanDurationDeltaMs: sum,
      spanCountDelta: spans,
      errorSpanDelta: errors,
      ...Object.fromEntries(COUNTED.map((name) => [name, patch.stats[name]])),
    },
    ...(patch.warnings.length > 0 && { warnings: patch.warnings }),
    changedServices: [...new Set([...changed, ...reshaped])].sort(),
    services: rollups,
  }
}

/** The services whose number of spans differs by name, kind or parent. */
function servicesReshaped(base: DiffTrace, compare: DiffTrace): Set<string> {
  const counts = new Map<string, { service: string; balance: number }>()
  for (const [trace, step] of [[base, 1] as const, [compare, -1] as const])
    for (const { span, keys } of trace.placed) {
      const count = counts.get(keys) ?? { service: serviceOf(span), balance: 0 }
      count.balance += step
      counts.set(keys, count)
    }
  return new Set([...counts.values()].filter(({ balance }) => balance !== 0).map(({ service }) => service))
}

function rollupsOf(
  { modified, added, removed }: Patch,
  base: DiffTrace,
  compare: DiffTrace,
): { rollups: Rollup[]; changed: Set<string> } {
  const rollups = new Map<string, Rollup>()
  const rollup = (name: string): Rollup => {
    const one = rollups.get(name) ?? {
      ...{ name, sumSpanDurationDeltaMs: 0, modified: 0, added: 0, removed: 0 },
      ...{ newErrors: 0, resolvedErrors: 0 },
    }
    rollups.set(name, one)
    return one
  }
  for (const { span, changes } of modified) {
    const one = rollup(serviceOf(span))
    one.modified++
    for (const { target, before, after } of changes) {
      if (target.type !== 'field' || target.name !== 'status') continue
      if (after === ERROR) one.newErrors++
      else if (before === ERROR) one.resolvedErrors++
    }
  }
  for (const { span } of added) {
    const one = rollup(serviceOf(span))
    one.added++
    if (span.status === ERROR) one.newErrors++
  }
  for (const { span } of removed) {
    const one = rollup(serviceOf(span))
    one.removed++
    if (span.status === ERROR) one.resolvedErrors++
  }
  const sums = new Map<string, { before: bigint; delta: bigint }>()
  for (const [trace, sign] of [[base, -1n] as const, [compare, 1n] as const])
    for (const { span } of trace.placed) {
      const { before, delta } = sums.get(serviceOf(span)) ?? { before: 0n, delta: 0n }
      const lasted = span.durationNs ?? 0n
      sums.set(serviceOf(span), {
        before: sign < 0n ? before + lasted : before,
        delta: delta + sign * lasted,
      })
    }
  for (const [service, { before, delta }] of sums) {
    const hasDrifted = absolute(delta) >= DRIFT.leastNs && absolute(delta) * DRIFT.parts >= before
    if (hasDrifted || rollups.has(service)) rollup(service).sumSpanDurationDeltaMs = millis(delta)
  }
  const sorted = [...rollups.values()].sort(
    (a, b) =>
      Math.abs(b.sumSpanDurationDeltaMs) - Math.abs(a.sumSpanDurationDeltaMs) ||
      b.newErrors - a.newErrors ||
      (a.name < b.name ? -1 : 1),
  )
  return { rollups: sorted, changed: new Set(rollups.keys()) }
}
