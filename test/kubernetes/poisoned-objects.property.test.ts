import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { recordedLines } from '../../lab/harness/inference/rollout-recording.ts'
import type { Json, JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvents } from '../../src/kube/objects/audit-events.ts'
import {
  readAdmissionReview,
  readEvent,
  readObjectFacts,
  readWatchEvent,
} from '../../src/kube/objects/observations.ts'
import type { CustomReference, ReadingRules } from '../../src/model/kubernetes-objects.ts'

const RUNS = process.env.CAUSEWAY_ATTACK === '1' ? 500 : 30
/** More than an API server takes. */
const DEPTH = 20_000
const WIDTH = 20_000

const deep = (depth: number, end: Json = 'end'): Json =>
  JSON.parse(`${'{"a":['.repeat(depth)}${JSON.stringify(end)}${']}'.repeat(depth)}`) as Json

const poisons: fc.Arbitrary<Json> = fc.oneof(
  fc.integer({ min: 150, max: DEPTH }).map((depth) => deep(depth)),
  fc.constant(Array<Json>(WIDTH).fill({})),
  fc.constant(Object.fromEntries(Array.from({ length: WIDTH }, (_, at) => [`k${at}`, at]))),
  fc.constant('x'.repeat(1_000_000)),
  fc.constantFrom<Json>(null, 0, -1, true, '', [], {}, [[]], [null], { '': null }, '__proto__', 1e308),
  fc.jsonValue().map((value) => value as Json),
)

/** Every place in an object, as the keys on the way there. */
function placesIn(value: Json, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, one]) => placesIn(one, [...path, key]))]
}

/** The same with something else in one place. */
function poisoned(value: Json, [key, ...rest]: readonly string[], poison: Json): Json {
  if (key === undefined) return poison
  if (Array.isArray(value))
    return value.map((one, at) => (String(at) === key ? poisoned(one, rest, poison) : one))
  const object = value as JsonObject
  return { ...object, [key]: poisoned(object[key] ?? null, rest, poison) }
}

const CUSTOM: readonly CustomReference[] = ['pods', 'deployments', 'endpointslices'].map((resource) => ({
  ...{ resource, field: 'custom', of: 'others', path: ['spec', '*', 'a', '*', 'name'] },
}))
const RULES: ReadingRules = { references: CUSTOM, fieldValues: 'all' }

const watched = recordedLines('watch')
const audited = recordedLines('audit')
/** One of each kind of thing that a source tells. */
const oneOfEach = (lines: readonly JsonObject[], kindOf: (line: JsonObject) => string): JsonObject[] => [
  ...new Map(lines.map((line) => [kindOf(line), line])).values(),
]
const kindOfObject = (line: JsonObject): string => (line.object as { kind: string }).kind
const WATCH = oneOfEach(watched, kindOfObject)
const AUDIT = oneOfEach(
  audited,
  ({ verb, objectRef }) => `${JSON.stringify(verb)} ${JSON.stringify((objectRef as JsonObject).resource)}`,
)
const COLLECTION = AUDIT.slice(0, 1).map((event): JsonObject => {
  const items = WATCH.map(({ object }) => object ?? null)
  const answer = { kind: 'PodList', metadata: {}, items }
  return { ...event, verb: 'deletecollection', responseObject: answer }
})
const REVIEWS = WATCH.map(({ object }): JsonObject => ({
  request: {
    ...{
      uid: 'u',
      operation: 'UPDATE',
      resource: { group: '', version: 'v1', resource: 'pods' },
      name: 'web',
    },
    ...{
      namespace: 'shop',
      userInfo: { username: 'ann' },
      object: object ?? null,
      oldObject: object ?? null,
    },
  },
}))
const EVENTS: JsonObject[] = [
  {
    ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event', reason: 'Scheduled', note: 'placed', type: 'Normal' },
    metadata: { name: 'e', namespace: 'shop', uid: 'e', resourceVersion: '7' },
    regarding: {
      apiVersion: 'v1',
      kind: 'Pod',
      namespace: 'shop',
      name: 'web',
      uid: 'p',
      resourceVersion: '6',
    },
    ...{
      series: { count: 2, lastObservedTime: '2026-01-01T00:00:00Z' },
      related: { kind: 'Node', name: 'n' },
    },
  },
]

const READERS: [string, readonly JsonObject[], (one: JsonObject) => unknown][] = [
  ['watch event', WATCH, (one) => readWatchEvent(one, 0n, undefined, RULES)],
  ['audit event', AUDIT, (one) => readAuditEvents(one, RULES)],
  ['audit event of a collection', COLLECTION, (one) => readAuditEvents(one, RULES)],
  ['AdmissionReview', REVIEWS, (one) => readAdmissionReview(one, { seenNs: 0n, traceparent: '' })],
  ['Event', EVENTS, (one) => readEvent(one, 0n)],
]

test.each(READERS)(
  'whatever stands in whatever place of a %s, it is read, and what is kept of it is bounded',
  (_, all, read) => {
    const sample = fc
      .constantFrom(...all)
      .chain((one) => fc.tuple(fc.constant(one), fc.constantFrom(...placesIn(one)), poisons))
    fc.assert(
      fc.property(sample, ([one, place, poison]) => {
        const whole = poisoned(one, place, poison)
        if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) return
        const kept = JSON.stringify(read(whole), (_key, value: unknown) =>
          typeof value === 'bigint' ? `${value}` : value,
        )
        expect(kept.length).toBeLessThan(2_200_000)
      }),
      { numRuns: RUNS },
    )
  },
)

test('what is nested deep has its print: equal content the same, in any order of keys, other content another', () => {
  const printOf = (spec: Json): string | undefined =>
    readObjectFacts({ kind: 'Widget', metadata: { name: 'w' }, spec }).prints.authored
  for (const depth of [50, 99, 100, 101, 5_000, DEPTH]) {
    const print = printOf(deep(depth, { x: 1, y: 2 }))
    expect(printOf(deep(depth, { y: 2, x: 1 }))).toBe(print)
    expect(printOf(deep(depth, { x: 1, y: 3 }))).not.toBe(print)
    expect(printOf(deep(depth, { x: 1 }))).not.toBe(print)
    expect(printOf(deep(depth + 1, { x: 1, y: 2 }))).not.toBe(print)
  }
})
