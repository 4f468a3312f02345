import { expect } from '@jest/globals'
import type { LinkingMode } from '../../../src/model/linker-settings-and-metrics.ts'
import { hexSpan } from '../otlp-requests.ts'
import type { SentSpan } from '../sent-spans.ts'
import { TestWriter } from '../test-writer.ts'
import { deliver, type Watch } from './deliver.ts'
import { cascadeOf, type CascadeSketch, type DrawnCascade } from './drawn-cascade.ts'
import { expectedChanges, heldChanges, misledInPlace } from './expected-changes.ts'
import { type ExpectedLog, expectedLogs, Held, readyLogs, sentPlace } from './expected-logs.ts'
import {
  expectedInTheEnd,
  Known,
  SOME_PARENT,
  traceAndSpan,
  type ExpectedPlace,
  type Place,
} from './expected-places.ts'
import { Shown } from './shown.ts'

/** How many cascades go into one database: opening it takes longer than they do. */
const IN_ONE = 40

/** Delivers cascades, and holds what backends have then against what they must have. */
export class Judge {
  readonly #mode: LinkingMode
  #writer: TestWriter | undefined
  #number = 0

  constructor(mode: LinkingMode) {
    this.#mode = mode
  }

  /** Delivers one, looking at what backends have before the latecomers come, and in the end. */
  async expectDelivered(sketch: CascadeSketch, stepMs: number): Promise<void> {
    await this.#withWriter((writer) => {
      expectDelivered(writer, this.#mode, cascadeOf(sketch, this.#number), stepMs)
    })
  }

  /** Delivers one, looking after each answer whether what it acknowledged is shown. */
  async expectShown(sketch: CascadeSketch, stepMs: number): Promise<void> {
    await this.#withWriter((writer) => {
      const shown = new Shown(writer)
      deliver(writer, cascadeOf(sketch, this.#number), stepMs, {
        acknowledged: (came, isLinked) => {
          shown.expectShown(came, isLinked)
        },
      })
    })
  }

  async #withWriter(work: (writer: TestWriter) => void): Promise<void> {
    const writer = await this.#writerOfNext()
    this.#writer = undefined
    work(writer)
    // What failed leaves something behind.
    this.#writer = writer
  }

  async #writerOfNext(): Promise<TestWriter> {
    if (this.#writer !== undefined && ++this.#number < IN_ONE) return this.#writer
    this.#writer?.[Symbol.dispose]()
    this.#number = 0
    return TestWriter.open({ linking: { mode: this.#mode, logs: true } })
  }

  [Symbol.dispose](): void {
    this.#writer?.[Symbol.dispose]()
  }
}

function expectDelivered(writer: TestWriter, mode: LinkingMode, cascade: DrawnCascade, stepMs: number): void {
  const [before, all] = [Known.byTime(mode, cascade), Known.everything(mode, cascade)]
  const began = writer.writer.lastDecisions
  let heldBefore = new Held([])
  const beforeLatecomers = (): void => {
    expect(waiting(writer)).toEqual({ spans: 0, logs: 0 })
    const sent = writer.sent(began.traces)
    heldBefore = new Held(sent.filter(isReceived))
    const expected = [...before.spans.values()].flatMap((span) => before.placesOf(span))
    const places = placesOf(sent, expected)
    expect(places).toEqual(sorted(expected.filter(isOwed(places))))
    expectLogs(
      writer,
      began.logs,
      expectedLogs(cascade, { before, all, heldBefore, held: heldBefore }).filter(({ isByTime }) => isByTime),
    )
    if (mode !== 'cascade') expect(heldChanges(sent)).toEqual(expectedChanges(before))
    if (mode === 'passthrough') expect(misledInPlace(sent, before, before)).toEqual([])
  }
  deliver(writer, cascade, stepMs, { beforeLatecomers, ...leavesAtOnce(writer, mode) })
  expect(waiting(writer)).toEqual({ spans: 0, logs: 0 })
  const sent = writer.sent(began.traces)
  const { exactly, also, allowed } = expectedInTheEnd(before, all)
  const places = placesOf(sent, exactly)
  const wanted = new Set([...exactly.map(traceAndSpan), ...also])
  const heldPlaces = new Set(places)
  const pairs = places.map((place) => place.split(' ').slice(0, 2).join(' '))
  const held = new Held(sent.filter(isReceived))
  expect({
    missing: [
      ...sorted(exactly.filter(isOwed(places))).filter((place) => !heldPlaces.has(place)),
      ...also.filter((pair) => !pairs.includes(pair)),
    ],
    lost: [...all.spans.values()].filter((span) => held.tracesOf(span).length === 0),
    besides: pairs.filter((pair) => !wanted.has(pair) && !allowed.has(pair)),
    twice: repeated(pairs),
    notOnceUncopied: notOnceUncopied(sent),
  }).toEqual({ missing: [], lost: [], besides: [], twice: [], notOnceUncopied: [] })
  expectLogs(writer, began.logs, expectedLogs(cascade, { before, all, heldBefore, held }))
  if (mode !== 'cascade') expect(heldChanges(sent)).toEqual(expectedChanges(all))
  if (mode === 'passthrough') expect(misledInPlace(sent, before, all)).toEqual([])
}

/** Looks whether log records that wait for nothing any more have been sent, and in mode `links` whatever has a CPID. */
function leavesAtOnce(writer: TestWriter, mode: LinkingMode): Watch {
  let position = writer.writer.lastDecisions
  const left = new Set<string>()
  return {
    acknowledged: (came, isLinked) => {
      if (!isLinked) return
      for (const { spanId } of writer.sent(position.traces)) left.add(spanId)
      for (const log of writer.sentLogs(position.logs)) left.add(sentPlace(log).what)
      position = writer.writer.lastDecisions
      const known = new Known(mode, came.spans, came.mergelogs)
      const free = came.spans.filter((span) => mode === 'links' && known.cpidOf(span) !== undefined)
      const ready = [...free.map(({ id }) => hexSpan(id)), ...readyLogs(came, known, left)]
      expect(ready.filter((one) => !left.has(one))).toEqual([])
    },
  }
}

const waiting = (writer: TestWriter): Record<string, number> => ({
  spans: writer.rows('waiting'),
  logs: writer.rows('waiting_logs'),
})

/** Each has been sent once, to a place where it may be. */
function expectLogs(writer: TestWriter, after: number, expected: readonly ExpectedLog[]): void {
  const sent = writer.sentLogs(after).map(sentPlace)
  expect(sent.map(({ what }) => what).sort()).toEqual(expected.map(({ what }) => what).sort())
  const misplaced = sent.filter(
    ({ what, place }) => !expected.some((one) => one.what === what && one.places.includes(place)),
  )
  expect(
    misplaced.map((one) => ({ ...one, allowed: expected.find(({ what }) => what === one.what)?.places })),
  ).toEqual([])
}

/** A place that is optional must be right if the span is in the trace. */
const isOwed =
  (places: readonly string[]) =>
  (place: ExpectedPlace): boolean =>
    !place.isOptional || places.some((held) => held.startsWith(`${traceAndSpan(place)} `))

const isReceived = ({ attributes }: SentSpan): boolean => attributes['cpid.synthetic'] !== true

/** The received spans among those sent, as `trace span under parent`. */
function placesOf(sent: readonly SentSpan[], expected: readonly Place[]): string[] {
  const open = new Set(expected.filter(({ parent }) => parent === SOME_PARENT).map(traceAndSpan))
  const changes = new Map(
    sent.flatMap((span) =>
      isReceived(span)
        ? []
        : [[`${span.traceId} ${span.spanId}`, `the change of ${String(span.attributes['cpid.id'])}`]],
    ),
  )
  return sorted(
    sent.filter(isReceived).map(({ traceId, spanId, parentSpanId }) => ({
      trace: traceId,
      span: spanId,
      parent: open.has(traceAndSpan({ trace: traceId, span: spanId }))
        ? SOME_PARENT
        : (changes.get(`${traceId} ${parentSpanId}`) ?? parentSpanId),
    })),
  )
}

const sorted = (places: readonly Place[]): string[] =>
  places.map((place) => `${traceAndSpan(place)} under ${place.parent}`).sort()

const repeated = (texts: readonly string[]): string[] =>
  texts.filter((text, at) => texts.indexOf(text) !== at)

/** Of everything that was received exactly one occurrence is no copy, so that figures made of spans are right. */
function notOnceUncopied(sent: readonly SentSpan[]): string[] {
  const uncopied = new Map<string, number>()
  for (const span of sent.filter(isReceived)) {
    const count = uncopied.get(span.spanId) ?? 0
    uncopied.set(span.spanId, span.attributes['cpid.copy'] === true ? count : count + 1)
  }
  return [...uncopied].flatMap(([id, count]) => (count === 1 ? [] : [`${id}: ${count}`]))
}
