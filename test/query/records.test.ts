import { expect, test } from '@jest/globals'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { SENT_PATCHED } from '../../src/model/outbox.ts'
import { answer } from '../../src/query/answer.ts'
import { cpid, hexSpan, hexTrace, nanosAfter } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { ask, id, inParts } from './asking.ts'
import { figureSeven } from './figure-seven.ts'

interface Groups {
  resourceSpans: {
    resource: { attributes: { value: { stringValue: string } }[] }
    scopeSpans: { scope: { name: string }; spans: { name: string; spanId: string; traceId: string }[] }[]
  }[]
  next?: string | null
}

const namesIn = (groups: Groups['resourceSpans']): string[] =>
  groups.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map((span) => span.name)))

test('spans of related CPIDs come as received, grouped by resource and scope', async () => {
  using writer = await figureSeven()
  const { resourceSpans, ...rest } = ask<Groups>(writer, { kind: 'spans', cpid: id(2), part: {} })
  expect(rest).toEqual({})
  expect(resourceSpans).toHaveLength(2)
  expect(resourceSpans[0]).toEqual({
    resource: { attributes: [{ key: 'service.name', value: { stringValue: 'even' } }] },
    scopeSpans: [
      {
        scope: { name: 'test' },
        spans: [
          {
            traceId: hexTrace(2),
            spanId: hexSpan(2),
            name: 'work of 2',
            kind: 1,
            startTimeUnixNano: nanosAfter(2),
            endTimeUnixNano: nanosAfter(12),
            attributes: [{ key: 'cpid.id', value: { stringValue: cpid(2) } }],
          },
        ],
      },
    ],
  })
  expect(namesIn(resourceSpans)).toEqual(['work of 2', 'work of 3', 'work of 5', 'work of 7'])
})

test('what was received stays as it was, envelope and record, whatever linking made of it', async () => {
  using writer = await TestWriter.open()
  const resourceSpans = [
    {
      resource: {
        attributes: [
          { key: 'service.name', value: { stringValue: 'α' } },
          { key: 'deep', value: { kvlistValue: { values: [{ key: 'a', value: { bytesValue: 'AAEC' } }] } } },
        ],
        droppedAttributesCount: 3,
      },
      scopeSpans: [
        {
          scope: { name: 'lib', version: '1', attributes: [{ key: 'x', value: { doubleValue: 0.5 } }] },
          spans: [
            {
              traceId: hexTrace(7),
              spanId: 'ffffffffffffffff',
              traceState: 'a=b',
              parentSpanId: hexSpan(1),
              name: 'reconcile "x"\n',
              kind: 3,
              startTimeUnixNano: '18446744073709551615',
              endTimeUnixNano: '18446744073709551615',
              attributes: [
                { key: 'cpid.id', value: { stringValue: cpid(1) } },
                { key: 'n', value: { intValue: '-9223372036854775808' } },
              ],
              events: [{ timeUnixNano: '5', name: 'e' }],
              links: [{ traceId: hexTrace(8), spanId: hexSpan(9), flags: 1 }],
              droppedLinksCount: 2,
              status: { message: 'no', code: 2 },
              flags: 257,
            },
          ],
          schemaUrl: 'https://scope',
        },
      ],
      schemaUrl: 'https://resource',
    },
  ]
  writer.ingest(
    'traces',
    Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify({ resourceSpans })))),
  )
  writer.pass(400_000)
  expect(ask(writer, { kind: 'spans', cpid: id(1), part: {} })).toEqual({ resourceSpans })
  expect(ask(writer, { kind: 'spans', part: { limit: 1 } })).toEqual({ resourceSpans, next: null })
})

test('logs of related CPIDs, mergelogs among them', async () => {
  using writer = await figureSeven()
  interface Logs {
    resourceLogs: { scopeLogs: { logRecords: { eventName: string; timeUnixNano: string }[] }[] }[]
  }
  const { resourceLogs } = ask<Logs>(writer, { kind: 'logs', cpid: id(6), part: {} })
  expect(resourceLogs[0]?.scopeLogs[0]?.logRecords.map((log) => [log.eventName, log.timeUnixNano])).toEqual([
    ['cpid.mergelog', nanosAfter(6)],
    ['cpid.mergelog', nanosAfter(7)],
  ])
  const parts = inParts(writer, { kind: 'logs', part: {} }, 'resourceLogs', 3)
  expect(parts).toHaveLength(3)
  expect(inParts(writer, { kind: 'logs', cpid: id(2), part: {} }, 'resourceLogs', 1)).toHaveLength(4)
})

test('spans can be read in parts of any size, each once', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('merger', [{ new: cpid(1) }, { new: cpid(2), sources: [cpid(1)], time: 1 }])
  // Span ids with the highest bit set are negative integers in the database.
  for (let at = 0; at < 60; at++) {
    const high = at % 3 === 0 ? 'f' : '0'
    const spanId = high + hexSpan(at + 1).slice(1)
    const span = { trace: (at % 5) + 1, id: at + 1, cpid: cpid((at % 2) + 1), name: spanId }
    const request = JSON.stringify({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId: hexTrace(span.trace),
                  spanId,
                  name: spanId,
                  attributes: [{ key: 'cpid.id', value: { stringValue: span.cpid } }],
                },
              ],
            },
          ],
        },
      ],
    })
    writer.ingest('traces', Buffer.from(protobufOfJson('traces', Buffer.from(request))))
  }
  const question = { kind: 'spans', cpid: id(1), part: {} } as const
  const whole = namesIn(ask<Groups>(writer, question).resourceSpans)
  expect(new Set(whole).size).toBe(60)
  for (const limit of [1, 7, 59, 60, 61]) {
    const parts = inParts<Groups['resourceSpans'][number]>(writer, question, 'resourceSpans', limit)
    expect(parts.map((part) => namesIn(part).length)).toEqual(
      Array.from({ length: Math.ceil(60 / limit) }, (_, at) => Math.min(limit, 60 - at * limit)),
    )
    expect(parts.flatMap(namesIn)).toEqual(whole)
  }
  const all = inParts<Groups['resourceSpans'][number]>(
    writer,
    { kind: 'spans', part: {} },
    'resourceSpans',
    25,
  )
  expect(all.map((part) => namesIn(part).length)).toEqual([25, 25, 10])
})

test('a span with something in it that is no protobuf is shown as far as it can be, with its bytes', async () => {
  using writer = await TestWriter.open()
  writer.spans('controller', [{ trace: 1, id: 2, parent: 1, cpid: cpid(1), name: 'whole' }])
  const raw = writer.db.prepare<[], Buffer>('SELECT raw FROM spans').pluck().get() ?? Buffer.alloc(0)
  const broken = Buffer.concat([raw, Buffer.from([0x4a, 2, 0x0a, 0x7f])])
  writer.db.prepare('UPDATE spans SET raw = ?').run(broken)
  const { resourceSpans } = ask<Groups>(writer, { kind: 'spans', cpid: id(1), part: {} })
  expect(resourceSpans[0]?.scopeSpans[0]?.spans).toEqual([
    {
      traceId: hexTrace(1),
      spanId: hexSpan(2),
      parentSpanId: hexSpan(1),
      name: 'whole',
      kind: 1,
      startTimeUnixNano: nanosAfter(2),
      endTimeUnixNano: nanosAfter(3),
      attributes: [{ key: 'cpid.undecodable', value: { bytesValue: broken.toString('base64') } }],
    },
  ])
})

test('20,000 spans come in small pieces, and writing goes on between them', async () => {
  using writer = await TestWriter.open()
  const spans = 20_000
  for (let from = 0; from < spans; from += 1000) {
    writer.spans(
      `service ${from / 1000}`,
      Array.from({ length: 1000 }, (_, at) => ({
        trace: ((from + at) % 300) + 1,
        id: from + at + 1,
        cpid: cpid(1),
      })),
    )
  }
  const answered = answer(writer.queries(), { kind: 'spans', cpid: id(1), part: {} })
  if (answered.kind !== 'found') throw new Error(answered.kind)
  let text = ''
  let longest = 0
  for (const piece of answered.pieces) {
    longest = Math.max(longest, piece.length)
    text += piece
    // A statement that was still being read would make better-sqlite3 refuse this.
    if (text.length % 7 === 0) writer.db.exec('UPDATE progress SET active_ms = active_ms')
  }
  expect(longest).toBeLessThan(1000)
  expect(namesIn((JSON.parse(text) as Groups).resourceSpans)).toHaveLength(spans)
})

test.each([
  ['of a CPID', { cpid: id(1) }],
  ['of all', {}],
])('what was sent again is left out before it is linked, and after: records %s', async (_, of) => {
  using writer = await TestWriter.open()
  const work = { trace: 1, id: 1, cpid: cpid(1), name: 'work' }
  const tick = { body: 'tick', time: 1, cpid: cpid(1) }
  writer.spans('a', [work])
  writer.logs('a', [tick])
  writer.spans('a', [work, { ...work, id: 2, name: 'more' }])
  writer.logs('a', [tick, { ...tick, time: 2 }])
  for (const when of ['before', 'after']) {
    const { resourceSpans } = ask<Groups>(writer, { kind: 'spans', part: {}, ...of })
    const { resourceLogs } = ask<{ resourceLogs: { scopeLogs: { logRecords: unknown[] }[] }[] }>(writer, {
      kind: 'logs',
      part: {},
      ...of,
    })
    expect([when, namesIn(resourceSpans)]).toEqual([when, ['work', 'more']])
    expect(resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap((s) => s.logRecords))).toHaveLength(2)
    writer.link()
  }
})

test.each(['tempoJson', 'jaeger'] as const)(
  'a span whose decision is broken is left out of its trace (%s)',
  async (shape) => {
    using writer = await TestWriter.open()
    writer.mergelogs('kubectl', [{ new: cpid(1) }])
    writer.spans('one', [
      { trace: 1, id: 1, cpid: cpid(1), name: 'sound' },
      { trace: 1, id: 2, cpid: cpid(1), name: 'broken' },
    ])
    writer.link()
    writer.db.exec(`UPDATE outbox SET flags = flags | ${SENT_PATCHED}, extra = CAST('{' AS BLOB)
    WHERE span = (SELECT id FROM spans WHERE name = 'broken')`)
    const trace = ask(writer, { kind: 'sentTrace', traceId: cpid(1).replaceAll('-', ''), shape })
    expect(JSON.stringify(trace)).toContain('sound')
    expect(JSON.stringify(trace)).not.toContain('broken')
  },
)
