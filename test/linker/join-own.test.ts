import { describe, expect, test } from '@jest/globals'
import type { Sender } from '../../src/model/otlp-requests.ts'
import { cpid, hexSpan, hexTrace, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { sentSpans, traceOf } from '../support/sent-spans.ts'
import { ALL_GRANTS, TestWriter } from '../support/test-writer.ts'

const alice: Sender = { username: 'alice' }
const trusted: Sender = { username: 'trusted' }

const opened = (): Promise<TestWriter> =>
  TestWriter.open({
    senders: {
      rules: [{ match: { username: 'alice' }, grants: { ...ALL_GRANTS, join: 'own' } }],
      otherwise: ALL_GRANTS,
    },
  })

const CHANGE = cpid(9)
const change = (writer: TestWriter, cluster: string): void => {
  writer.ingest('logs', mergelogsRequest('kubectl', [{ new: CHANGE }], cluster), trusted)
}
const parent = (writer: TestWriter, cluster: string): void => {
  writer.ingest('traces', spansRequest('owner', [{ trace: 1, id: 1, cpid: CHANGE }], cluster), trusted)
}
const child = (writer: TestWriter, sender: Sender, id = 2, above = 1): void => {
  writer.ingest('traces', spansRequest('stranger', [{ trace: 1, id, parent: above }], 'eu'), sender)
}
/** Every trace that a span was sent into. */
const tracesOf = (writer: TestWriter, id: number): string[] =>
  sentSpans(writer.db)
    .filter(({ spanId }) => spanId === hexSpan(id))
    .map(({ traceId }) => traceId)

const IN_PLACE = [hexTrace(1)]
const JOINED = [traceOf(CHANGE)]

/** Ways in which a child may meet its parent. */
const ways: [string, (writer: TestWriter, cluster: string, sender: Sender) => void][] = [
  [
    'after it',
    (writer, cluster, sender) => {
      change(writer, cluster)
      parent(writer, cluster)
      writer.link()
      child(writer, sender)
    },
  ],
  [
    'before it, and waits for it',
    (writer, cluster, sender) => {
      change(writer, cluster)
      child(writer, sender)
      writer.link()
      parent(writer, cluster)
    },
  ],
  [
    'while it waits for its mergelog',
    (writer, cluster, sender) => {
      parent(writer, cluster)
      writer.link()
      child(writer, sender)
      writer.link()
      change(writer, cluster)
    },
  ],
  [
    'without a mergelog of its CPID',
    (writer, cluster, sender) => {
      parent(writer, cluster)
      writer.link()
      child(writer, sender)
      writer.pass(10_001)
    },
  ],
]

describe.each(ways)('a span without a CPID that comes %s', (_, play) => {
  test('does not join by its parent what its sender may not join by itself', async () => {
    using writer = await opened()
    play(writer, 'us', alice)
    writer.link()
    expect([tracesOf(writer, 1), tracesOf(writer, 2)]).toEqual([JOINED, IN_PLACE])
  })

  test('joins a change of its own cluster, and any where its sender may', async () => {
    for (const [cluster, sender] of [
      ['eu', alice],
      ['us', trusted],
    ] as const) {
      using writer = await opened()
      play(writer, cluster, sender)
      writer.link()
      expect([tracesOf(writer, 1), tracesOf(writer, 2)]).toEqual([JOINED, JOINED])
    }
  })
})

test('one that went ahead without its parent is not sent again with it, nor what hangs under it', async () => {
  using writer = await opened()
  change(writer, 'us')
  child(writer, alice)
  child(writer, alice, 3, 2)
  writer.pass(10_001)
  parent(writer, 'us')
  child(writer, trusted, 4)
  writer.link()
  expect([2, 3, 4].map((id) => tracesOf(writer, id))).toEqual([IN_PLACE, IN_PLACE, JOINED])
})
