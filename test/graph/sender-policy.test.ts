import { describe, expect, test } from '@jest/globals'
import { SenderRules } from '../../src/graph/sender-permissions.ts'
import type { Sender, SenderPolicy } from '../../src/model/otlp-requests.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { loadText, SMALLEST } from '../config/load-text.ts'
import { cpid, mergelogEvent, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const alice: Sender = { authenticator: 'basicauth', username: 'alice' }
const kubelet: Sender = {
  certificate: [
    'cn:kubelet',
    'dns:node-1.eu.example',
    'email:root@mail.us.example',
    'uri:spiffe://us.example',
  ],
}
const anybody: Sender = {}

/** The policy as an operator writes it. */
function policyOf(senders: string): SenderPolicy {
  const { cpid: connector } = loadText(SMALLEST.replace('cpid: }', `cpid: { senders: ${senders} } }`)).config
  return connector.senders!
}

const opening = (senders: string): Promise<TestWriter> => TestWriter.open({ senders: policyOf(senders) })
const ONE = (rule: string): string => `{ rules: [{ match: { username: alice }, ${rule} }] }`

const spans = (service: string, cluster?: string) =>
  spansRequest(service, [{ trace: 1, id: 1, cpid: cpid(9) }], cluster)
const merge = (from: string, sources: string[], to = cpid(2), cluster?: string) =>
  mergelogsRequest(from, [{ new: to, sources }], cluster)

const rejectedRows = ({ db }: TestWriter) =>
  db.prepare('SELECT cpid, reason, service, cluster, sender FROM audit_rejected_mergelogs').all()

describe('which rule counts', () => {
  const whoMaySend = async (match: string, sender: Sender): Promise<boolean> => {
    using writer = await opening(`{ rules: [{ match: ${match} }] }`)
    const outcome = writer.ingest('traces', spans('a'), sender)
    return outcome.kind === 'accepted' && outcome.stored === 1
  }

  test.each<[string, Sender, boolean]>([
    ['{ username: alice }', alice, true],
    ['{ username: "al*" }', alice, true],
    ['{ username: bob }', alice, false],
    ['{ username: "*" }', kubelet, false],
    ['{ authenticator: basicauth }', alice, true],
    ['{ authenticator: bearertokenauth }', alice, false],
    ['{ authenticator: basicauth, username: bob }', alice, false],
    ['{ certificate: "*.eu.example" }', kubelet, true],
    ['{ certificate: "cn:kubelet" }', kubelet, true],
    ['{ certificate: kubelet }', kubelet, false],
    ['{ certificate: "dns:node-1.*" }', kubelet, true],
    ['{ certificate: "cn:*.eu.example" }', kubelet, false],
    ['{ certificate: "uri:spiffe://us.example" }', kubelet, true],
    ['{ certificate: "email:*@mail.us.example" }', kubelet, true],
    ['{ certificate: "email:*" }', { certificate: ['cn:email:kubelet'] }, false],
    ['{ certificate: "*.us.example" }', kubelet, false],
    ['{ certificate: "*" }', alice, false],
    ['{ authenticator: basicauth, certificate: "cn:kubelet" }', { ...alice, ...kubelet }, true],
    ['{ username: "*" }', anybody, false],
    ['{ authenticator: "*" }', alice, true],
    ['{ authenticator: "*" }', anybody, false],
    ['{ authenticator: "*" }', kubelet, false],
  ])('%s, of %j: %s', async (match, sender, may) => {
    expect(await whoMaySend(match, sender)).toBe(may)
  })

  test('the first rule that matches a sender applies', async () => {
    using writer = await opening(
      '{ rules: [{ match: { username: alice }, spans: false }, { match: { username: "*" } }] }',
    )
    expect(writer.ingest('traces', spans('a'), alice)).toMatchObject({ stored: 0, rejected: 1 })
    expect(writer.ingest('traces', spans('a'), { ...alice, username: 'bob' })).toMatchObject({ stored: 1 })
  })

  test('a sender that no rule matches gets the default, which allows nothing unless it says so', async () => {
    using closed = await opening('{ rules: [] }')
    expect(closed.ingest('traces', spans('a'))).toMatchObject({ stored: 0, rejected: 1 })
    using open = await opening('{ default: { spans: true } }')
    expect(open.ingest('traces', spans('a'))).toMatchObject({ stored: 1, rejected: 0 })
    expect(open.ingest('logs', merge('a', []))).toMatchObject({ stored: 0, rejected: 1 })
  })
})

describe('what may be sent', () => {
  test('a sender may send spans only for the services and clusters of its rule', async () => {
    using writer = await opening(ONE('clusters: ["eu-*"], services: [controller]'))
    expect(writer.ingest('traces', spans('controller', 'eu-1'), alice)).toMatchObject({
      stored: 1,
      rejected: 0,
    })
    for (const [service, cluster] of [
      ['controller', 'us-1'],
      ['controller', undefined],
      ['other', 'eu-1'],
    ] as const) {
      expect(writer.ingest('traces', spans(service, cluster), alice)).toMatchObject({
        stored: 0,
        rejected: 1,
        message: `alice may not send spans for service "${service}" of cluster "${cluster ?? ''}"; see connectors::cpid::senders`,
      })
    }
    expect(writer.rows('spans')).toBe(1)
  })

  test('a span that is refused leaves no CPID behind', async () => {
    using writer = await opening(ONE('spans: false'))
    writer.ingest('traces', spans('a'), alice)
    expect(writer.rows('cpids')).toBe(0)
  })

  test('a mergelog in a log record is refused if the sender may not send mergelogs', async () => {
    using writer = await opening(ONE('mergelogs: false'))
    expect(writer.ingest('logs', merge('a', [], cpid(2), 'eu'), alice)).toMatchObject({
      stored: 0,
      rejected: 1,
      message: expect.stringContaining('may not send mergelogs'),
    })
    expect(rejectedRows(writer)).toEqual([
      { cpid: cpid(2), reason: 'sender_not_allowed', service: 'a', cluster: 'eu', sender: 'alice' },
    ])
    expect([writer.rows('mergelogs'), writer.rows('cpids'), writer.rows('logs')]).toEqual([0, 0, 0])
  })

  test('a refused mergelog in a log record leaves none of its CPIDs behind', async () => {
    using writer = await opening(ONE('mergelogs: false'))
    const attributes = Object.entries({ 'cpid.new': cpid(2), 'cpid.id': cpid(9) }).map(
      ([key, stringValue]) => ({ key, value: { stringValue } }),
    )
    const logRecords = [{ eventName: 'cpid.mergelog', attributes }]
    const json = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
    const request = Buffer.from(protobufOfJson('logs', Buffer.from(json)))
    expect(writer.ingest('logs', request, alice)).toMatchObject({ stored: 0, rejected: 1 })
    expect(rejectedRows(writer)).toMatchObject([{ cpid: cpid(2), reason: 'sender_not_allowed' }])
    expect(writer.rows('cpids')).toBe(0)
  })

  test('a mergelog in a span event is refused if the sender may not send mergelogs, and the span is kept', async () => {
    using writer = await opening(ONE('mergelogs: false'))
    const events = [mergelogEvent({ new: cpid(2), sources: [] })]
    const request = spansRequest('a', [{ trace: 1, id: 1, events }])
    expect(writer.ingest('traces', request, alice)).toMatchObject({
      stored: 1,
      rejected: 0,
      message: expect.stringContaining('may not send mergelogs'),
    })
    expect(rejectedRows(writer)).toMatchObject([{ reason: 'sender_not_allowed' }])
  })

  test('a sender may send mergelogs only for the clusters and services of its rule', async () => {
    using writer = await opening(ONE('clusters: [eu], services: [a]'))
    expect(writer.ingest('logs', merge('a', [], cpid(2), 'us'), alice)).toMatchObject({ rejected: 1 })
    expect(writer.ingest('logs', merge('b', [], cpid(2), 'eu'), alice)).toMatchObject({ rejected: 1 })
    expect(writer.ingest('logs', merge('a', [], cpid(2), 'eu'), alice)).toMatchObject({ rejected: 0 })
  })

  test('a log record that is not a mergelog is refused if the sender may not send logs', async () => {
    const events = mergelogsRequest('a', [{ new: cpid(2) }])
    const plain = Buffer.from(events)
    plain.write('cpid.other---', plain.indexOf('cpid.mergelog'))
    using writer = await opening(ONE('logs: false'))
    expect(writer.ingest('logs', plain, alice)).toMatchObject({ stored: 0, rejected: 1 })
    expect(writer.ingest('logs', events, alice)).toMatchObject({ stored: 1, rejected: 0 })
  })
})

describe('whose changes may be merged', () => {
  const EU = 'clusters: [eu]'
  const root = (writer: TestWriter, name: string, cluster: string, service = 'kubectl'): void => {
    const trusted: Sender = { authenticator: 'basicauth', username: 'trusted' }
    expect(writer.ingest('logs', mergelogsRequest(service, [{ new: name }], cluster), trusted)).toMatchObject(
      {
        rejected: 0,
      },
    )
  }
  const withTrusted = (rule: string): Promise<TestWriter> =>
    opening(`{ rules: [{ match: { username: trusted } }, { match: { username: alice }, ${rule} }] }`)

  test('a sender may merge changes of the clusters that it may send for', async () => {
    using writer = await withTrusted(EU)
    root(writer, cpid(1), 'eu')
    root(writer, cpid(5), 'us')
    expect(writer.ingest('logs', merge('a', [cpid(1)], cpid(2), 'eu'), alice)).toMatchObject({ rejected: 0 })
    expect(writer.ingest('logs', merge('a', [cpid(1), cpid(5)], cpid(3), 'eu'), alice)).toMatchObject({
      stored: 0,
      rejected: 1,
      message: expect.stringContaining('may not merge one of its sources'),
    })
    expect(rejectedRows(writer)).toEqual([
      { cpid: cpid(3), reason: 'foreign_source', service: 'a', cluster: 'eu', sender: 'alice' },
    ])
    expect(writer.rows('edges')).toBe(1)
  })

  test('a mergelog in a span event is checked in the same way, and the span is kept', async () => {
    using writer = await withTrusted(EU)
    root(writer, cpid(1), 'eu')
    root(writer, cpid(5), 'us')
    const merged = (source: string, to: string) =>
      spansRequest('a', [{ trace: 1, id: 1, events: [mergelogEvent({ new: to, sources: [source] })] }], 'eu')
    expect(writer.ingest('traces', merged(cpid(1), cpid(2)), alice)).toMatchObject({ message: '' })
    expect(writer.ingest('traces', merged(cpid(5), cpid(3)), alice)).toMatchObject({
      stored: 1,
      rejected: 0,
      message: expect.stringContaining('may not merge one of its sources'),
    })
    expect(rejectedRows(writer)).toEqual([
      { cpid: cpid(3), reason: 'foreign_source', service: 'a', cluster: 'eu', sender: 'alice' },
    ])
    expect(writer.rows('edges')).toBe(1)
  })

  test('a sender may merge changes of the clusters and services that merge_from names', async () => {
    using writer = await withTrusted(`${EU}, merge_from: { clusters: ['*'], services: [kubectl] }`)
    root(writer, cpid(1), 'us')
    root(writer, cpid(5), 'eu', 'stranger')
    expect(writer.ingest('logs', merge('a', [cpid(1)], cpid(2), 'eu'), alice)).toMatchObject({ rejected: 0 })
    expect(writer.ingest('logs', merge('a', [cpid(5)], cpid(3), 'eu'), alice)).toMatchObject({ rejected: 1 })
  })

  test('a sender may merge changes whose mergelog has not arrived, unless unknown is refuse', async () => {
    using open = await withTrusted(EU)
    expect(open.ingest('logs', merge('a', [cpid(1)], cpid(2), 'eu'), alice)).toMatchObject({ rejected: 0 })
    using strict = await withTrusted(`${EU}, merge_from: { unknown: refuse }`)
    expect(strict.ingest('logs', merge('a', [cpid(1)], cpid(2), 'eu'), alice)).toMatchObject({ rejected: 1 })
    const all = `merge_from: { clusters: ['*'], services: ['*'], unknown: refuse }`
    using known = await withTrusted(`${EU}, ${all}`)
    expect(known.ingest('logs', merge('a', [cpid(1)], cpid(2), 'eu'), alice)).toMatchObject({ rejected: 1 })
    root(strict, cpid(3), 'eu')
    expect(strict.ingest('logs', merge('a', [cpid(3)], cpid(4), 'eu'), alice)).toMatchObject({ rejected: 0 })
  })
})

test('senders beyond a thousand are remembered in the place of others', () => {
  const rules = new SenderRules(policyOf('{ rules: [] }'))
  const first = rules.of(alice)
  expect(rules.of({ ...alice })).toBe(first)
  for (let number = 0; number < 1_000; number++) rules.of({ ...alice, username: `user-${number}` })
  expect(rules.of(alice)).not.toBe(first)
})

test('what one sender was refused is no repetition when another sends it', async () => {
  using writer = await opening('{ rules: [{ match: { username: alice } }] }')
  const request = spans('a')
  expect(writer.ingest('traces', request, { ...alice, username: 'mallory' })).toMatchObject({ stored: 0 })
  expect(writer.ingest('traces', request, alice)).toMatchObject({ stored: 1, rejected: 0 })
  expect(writer.ingest('traces', request, alice)).toMatchObject({ stored: 0, rejected: 0 })
  expect(writer.rows('spans')).toBe(1)
})

test('refusals are counted', async () => {
  using writer = await opening('{ rules: [] }')
  const { counts } = writer.writer.ingest([
    { signal: 'traces', bytes: spans('a') },
    { signal: 'logs', bytes: merge('a', []) },
  ])
  expect(counts).toMatchObject({
    forbiddenSpans: 1,
    forbiddenLogs: 0,
    filterSpans: 0,
    refusedMergelogs: { sender_not_allowed: 1 },
  })
})

test('without a policy everybody may send everything', async () => {
  using writer = await TestWriter.open()
  expect(writer.ingest('traces', spans('a'), alice)).toMatchObject({ stored: 1 })
  expect(writer.ingest('logs', merge('a', [cpid(7)]), anybody)).toMatchObject({ stored: 1 })
})
