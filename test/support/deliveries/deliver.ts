import { mergelogEvent, mergelogsRequest, spansRequest, type SpanSketch } from '../otlp-requests.ts'
import type { TestWriter } from '../test-writer.ts'
import type { Delay, DrawnCascade, DrawnMergelog, DrawnSpan, Version, Way } from './drawn-cascade.ts'

export const WAIT_MS = 10_000

/** When each group begins to come. What one group takes is far less than lies between two. */
const GROUPS: readonly (readonly [Delay, number])[] = [
  ['none', 0],
  ['half', WAIT_MS / 2],
  ['double', 2 * WAIT_MS],
]

interface Item {
  readonly span?: DrawnSpan
  readonly mergelog?: DrawnMergelog
  readonly way: Way
}

/** What is looked at while a cascade is delivered. */
export interface Watch {
  /** These have been acknowledged. */
  acknowledged?(spans: readonly DrawnSpan[], mergelogs: readonly DrawnMergelog[], isLinked: boolean): void
  /** Before the last group: everything before has waited long enough. */
  beforeLatecomers?(): void
}

/** Sends a cascade as it was drawn, `stepMs` of time at once where nothing comes, and waits until nothing waits. */
export function deliver(writer: TestWriter, cascade: DrawnCascade, stepMs: number, watch: Watch = {}): void {
  const spans: DrawnSpan[] = []
  const mergelogs: DrawnMergelog[] = []
  const beganMs = writer.clock.monotonicMs()
  for (const [delay, fromMs] of GROUPS) {
    passUntil(writer, beganMs + fromMs, stepMs)
    if (delay === 'double') watch.beforeLatecomers?.()
    for (const request of requestsOf(cascade, delay)) {
      const ofRequest = request.flatMap(({ span }) => span ?? [])
      const records = request.flatMap(({ mergelog }) => mergelog ?? [])
      if (ofRequest.length > 0) writer.ingest('traces', spansRequest('controller', ofRequest.map(sketchOf)))
      if (records.length > 0) writer.ingest('logs', mergelogsRequest('controller', records.map(mergelogOf)))
      spans.push(...ofRequest)
      mergelogs.push(...records)
      watch.acknowledged?.(spans, mergelogs, false)
      const { isLinked, passesMs } = request.at(-1)?.way ?? { isLinked: true, passesMs: 0 }
      if (isLinked) {
        writer.link()
        watch.acknowledged?.(spans, mergelogs, true)
      }
      if (passesMs > 0) pass(writer, passesMs)
    }
  }
  passUntil(writer, writer.clock.monotonicMs() + 3 * WAIT_MS, stepMs)
}

function passUntil(writer: TestWriter, untilMs: number, atOnceMs: number): void {
  let stepMs = atOnceMs
  for (let left = untilMs - writer.clock.monotonicMs(); left > 0; left -= stepMs) {
    // Nothing happens any more.
    if (writer.rows('waiting') === 0) stepMs = left
    pass(writer, Math.min(left, stepMs))
  }
}

/** As the store's thread goes on: it looks for work, and does what there is. */
function pass(writer: TestWriter, ms: number): void {
  if (writer.writer.isLinkDue) writer.link()
  writer.clock.advance(ms)
  while (writer.writer.isAnythingDue()) writer.writer.expire(500)
}

/** In the drawn order; spans and log records travel apart. */
function requestsOf({ spans, mergelogs }: DrawnCascade, delay: Delay): Item[][] {
  const items: Item[] = [
    ...spans.map((span): Item & { delay: Delay } => ({ span, way: span.way, delay: span.delay })),
    ...mergelogs.map((mergelog) => ({ mergelog, way: mergelog.way, delay: mergelog.delay })),
  ]
    .filter((item) => item.delay === delay)
    .sort((a, b) => a.way.order - b.way.order)
  const requests: Item[][] = []
  let isNew = true
  let signal: string | undefined
  for (const item of items) {
    const of = item.span === undefined ? 'logs' : 'traces'
    if (isNew || of !== signal) requests.push([])
    requests.at(-1)?.push(item)
    isNew = item.way.isCut
    signal = of
  }
  return requests
}

function sketchOf({
  trace,
  id,
  parent,
  carries,
  observed,
  wrote,
  tells,
  startMs,
  endMs,
}: DrawnSpan): SpanSketch {
  return {
    trace,
    id,
    ...(parent !== undefined && { parent }),
    ...(carries !== undefined && { cpid: carries }),
    start: startMs,
    end: endMs,
    attributes: { 'cpid.observed': observed.map(textOf), 'cpid.wrote': wrote.map(textOf) },
    events: tells.map((mergelog) => mergelogEvent(mergelogOf(mergelog))),
  }
}

const textOf = ({ object, version }: Version): string => `${object}?rv=${version}`

function mergelogOf({ cpid, sources, told }: DrawnMergelog): Parameters<typeof mergelogEvent>[0] {
  return { new: cpid, sources: [...sources], ...(told && { told }) }
}
