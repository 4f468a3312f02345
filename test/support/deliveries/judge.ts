import { expect } from '@jest/globals'
import type { SentSpan } from '../sent-spans.ts'
import type { TestWriter } from '../test-writer.ts'
import { deliver } from './deliver.ts'
import type { DrawnCascade } from './drawn-cascade.ts'
import { expectedInTheEnd, Known, traceAndSpan, type Place } from './expected-places.ts'

/** Delivers a cascade, and holds what backends have in the end, and before the latecomers, against what must be there. */
export function expectDelivered(writer: TestWriter, cascade: DrawnCascade, stepMs: number): void {
  const byTime = Known.byTime(cascade)
  deliver(writer, cascade, stepMs, {
    beforeLatecomers: () => {
      expect(writer.rows('waiting')).toBe(0)
      const expected = [...byTime.spans.values()].flatMap((span) => byTime.placesOf(span))
      expect(placesOf(writer.sent())).toEqual(sorted(expected))
    },
  })
  expect(writer.rows('waiting')).toBe(0)
  const sent = writer.sent()
  const places = placesOf(sent)
  const { exactly, also, allowed } = expectedInTheEnd(cascade)
  const wanted = new Set([...exactly.map(traceAndSpan), ...also])
  const held = new Set(places)
  expect({
    missing: [
      ...sorted(exactly).filter((place) => !held.has(place)),
      ...also.filter((pair) => !places.some((place) => place.startsWith(pair))),
    ],
    besides: places.filter((place) => {
      const pair = place.split(' ').slice(0, 2).join(' ')
      return !wanted.has(pair) && !allowed.has(pair)
    }),
    twice: repeated(places.map((place) => place.split(' ').slice(0, 2).join(' '))),
    notOnceUncopied: notOnceUncopied(sent),
  }).toEqual({ missing: [], besides: [], twice: [], notOnceUncopied: [] })
}

const isReceived = ({ attributes }: SentSpan): boolean => attributes['cpid.synthetic'] !== true

/** The received spans among those sent, as `trace span under parent`. */
function placesOf(sent: readonly SentSpan[]): string[] {
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
      parent: changes.get(`${traceId} ${parentSpanId}`) ?? parentSpanId,
    })),
  )
}

const sorted = (places: readonly Place[]): string[] =>
  places.map((place) => `${traceAndSpan(place)} under ${place.parent}`).sort()

const repeated = (texts: readonly string[]): string[] => texts.filter((text, at) => texts.indexOf(text) !== at)

/** Of everything that was received exactly one occurrence is no copy, so that figures made of spans are right. */
function notOnceUncopied(sent: readonly SentSpan[]): string[] {
  const uncopied = new Map<string, number>()
  for (const span of sent.filter(isReceived)) {
    const count = uncopied.get(span.spanId) ?? 0
    uncopied.set(span.spanId, span.attributes['cpid.copy'] === true ? count : count + 1)
  }
  return [...uncopied].flatMap(([id, count]) => (count === 1 ? [] : [`${id}: ${count}`]))
}
