import { expect, test } from '@jest/globals'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readEvent } from '../../src/kube/objects/observations.ts'
import { parseRfc3339 } from '../../src/model/time-and-size.ts'

const metadata = { name: 'web-1.18e', namespace: 'shop', uid: 'e1', resourceVersion: '12' }
const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  namespace: 'shop',
  name: 'web-1',
  uid: 'p1',
  resourceVersion: '9',
}
const at = (seconds: number): string => `2026-11-22T03:00:0${seconds}Z`
const ns = (seconds: number): bigint => parseRfc3339(at(seconds)) ?? 0n

const modern: JsonObject = {
  kind: 'Event',
  apiVersion: 'events.k8s.io/v1',
  metadata,
  eventTime: at(1),
  series: { count: 4, lastObservedTime: at(3) },
  reportingController: 'kubelet',
  reportingInstance: 'node-1',
  action: 'Pulling',
  reason: 'BackOff',
  regarding: pod,
  related: { ...pod, name: 'web-2', uid: '' },
  note: 'no such image',
  type: 'Warning',
}

test('an Event of a series tells how often it happened, and when last', () => {
  expect(readEvent(modern, 7n)).toEqual({
    source: 'event',
    uid: 'e1',
    version: 12n,
    name: 'web-1.18e',
    namespace: 'shop',
    regarding: { kind: 'Pod', apiVersion: 'v1', namespace: 'shop', name: 'web-1', uid: 'p1', version: 9n },
    related: { kind: 'Pod', apiVersion: 'v1', namespace: 'shop', name: 'web-2', uid: '', version: 9n },
    reason: 'BackOff',
    note: 'no such image',
    type: 'Warning',
    action: 'Pulling',
    controller: 'kubelet',
    instance: 'node-1',
    count: 4,
    firstNs: ns(1),
    lastNs: ns(3),
    seenNs: 7n,
  })
})

test('the older form, in core and in the newer group, says the same', () => {
  const common = { metadata, eventTime: null, reason: 'Killing', type: 'Normal' }
  const core = {
    ...{ ...common, kind: 'Event', apiVersion: 'v1', involvedObject: pod, message: 'stopping' },
    ...{ source: { component: 'kubelet', host: 'node-1' }, count: 2 },
    ...{ firstTimestamp: at(1), lastTimestamp: at(2) },
  }
  const deprecated = {
    ...{ ...common, kind: 'Event', apiVersion: 'events.k8s.io/v1', regarding: pod, note: 'stopping' },
    ...{ deprecatedSource: { component: 'kubelet', host: 'node-1' }, deprecatedCount: 2 },
    ...{ deprecatedFirstTimestamp: at(1), deprecatedLastTimestamp: at(2) },
  }
  const read = readEvent(core, 7n)
  expect(read).toMatchObject({ controller: 'kubelet', instance: 'node-1', count: 2, note: 'stopping' })
  expect(read).toMatchObject({ firstNs: ns(1), lastNs: ns(2) })
  expect(readEvent(deprecated, 7n)).toEqual(read)
})

test.each<[string, JsonObject]>([
  ['no_object', { ...modern, regarding: {} }],
  ['no_object', { ...modern, metadata: {} }],
  ['unversioned', { ...modern, metadata: { ...metadata, resourceVersion: 'abc' } }],
])('%s: what is none is left out', (why, event) => {
  expect(readEvent(event, 7n)).toBe(why)
})

test('what cannot be is not taken over', () => {
  const strange = { ...modern, series: { count: 1e400, lastObservedTime: 'soon' }, note: 'x'.repeat(5_000) }
  expect(readEvent(strange, 7n)).toMatchObject({ count: 1, lastNs: ns(1), note: 'x'.repeat(1_024) })
})
