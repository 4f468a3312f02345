import type { Cascade } from '../../../src/query/answer-schemas.ts'
import { FAILED, type SpanRows } from './span-rows.ts'
import { marksOf } from './span-table.tsx'

/** An event of Chrome's trace format. Times are in microseconds. */
type ChromeEvent =
  | {
      readonly ph: 'M'
      readonly name: 'process_name' | 'thread_name'
      readonly pid: number
      readonly tid?: number
      readonly args: { readonly name: string }
    }
  | {
      readonly ph: 'X'
      readonly name: string
      readonly cat: string
      readonly pid: number
      readonly tid: number
      readonly ts: number
      readonly dur: number
      readonly args: Readonly<Record<string, unknown>>
    }

const PROCESS = 1

/**
 * The spans that are drawn, in Chrome's trace format, which Perfetto opens. Each service is a thread. Where spans of a service overlap
 * and are not inside one another it has further threads, since viewers drop such spans.
 */
export function chromeTrace(
  { root, start }: Pick<Cascade, 'root' | 'start'>,
  rows: SpanRows,
): { displayTimeUnit: 'ms'; otherData: object; traceEvents: readonly ChromeEvent[] } {
  const times = timesOf(rows)
  const { threads, names } = threadsOf(rows, times)
  const traceEvents: ChromeEvent[] = [
    { ph: 'M', name: 'process_name', pid: PROCESS, args: { name: `cascade ${root}` } },
  ]
  for (const [tid, name] of names.entries())
    traceEvents.push({ ph: 'M', name: 'thread_name', pid: PROCESS, tid, args: { name } })
  for (const [at, span] of rows.spans.entries()) {
    const { name, spanId, cpid, cluster, user, wrote, observed, waitMs, status } = span
    const { startNs, endNs } = times[at] ?? NO_TIME
    traceEvents.push({
      ...{ ph: 'X', name, cat: marksOf(span).join(','), pid: PROCESS, tid: threads[at] ?? 0 },
      ...{ ts: startNs / 1_000, dur: (endNs - startNs) / 1_000 },
      args: {
        ...{ spanId, traceId: rows.traces[rows.traceOf[at] ?? 0]?.traceId, cpid, cluster, user },
        ...{ wrote, observed, waitMs, ...(status === FAILED && { failed: true }) },
      },
    })
  }
  return { displayTimeUnit: 'ms', otherData: { root, start }, traceEvents }
}

interface SpanTime {
  readonly startNs: number
  readonly endNs: number
}

const NO_TIME: SpanTime = { startNs: 0, endNs: 0 }

/** In whole nanoseconds, so that rounding puts no end after that of the span around it. Viewers take no time below zero. */
function timesOf({ spans }: SpanRows): SpanTime[] {
  const fromMs = spans.reduce((least, { offsetMs }) => Math.min(least, offsetMs), 0)
  return spans.map(({ offsetMs, durationMs }) => ({
    startNs: Math.round((offsetMs - fromMs) * 1e6),
    endNs: Math.round((offsetMs - fromMs + durationMs) * 1e6),
  }))
}

/** The number of each span's thread, and the names of the threads. */
function threadsOf({ spans, parents }: SpanRows, times: readonly SpanTime[]) {
  const threads = new Int32Array(spans.length).fill(-1)
  const names: string[] = []
  /** Of each thread, the spans around the present time, the outermost first. */
  const around: number[][] = []
  const ofService = new Map<string, { count: number; free: number[] }>()
  const serviceOf = (at: number): string => spans[at]?.service ?? ''
  const startOf = (at: number): number => times[at]?.startNs ?? 0
  const endOf = (at: number): number => times[at]?.endNs ?? 0

  const threadOfParent = (at: number): number | undefined => {
    const parent = parents[at] ?? -1
    const outside = around[threads[parent] ?? -1]
    if (outside === undefined || serviceOf(parent) !== serviceOf(at)) return undefined
    while (outside.length > 1 && endOf(outside.at(-1) ?? -1) <= startOf(at)) outside.pop()
    return outside.at(-1) === parent && endOf(at) <= endOf(parent) ? threads[parent] : undefined
  }
  const freeThread = (service: string): number => {
    const own = ofService.get(service) ?? { count: 0, free: [] }
    ofService.set(service, own)
    const free = own.free.pop()
    if (free !== undefined) return free
    own.count++
    return names.push(own.count === 1 ? service : `${service} (${own.count})`) - 1
  }

  const byStart = [...spans.keys()].sort((a, b) => startOf(a) - startOf(b))
  const byEnd = [...spans.keys()].sort((a, b) => endOf(a) - endOf(b))
  let ended = 0
  for (const at of byStart) {
    for (let over = byEnd[ended] ?? -1; endOf(over) <= startOf(at); over = byEnd[++ended] ?? -1) {
      const thread = threads[over] ?? -1
      if (thread === -1) break
      if (around[thread]?.[0] !== over) continue
      ofService.get(serviceOf(over))?.free.push(thread)
      around[thread] = []
    }
    const inside = threadOfParent(at)
    const thread = inside ?? freeThread(serviceOf(at))
    threads[at] = thread
    if (inside === undefined) around[thread] = [at]
    else around[thread]?.push(at)
  }
  return { threads, names }
}
