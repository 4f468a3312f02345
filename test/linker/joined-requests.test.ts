import { describe, expect, test } from '@jest/globals'
import {
  BELOW_THE_WRITE,
  CHANGE,
  drawn,
  inPlace,
  opened,
  request,
  tellWrite,
  WAIT,
} from '../support/joined-spans.ts'
import { cpid, hexTrace, spansRequest } from '../support/otlp-requests.ts'

describe('a request span of an API server', () => {
  test('hangs below the write that the request made, and has its CPID', async () => {
    using writer = await opened()
    tellWrite(writer)
    writer.link()
    writer.spans('apiserver', request())
    writer.link()
    expect(drawn(writer)).toBe(BELOW_THE_WRITE)
    expect(writer.rows(`audit_cascade_spans WHERE cpid = '${CHANGE}' AND service = 'apiserver'`)).toBe(3)
  })

  test('waits for a write that is decided later', async () => {
    using writer = await opened()
    writer.spans('apiserver', request())
    writer.pass(WAIT - 1)
    expect(writer.sent()).toEqual([])
    tellWrite(writer)
    writer.link()
    expect(drawn(writer)).toBe(BELOW_THE_WRITE)
    expect([writer.rows('waiting'), writer.rows('awaited_joins')]).toEqual([0, 0])
  })

  test('is sent unchanged if its write is not reported in time', async () => {
    using writer = await opened()
    writer.spans('apiserver', request())
    writer.pass(WAIT)
    expect(inPlace(writer).sort()).toEqual(['Create', 'POST', 'Txn'])
    expect([writer.rows('waiting'), writer.rows('awaited_joins')]).toEqual([0, 0])
  })

  test('does not wait if no receiver reports requests, or if the request only read', async () => {
    using writer = await opened({ linking: { awaitsRequests: false } })
    writer.spans('apiserver', request())
    writer.link()
    expect(inPlace(writer)).toHaveLength(3)
    using other = await opened()
    other.spans('apiserver', request({ attributes: { 'http.request.method': 'GET' } }))
    other.link()
    expect(inPlace(other)).toHaveLength(3)
  })

  test('is told apart from one of another cluster, if it names its cluster', async () => {
    using writer = await opened()
    tellWrite(writer)
    writer.ingest('traces', spansRequest('apiserver', request(), 'us'))
    writer.pass(WAIT)
    expect(inPlace(writer)).toHaveLength(3)
    using same = await opened()
    tellWrite(same)
    same.ingest('traces', spansRequest('apiserver', request(), 'eu'))
    same.link()
    expect(drawn(same)).toBe(BELOW_THE_WRITE)
  })

  test('joins by the trace in which admission was called', async () => {
    using writer = await opened()
    const traceparent = `00-${hexTrace(2)}-00000000000000aa-01`
    const attributes = { 'cpid.audit_id': '', 'cpid.traceparent': traceparent }
    writer.spans('apiserver', request())
    writer.link()
    tellWrite(writer, { attributes })
    writer.link()
    expect(drawn(writer)).toBe(BELOW_THE_WRITE)
    // Another request in the same trace, long before.
    writer.spans('apiserver', [{ ...request({ start: -60_000 }, 'other')[2]!, id: 21 }])
    writer.pass(WAIT)
    expect(inPlace(writer)).toEqual(['POST'])
  })

  test('joins the write nearest in time if a client used one Audit-ID for several requests', async () => {
    using writer = await opened()
    tellWrite(writer, { start: 5_000 })
    tellWrite(writer, { trace: 3, id: 3, name: 'next write', start: 9_000 })
    writer.spans('apiserver', request({ start: 8_999 }))
    writer.link()
    expect(drawn(writer)).toContain('  next write @kubectl\n    POST @apiserver')
  })

  test('hangs below its write if its own parent never arrives', async () => {
    using writer = await opened()
    tellWrite(writer)
    writer.spans('apiserver', request().slice(0, 2))
    writer.pass(WAIT)
    expect(drawn(writer)).toBe(
      BELOW_THE_WRITE.replace('    POST @apiserver\n', '').replace(/^ {2}( +[CT])/gm, '$1'),
    )
  })

  test('joins its own write, whatever change its caller’s span belongs to', async () => {
    using writer = await opened()
    writer.mergelogs('caller', [{ new: cpid(2) }])
    tellWrite(writer)
    writer.link()
    writer.spans('apiserver', request({ parent: 41 }))
    writer.link()
    writer.spans('caller', [{ trace: 2, id: 41, name: 'call', cpid: cpid(2), start: 1 }])
    writer.link()
    expect(drawn(writer)).toBe(BELOW_THE_WRITE)
  })

  test('is not waited for any more once max_bytes has pruned it', async () => {
    using writer = await opened({ retention: { maxBytes: 1 } })
    writer.spans('apiserver', request())
    writer.link()
    expect(writer.rows('awaited_joins')).toBe(2)
    for (let turn = 0; turn < 10; turn++) writer.writer.prune(1_000, { isCalendarRight: true })
    expect([writer.rows('spans'), writer.rows('awaited_joins')]).toEqual([0, 0])
  })

  test('is no activity: it is not counted and keeps no cascade open', async () => {
    using writer = await opened()
    tellWrite(writer)
    writer.pass(290_000)
    writer.spans('apiserver', request({ start: 60_000, end: 70_000 }))
    writer.pass(10_001)
    const [cascade] = writer.sent().filter(({ name }) => name === 'cascade')
    expect(cascade?.attributes).toMatchObject({ 'cpid.cascade.spans': 1, 'cpid.cascade.services': 1 })
    expect(Number(cascade?.attributes['cpid.cascade.duration_ms'])).toBeLessThan(10)
    const noActivity = `SELECT name FROM audit_cascade_spans WHERE activity = 'no' ORDER BY name`
    expect(writer.db.prepare(noActivity).pluck().all()).toEqual(['Create', 'POST', 'Txn'])
  })

  test('opens no episode of a settled cascade, and is sent in its own trace with the CPID', async () => {
    using writer = await opened()
    tellWrite(writer)
    writer.pass(400_000)
    const before = writer.rows('traces')
    writer.spans('apiserver', request())
    writer.link()
    expect(writer.rows('traces')).toBe(before)
    expect(writer.writer.linking.takeCounts().beyondShare).toBe(0)
    expect(inPlace(writer).sort()).toEqual(['Create', 'POST', 'Txn'])
    expect(writer.sent().find(({ name }) => name === 'POST')?.attributes['cpid.id']).toBe(CHANGE)
  })
})

test('a span that waits to join continues to wait after a restart, and no longer in all', async () => {
  using writer = await opened()
  writer.spans('apiserver', [request()[2]!, { ...request({}, 'nobody')[2]!, trace: 3, id: 31 }])
  writer.pass(4_000)
  const next = writer.reopened()
  next.spans('apiserver', [{ trace: 7, id: 71, links: [{ trace: 1, id: 1 }] }])
  next.link()
  next.rollBack(() => tellWrite(next))
  tellWrite(next)
  next.link()
  expect(drawn(next)).toBe('change @kubectl\n  write @kubectl\n    POST @apiserver\n    span 71 @apiserver')
  next.pass(WAIT - 4_000 - 1)
  expect(inPlace(next, 3)).toEqual([])
  next.pass(1)
  expect(inPlace(next, 3)).toEqual(['POST'])
})
