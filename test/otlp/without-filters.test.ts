import { expect, test } from '@jest/globals'
import { readRequest } from '../../src/model/otlp/decode-requests.ts'
import { withoutFilters } from '../../src/model/otlp/request-envelopes.ts'
import { type RecordedSpan, requestOfApiServer } from '../support/recorded-api-server.ts'

const FILTERS = 'k8s.io/apiserver/pkg/endpoints/filterlatency'
const hex = (id: number): string => id.toString(16).padStart(16, '0')
const span = (
  id: number,
  parent: number,
  scope = 'k8s.io/component-base/tracing',
  trace = 1,
): RecordedSpan => ({
  ...{ scope, name: String(id), kind: 1, start: '1', end: '2', attributes: {} },
  ...{
    traceId: trace.toString(16).padStart(32, '0'),
    spanId: hex(id),
    parent: parent === 0 ? '' : hex(parent),
  },
})

/** Each span that is left with its parent, and how many went. */
function left(spans: readonly RecordedSpan[]): [string[], number] {
  const { traces } = readRequest('traces', requestOfApiServer(spans))
  const { traces: kept, dropped } = withoutFilters(traces!)
  const records = kept.resources.flatMap(({ scopes }) => scopes.flatMap((scope) => scope.records))
  return [records.map(({ name, parentId }) => `${name} below ${parentId}`), dropped]
}

test('what is below filters goes below what they are below, within its trace', () => {
  const spans = [span(4, 3), span(3, 2, FILTERS), span(2, 1, FILTERS), span(1, 0), span(5, 3, undefined, 2)]
  expect(left(spans)).toEqual([['4 below 1', '1 below 0', '5 below 3'], 2])
})

test('spans without filters, and filters that stand in a ring, are left as they are', () => {
  expect(left([span(2, 1), span(1, 0)])).toEqual([['2 below 1', '1 below 0'], 0])
  expect(left([span(3, 2), span(2, 1, FILTERS), span(1, 2, FILTERS)])).toEqual([['3 below 2'], 2])
})

test('a scope that only sounds like it keeps its spans', () => {
  expect(left([span(1, 0, 'filterlatency')])).toEqual([['1 below 0'], 0])
})
