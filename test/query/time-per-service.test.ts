import { expect, test } from '@jest/globals'
import { TimePerService } from '../../src/query/time-totals.ts'
import { linkedSpan } from './linked-span.ts'

test('durations are added up by service, most first', () => {
  const times = new TimePerService()
  times.add([
    linkedSpan(1, 0, { service: 'a', startNs: 10n, endNs: 20n }),
    linkedSpan(2, 1, { service: 'b', startNs: 5n, endNs: 35n }),
    linkedSpan(3, 1, { service: 'a', startNs: 40n, endNs: 45n }),
  ])
  expect(times.totals()).toEqual([
    { service: 'b', totalNs: 30n, selfNs: 0n, waitNs: 0n, spans: 1, errors: 0, firstNs: 5n, lastNs: 35n },
    { service: 'a', totalNs: 15n, selfNs: 0n, waitNs: 0n, spans: 2, errors: 0, firstNs: 10n, lastNs: 45n },
  ])
})

test('a span that stands in two traces counts once, one of our own making not at all', () => {
  const times = new TimePerService()
  times.add([linkedSpan(1, 0), linkedSpan(9, 0, { row: undefined })])
  times.add([linkedSpan(1, 0, { copy: true })])
  expect(times.totals()).toMatchObject([{ spans: 1 }])
})

test('a span that ends before it starts takes no time', () => {
  const times = new TimePerService()
  times.add([linkedSpan(1, 0, { startNs: 7n, endNs: 0n })])
  expect(times.totals()).toEqual([
    { service: 'service', totalNs: 0n, selfNs: 0n, waitNs: 0n, spans: 1, errors: 0, firstNs: 7n, lastNs: 0n },
  ])
})
