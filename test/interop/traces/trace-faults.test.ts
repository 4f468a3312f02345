import { expect, test } from '@jest/globals'
import type { LegacySpan, LegacyTrace } from '../peers/jaeger-query.ts'
import type { SpanJson } from './otlp-json.ts'
import { legacyFaults, traceFaults } from './trace-faults.ts'

const HERE = 'a'.repeat(32)
const THERE = 'b'.repeat(32)

const root: SpanJson = { traceId: HERE, spanId: '01', name: 'root' }
const child: SpanJson = { traceId: HERE, spanId: '02', parentSpanId: '01', name: 'child' }
const other: SpanJson = { traceId: HERE, spanId: '03', parentSpanId: '01', name: 'other' }

test('a tree with links to siblings and to other traces has no fault', () => {
  const links = [
    { traceId: HERE, spanId: '03' },
    { traceId: THERE, spanId: '04' },
  ]
  expect(traceFaults([root, { ...child, links }, other])).toEqual([])
})

test.each<[string, SpanJson[], string[]]>([
  ['two roots', [root, { ...other, parentSpanId: '' }], ['2 spans without a parent: root 01, other 03']],
  [
    'no root',
    [{ ...root, parentSpanId: '02' }, child],
    ['0 spans without a parent: ', 'root 01 is below itself', 'child 02 is below itself'],
  ],
  ['an orphan', [root, { ...child, parentSpanId: '09' }], ['child 02 is an orphan']],
  ['an id twice', [root, child, child], ['a span id twice']],
  ['two trace ids', [root, { ...child, traceId: THERE }], ['not one trace id']],
  [
    'a link that means another trace',
    [root, { ...child, links: [{ traceId: THERE, spanId: '01' }] }],
    [`child 02 links to another trace's root 01`],
  ],
  [
    'a link to the parent',
    [root, { ...child, links: [{ traceId: HERE, spanId: '01' }] }],
    ['child 02 links to its own parent'],
  ],
  [
    'a root that links down',
    [{ ...root, links: [{ traceId: HERE, spanId: '02' }] }, child],
    ['root 01 is the root and links to child 02 in its own trace'],
  ],
])('a trace with %s has a fault', (_, spans, faults) => {
  expect(traceFaults(spans)).toEqual(faults)
})

function legacy(...references: LegacySpan['references']): LegacyTrace {
  const spans = [
    { traceID: HERE, spanID: '01', operationName: 'root', processID: 'p1', references: [] },
    { traceID: HERE, spanID: '02', operationName: 'child', processID: 'p1', references },
  ]
  return { traceID: HERE, spans, processes: {} }
}

test('on the page a span begins with its parent, and its links lead where they should', () => {
  const parent = { refType: 'CHILD_OF', traceID: HERE, spanID: '01' } as const
  const away = { refType: 'FOLLOWS_FROM', traceID: THERE, spanID: '04' } as const
  const stray = { refType: 'FOLLOWS_FROM', traceID: THERE, spanID: '01' } as const
  expect(legacyFaults(legacy(parent, away), '01')).toEqual([])
  expect(legacyFaults(legacy(away), '01')).toEqual(['child 02 does not begin with a reference to its parent'])
  expect(legacyFaults(legacy(parent, stray), '01')).toEqual([
    `child 02 refers to ${THERE}, but the page finds 01 here`,
  ])
})
