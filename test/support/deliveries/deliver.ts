import { seededRandom } from '../../../lab/harness/seeded-random.ts'
import { encodedOtherwise } from '../encoded-otherwise.ts'
import {
  type LogSketch,
  logsRequest,
  mergelogEvent,
  mergelogsRequest,
  spansRequest,
  type SpanSketch,
} from '../otlp-requests.ts'
import type { TestWriter } from '../test-writer.ts'
import type {
  Delay,
  Delivery,
  DrawnCascade,
  DrawnLog,
  DrawnMergelog,
  DrawnSpan,
  Version,
  Way,
} from './drawn-cascade.ts'

const WAIT_MS = 10_000

/** When each group begins to come. What one group takes is far less than lies between two. */
const GROUPS: readonly (readonly [Delay, number])[] = [
  ['none', 0],
  ['half', WAIT_MS / 2],
  ['double', 2 * WAIT_MS],
]

interface Item extends Delivery {
  readonly span?: DrawnSpan
  readonly mergelog?: DrawnMergelog
  readonly log?: DrawnLog
}

/** What is looked at while a cascade is delivered. */
export interface Watch {
  /** This much of it has been acknowledged. */
  acknowledged?(came: DrawnCascade, isLinked: boolean): void
  /** Before the last group: everything before has waited long enough. */
  beforeLatecomers?(): void
}

/** Sends a cascade as it was drawn, `stepMs` of time at once where nothing comes, and waits until nothing waits. */
export function deliver(writer: TestWriter, cascade: DrawnCascade, stepMs: number, watch: Watch = {}): void {
  const spans = new Set<DrawnSpan>()
  const mergelogs = new Set<DrawnMergelog>()
  const logs = new Set<DrawnLog>()
  const came = (): DrawnCascade => ({ spans: [...spans], mergelogs: [...mergelogs], logs: [...logs] })
  const beganMs = writer.clock.monotonicMs()
  for (const [delay, fromMs] of GROUPS) {
    passUntil(writer, beganMs + fromMs, stepMs)
    if (delay === 'double') watch.beforeLatecomers?.()
    for (const request of requestsOf(cascade, delay)) {
      const last = request.at(-1)?.way
      if (last === undefined) continue
      send(writer, request, last)
      for (const { span, mergelog, log } of request) {
        if (span !== undefined) spans.add(span)
        if (mergelog !== undefined) mergelogs.add(mergelog)
        if (log !== undefined) logs.add(log)
      }
      watch.acknowledged?.(came(), false)
      if (last.isLinked) {
        writer.link()
        watch.acknowledged?.(came(), true)
      }
      if (last.passesMs > 0) pass(writer, last.passesMs)
    }
  }
  passUntil(writer, writer.clock.monotonicMs() + 3 * WAIT_MS, stepMs)
}

function send(writer: TestWriter, request: readonly Item[], { encoding, order }: Way): void {
  const spans = request.flatMap(({ span }) => span ?? [])
  const signal = spans.length > 0 ? 'traces' : 'logs'
  const bytes =
    signal === 'traces'
      ? spansRequest('controller', spans.map(sketchOf))
      : // Requests put behind each other are one request.
        Buffer.concat(request.map(({ mergelog, log }) => recordOf(mergelog, log)))
  writer.ingest(signal, encodedOtherwise(signal, bytes, encoding, seededRandom(order)))
}

function recordOf(mergelog: DrawnMergelog | undefined, log: DrawnLog | undefined): Buffer {
  if (mergelog !== undefined) return mergelogsRequest('controller', [mergelogOf(mergelog)])
  return logsRequest('controller', log === undefined ? [] : [logOf(log)])
}

function passUntil(writer: TestWriter, untilMs: number, atOnceMs: number): void {
  let stepMs = atOnceMs
  for (let left = untilMs - writer.clock.monotonicMs(); left > 0; left -= stepMs) {
    // Nothing happens any more.
    if (writer.rows('waiting') === 0) stepMs = left
    pass(writer, Math.min(left, stepMs))
  }
}

/** As the store's thread goes on: it looks for work, and does what there is, in steps that end after a few items. */
function pass(writer: TestWriter, ms: number): void {
  let asked = ms
  const mayGoOn = (): boolean => asked++ % 4 > 0
  if (writer.writer.isLinkDue) writer.link(mayGoOn)
  writer.clock.advance(ms)
  while (writer.writer.reader.isAnythingDue()) writer.writer.linking.expire(500, mayGoOn)
}

/** In the drawn order; spans and log records travel apart. */
function requestsOf({ spans, mergelogs, logs }: DrawnCascade, delay: Delay): Item[][] {
  const items: Item[] = [
    ...spans.flatMap((span) => deliveriesOf(span).map((one) => ({ span, ...one }))),
    ...mergelogs.flatMap((mergelog) => deliveriesOf(mergelog).map((one) => ({ mergelog, ...one }))),
    ...logs.flatMap((log) => deliveriesOf(log).map((one) => ({ log, ...one }))),
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

const deliveriesOf = (one: DrawnSpan | DrawnMergelog | DrawnLog): Delivery[] =>
  [one, ...one.again].map(({ delay, way }) => ({ delay, way }))

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

function logOf({ body, trace, id, carries, ancestors }: DrawnLog): LogSketch {
  return {
    body,
    ...(trace !== undefined && { trace }),
    ...(id !== undefined && { span: id }),
    ...(carries !== undefined && { cpid: carries }),
    ...(ancestors.length > 0 && { attributes: { 'cpid.ancestors': ancestors } }),
  }
}
