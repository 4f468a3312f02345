import {
  cpid,
  hexSpan,
  hexTrace,
  mergelogEvent,
  mergelogsRequest,
  spansRequest,
  type MergelogSketch,
  type SpanSketch,
} from '../../support/otlp-requests.ts'
import { traceOf } from '../../support/sent-spans.ts'
import type { SendableRequest } from '../../../lab/harness/clients/request-sender.ts'
import { drawBetween, shuffled } from '../../../lab/harness/seeded-random.ts'

/** Requests, and what must become of the spans in them. */
interface CascadeLoad {
  requests: SendableRequest[]
  spans: ExpectedSpan[]
}

export interface ExpectedSpan {
  /** As received: original trace id and span id in hex. */
  origin: string
  spanId: string
  /** The ids of the traces it must go to, sorted. */
  traces: string[]
}

type Item =
  { kind: 'mergelog'; mergelog: MergelogSketch } | { kind: 'span'; span: SpanSketch; traces: string[] }

const PER_CASCADE = 8

/**
 * Cascades in a drawn order, cut into small requests. In each, a change and its follower are merged with another change, so
 * that spans go to one trace, to two, inherit their CPID, or stay where they were.
 */
export function cascadeLoad(random: () => number, cascades: number, first = 1): CascadeLoad {
  const items = Array.from({ length: cascades }, (_, at) => itemsOf(first + at)).flat()
  const drawn = shuffled(random, items)
  const requests: SendableRequest[] = []
  while (drawn.length > 0)
    requests.push(...requestsOf(drawn.splice(0, drawBetween(random, 1, 4)), requests.length))
  const spans = items.flatMap((item) => (item.kind === 'span' ? [expectedOf(item.span, item.traces)] : []))
  return { requests, spans }
}

function itemsOf(number: number): Item[] {
  const id = (at: number): number => number * PER_CASCADE + at
  const [change, follower, other, merge] = [cpid(id(0)), cpid(id(1)), cpid(id(2)), cpid(id(3))]
  const trace = number * 2
  const spanOf = (at: number, traces: string[], sketch: Partial<SpanSketch>): Item => ({
    kind: 'span',
    span: { trace, id: id(at), ...sketch },
    traces: traces.sort(),
  })
  const mergelog: MergelogSketch = { new: merge, sources: [follower, other] }
  return [
    { kind: 'mergelog', mergelog: { new: change } },
    { kind: 'mergelog', mergelog: { new: follower, sources: [change] } },
    { kind: 'mergelog', mergelog: { new: other } },
    spanOf(0, [traceOf(change)], { cpid: change }),
    spanOf(1, [traceOf(change)], { cpid: follower, parent: id(0) }),
    spanOf(2, [traceOf(change)], { parent: id(1), name: 'inherits its CPID' }),
    spanOf(3, [traceOf(other)], { trace: trace + 1, cpid: other }),
    spanOf(4, [traceOf(change), traceOf(other)], {
      trace: trace + 1,
      cpid: merge,
      events: [mergelogEvent(mergelog)],
    }),
    spanOf(5, [hexTrace(trace)], { name: 'unattributed' }),
  ]
}

function requestsOf(items: readonly Item[], number: number): SendableRequest[] {
  const service = `controller-${number % 5}`
  const spans = items.flatMap((item) => (item.kind === 'span' ? [item.span] : []))
  const mergelogs = items.flatMap((item) => (item.kind === 'mergelog' ? [item.mergelog] : []))
  return [
    ...(mergelogs.length > 0
      ? [{ signal: 'logs' as const, bytes: mergelogsRequest(service, mergelogs) }]
      : []),
    ...(spans.length > 0 ? [{ signal: 'traces' as const, bytes: spansRequest(service, spans) }] : []),
  ]
}

function expectedOf(span: SpanSketch, traces: string[]): ExpectedSpan {
  return { origin: hexTrace(span.trace), spanId: hexSpan(span.id), traces }
}
