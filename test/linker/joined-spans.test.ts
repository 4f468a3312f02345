import { describe, expect, test } from '@jest/globals'
import { CHANGE, drawn, inPlace, opened, POD, REQUEST, tellWrite, WAIT } from '../support/joined-spans.ts'
import { cpid, hexSpan, hexTrace, type SpanSketch, spansRequest } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { ALL_GRANTS, type TestWriter } from '../support/test-writer.ts'

describe('a span with a link', () => {
  const linking = (said: Partial<SpanSketch> = {}): SpanSketch => ({
    ...{ trace: 5, id: 51, name: 'answer', start: 3, links: [{ trace: 1, id: 1 }], ...said },
  })

  test('hangs below a target that has a CPID, with the spans below itself', async () => {
    using writer = await opened()
    tellWrite(writer)
    writer.spans('apiserver', [{ trace: 5, id: 52, parent: 51, name: 'work', start: 3 }, linking()])
    writer.link()
    expect(drawn(writer)).toBe(
      'change @kubectl\n  write @kubectl\n    answer @apiserver\n      work @apiserver',
    )
    expect(writer.rows(`audit_cascade_spans WHERE activity = 'no'`)).toBe(2)
  })

  test('waits for a target that arrives later, and is sent unchanged if it does not arrive', async () => {
    using writer = await opened()
    writer.spans('apiserver', [linking()])
    writer.spans('apiserver', [linking({ trace: 6, id: 61, links: [{ trace: 9, id: 9 }] })])
    writer.pass(WAIT - 1)
    expect(writer.sent()).toEqual([])
    tellWrite(writer)
    writer.link()
    expect(drawn(writer)).toContain('  write @kubectl\n    answer @apiserver')
    writer.pass(1)
    expect(inPlace(writer, 6)).toEqual(['answer'])
    expect([writer.rows('waiting'), writer.rows('awaited_joins')]).toEqual([0, 0])
  })

  test('leaves after a target that waits, and is sent unchanged if the target has no CPID', async () => {
    using writer = await opened()
    writer.spans('caller', [{ trace: 4, id: 41, name: 'call', cpid: cpid(2) }])
    writer.spans('caller', [{ trace: 7, id: 71, name: 'call' }])
    writer.spans('apiserver', [linking({ links: [{ trace: 4, id: 41 }] })])
    writer.spans('apiserver', [linking({ trace: 8, id: 81, links: [{ trace: 7, id: 71 }] })])
    writer.link()
    expect(inPlace(writer, 8)).toEqual(['answer'])
    writer.mergelogs('caller', [{ new: cpid(2) }])
    writer.link()
    expect(drawn(writer, traceOf(cpid(2)))).toBe('change @caller\n  call @caller\n    answer @apiserver')
  })

  test('does not wait for the target if its own parent has no CPID', async () => {
    using writer = await opened()
    writer.spans('apiserver', [{ trace: 5, id: 50, name: 'above' }, linking({ parent: 50 })])
    writer.link()
    expect(inPlace(writer, 5)).toEqual(['above', 'answer'])
  })

  test('never hangs below a span that hangs below itself', async () => {
    using writer = await opened()
    writer.mergelogs('caller', [{ new: CHANGE }])
    writer.spans('caller', [{ trace: 5, id: 53, parent: 51, name: 'inner', cpid: CHANGE, start: 3 }])
    writer.spans('other', [
      { trace: 6, id: 61, name: 'joins inner', start: 3, links: [{ trace: 5, id: 53 }] },
    ])
    writer.link()
    writer.spans('apiserver', [linking({ links: [{ trace: 6, id: 61 }] })])
    writer.link()
    expect(drawn(writer)).toBe(
      'change @caller\n  answer @apiserver\n    inner @caller\n      joins inner @other',
    )
  })
})

describe('a kubelet span about a Pod', () => {
  const sync = (said: Partial<SpanSketch> = {}): SpanSketch => ({
    ...{ trace: 5, id: 51, name: 'syncPod', start: 50, ...said },
    attributes: {
      'k8s.pod.uid': 'u',
      'k8s.pod.name': 'web-1',
      'k8s.namespace.name': 'shop',
      ...said.attributes,
    },
  })
  const version = (of: number, change: number): SpanSketch => ({
    ...{ trace: 10 + of, id: 10 + of, name: `version ${of}`, cpid: cpid(change), start: of * 10 },
    attributes: { 'cpid.cause': 'inferred', 'cpid.wrote': [`${POD}?uid=u&rv=${of}`] },
  })

  test('belongs to the newest version of the Pod at its start', async () => {
    using writer = await opened()
    writer.mergelogs('kubectl', [{ new: CHANGE }, { new: cpid(2) }])
    writer.spans('writer', [version(1, 1), version(2, 2), version(9, 1)])
    writer.spans('kubelet', [{ trace: 5, id: 52, parent: 51, name: 'CRI', start: 50 }, sync()])
    writer.link()
    expect(drawn(writer, traceOf(cpid(2)))).toBe(
      'change @kubectl\n  version 2 @writer\n    syncPod @kubelet\n      CRI @kubelet',
    )
  })

  test('waits for a version of its own Pod and of no other', async () => {
    using writer = await opened()
    writer.mergelogs('kubectl', [{ new: CHANGE }])
    writer.spans('kubelet', [sync(), sync({ trace: 6, id: 61, attributes: { 'k8s.pod.uid': 'made again' } })])
    writer.link()
    expect(writer.sent().map(({ name }) => name)).toEqual(['change'])
    writer.spans('writer', [version(1, 1)])
    writer.link()
    expect(drawn(writer)).toContain('  version 1 @writer\n    syncPod @kubelet')
    writer.pass(WAIT)
    expect(inPlace(writer, 6)).toEqual(['syncPod'])
  })

  test('is told apart from spans of other services that name a Pod', async () => {
    using writer = await opened()
    writer.mergelogs('kubectl', [{ new: CHANGE }])
    writer.spans('writer', [version(1, 1)])
    writer.spans('shop', [sync({ name: 'GET /cart' })])
    writer.link()
    expect(inPlace(writer, 5)).toEqual(['GET /cart'])
  })
})

describe('if a sender may join only changes of its own cluster', () => {
  const senders = {
    rules: [{ match: { username: 'stranger' }, grants: { ...ALL_GRANTS, join: 'own' as const } }],
    otherwise: ALL_GRANTS,
  }
  const forged: [string, SpanSketch][] = [
    ['number', { trace: 2, id: 21, attributes: { 'audit-id': REQUEST } }],
    ['link', { trace: 2, id: 21, links: [{ trace: 1, id: 1 }] }],
    [
      'uid of a Pod',
      {
        ...{ trace: 2, id: 21, name: 'syncPod', start: 9 },
        attributes: { 'k8s.pod.uid': 'u', 'k8s.pod.name': 'web-1', 'k8s.namespace.name': 'shop' },
      },
    ],
  ]
  const tracesOf = (writer: TestWriter): string[] =>
    writer.sent().flatMap(({ spanId, traceId }) => (spanId === hexSpan(21) ? [traceId] : []))

  test.each(forged)('a forged %s brings a span into no change of another', async (_, span) => {
    for (const [username, cluster, place] of [
      ['stranger', 'us', hexTrace(2)],
      ['stranger', undefined, hexTrace(2)],
      ['stranger', 'eu', traceOf(CHANGE)],
      ['trusted', undefined, traceOf(CHANGE)],
    ] as const) {
      using writer = await opened({ senders })
      tellWrite(writer)
      writer.link()
      writer.ingest('traces', spansRequest('stranger', [span], cluster), { username })
      writer.pass(WAIT)
      expect([username, cluster, tracesOf(writer)]).toEqual([username, cluster, [place]])
    }
  })
})
