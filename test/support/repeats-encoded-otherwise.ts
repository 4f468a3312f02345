import { expect } from '@jest/globals'
import fc from 'fast-check'
import { seededRandom } from '../../lab/harness/seeded-random.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { type Json, jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import { encodedOtherwise, ENCODINGS } from './encoded-otherwise.ts'
import { cpid, hexSpan, hexTrace, nanosAfter } from './otlp-requests.ts'
import { sentLogs } from './sent-logs.ts'
import { sentSpans } from './sent-spans.ts'
import { TestWriter } from './test-writer.ts'

/** What is drawn of a span or log record. Two that differ in anything are two; `what` says all of it. */
interface Drawn {
  readonly what: string
  readonly resource: Json
  readonly scope: Json
  readonly record: Json
}

const text = (value: string): Json => ({ stringValue: value })
const attribute = (key: string, value: Json): Json => ({ key, value })

const ids = fc.record({ trace: fc.integer({ min: 1, max: 2 }), id: fc.integer({ min: 1, max: 3 }) })
const detail = fc.constantFrom<Json>(
  text('a'),
  text('b'),
  { intValue: '0' },
  { boolValue: false },
  { arrayValue: { values: [text('x'), text('y')] } },
  { arrayValue: { values: [text('y'), text('x')] } },
  { kvlistValue: { values: [attribute('m', text('1')), attribute('n', { doubleValue: 1.5 })] } },
  { bytesValue: 'AAE=' },
)
const from = fc.record({ service: fc.constantFrom('client', 'server'), scope: fc.constantFrom('', 'lib') })
const carried = fc.option(fc.constantFrom(1, 2), { nil: undefined })

const whatIs = (drawn: unknown): string =>
  JSON.stringify(drawn, (_, value: unknown) => (value === undefined ? 'none' : value))

const sentBy = ({ service, scope }: { service: string; scope: string }): { resource: Json; scope: Json } => ({
  resource: {
    attributes: [
      attribute('service.name', text(service)),
      attribute('host.name', text('h')),
      attribute('z', text('')),
    ],
  },
  scope: scope === '' ? {} : { name: scope, version: '1' },
})

const attributesOf = (of: { detail: Json; carried: number | undefined }, what: string): Json[] => [
  attribute('what', text(what)),
  attribute('detail', of.detail),
  attribute('empty', {}),
  ...(of.carried === undefined ? [] : [attribute('cpid.id', text(cpid(of.carried)))]),
]

const aSpan: fc.Arbitrary<Drawn> = fc
  .record({
    ids,
    detail,
    from,
    carried,
    kind: fc.constantFrom(0, 2, 3),
    events: fc.shuffledSubarray(['p', 'q']),
  })
  .map((drawn) => {
    const what = whatIs(drawn)
    return {
      what,
      ...sentBy(drawn.from),
      record: {
        traceId: hexTrace(drawn.ids.trace),
        spanId: hexSpan(drawn.ids.id),
        name: `span ${drawn.ids.id}`,
        kind: drawn.kind,
        startTimeUnixNano: nanosAfter(drawn.ids.id),
        endTimeUnixNano: nanosAfter(drawn.ids.id + 1),
        attributes: attributesOf(drawn, what),
        events: drawn.events.map((name) => ({ name, timeUnixNano: '5' })),
      },
    }
  })

const aLog: fc.Arbitrary<Drawn> = fc
  .record({ ids: fc.option(ids), detail, from, carried, severity: fc.constantFrom(0, 9) })
  .map((drawn) => {
    const what = whatIs(drawn)
    return {
      what,
      ...sentBy(drawn.from),
      record: {
        timeUnixNano: nanosAfter(1),
        severityNumber: drawn.severity,
        body: drawn.detail,
        attributes: attributesOf(drawn, what),
        ...(drawn.ids !== null && { traceId: hexTrace(drawn.ids.trace), spanId: hexSpan(drawn.ids.id) }),
      },
    }
  })

const sendings = fc.array(
  fc.record({
    which: fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
    encoding: fc.constantFrom(...ENCODINGS),
    seed: fc.nat(),
    links: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8 },
)

const lists = {
  traces: { ofResources: 'resourceSpans', ofScopes: 'scopeSpans', ofRecords: 'spans' },
  logs: { ofResources: 'resourceLogs', ofScopes: 'scopeLogs', ofRecords: 'logRecords' },
} as const

function requestOf(signal: 'traces' | 'logs', drawn: readonly Drawn[]): Buffer {
  const { ofResources, ofScopes, ofRecords } = lists[signal]
  const request = {
    [ofResources]: drawn.map(({ resource, scope, record }) => ({
      resource,
      [ofScopes]: [{ scope, [ofRecords]: [record] }],
    })),
  }
  return Buffer.from(protobufOfJson(signal, Buffer.from(JSON.stringify(request))))
}

interface ShownRecord {
  attributes?: { key: string; value?: { stringValue?: string } }[]
}

const whatOf = ({ attributes = [] }: ShownRecord): string =>
  attributes.find(({ key }) => key === 'what')?.value?.stringValue ?? ''

/**
 * Draws spans or log records of which many have the same ids, and sends each any number of times, batched and encoded otherwise:
 * each is stored, shown and sent once, and all that differ are kept.
 */
export async function checkRepeats(signal: 'traces' | 'logs', numRuns: number): Promise<void> {
  const one = signal === 'traces' ? aSpan : aLog
  const several = fc.uniqueArray(one, { minLength: 1, maxLength: 6, selector: ({ what }) => what })
  await fc.assert(
    fc.asyncProperty(several, sendings, async (drawn, sent) => {
      using writer = await TestWriter.open({ linking: { logs: true } })
      writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2) }])
      writer.link()
      const before = writer.rows('logs')
      const expected = new Set<string>()
      for (const { which, encoding, seed, links } of sent) {
        const chosen = which.flatMap((at) => drawn[at % drawn.length] ?? [])
        for (const { what } of chosen) expected.add(what)
        writer.ingest(
          signal,
          encodedOtherwise(signal, requestOf(signal, chosen), encoding, seededRandom(seed)),
        )
        expect(shown(writer, signal)).toEqual([...expected].sort())
        if (links) writer.link()
      }
      writer.pass(11_000)
      expect(shown(writer, signal)).toEqual([...expected].sort())
      expect(received(writer, signal)).toEqual([...expected].sort())
      expect(writer.rows(signal === 'traces' ? 'spans' : 'logs')).toBe(
        expected.size + (signal === 'logs' ? before : 0),
      )
    }),
    { numRuns },
  )
}

const isDrawn = (what: unknown): boolean => typeof what === 'string' && what !== ''

/** What the API shows. */
function shown(writer: TestWriter, signal: 'traces' | 'logs'): string[] {
  const pages = signal === 'traces' ? writer.queries().spans(undefined) : writer.queries().logs(undefined)
  const message = signal === 'traces' ? 'Span' : 'LogRecord'
  const records = [...pages].flat().map(({ raw }) => jsonOfProtobuf(message, raw) as ShownRecord)
  return records.map(whatOf).filter(isDrawn).sort()
}

/** What backends receive. */
function received({ db }: TestWriter, signal: 'traces' | 'logs'): unknown[] {
  const sent = signal === 'traces' ? sentSpans(db) : sentLogs(db)
  return sent
    .map(({ attributes }) => attributes['what'])
    .filter(isDrawn)
    .sort()
}
