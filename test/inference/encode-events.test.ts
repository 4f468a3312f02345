import { expect, test } from '@jest/globals'
import { recordedLines } from '../../lab/harness/inference/rollout-recording.ts'
import { encodeEvents } from '../../src/kube/inference/inferred-telemetry.ts'
import { objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import { readEvent } from '../../src/kube/objects/observations.ts'
import type { LogRecord } from '../../src/model/arrivals.ts'
import type { ClusterEvent } from '../../src/model/kubernetes-observations.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { decodeLogs } from '../../src/model/otlp/decode-requests.ts'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'

const CPID = '11111111-2222-4333-8444-555555555555' as Cpid

const recorded = (seenNs: bigint): ClusterEvent[] =>
  recordedLines('watch').flatMap((line) => {
    const event = objectIn(line, 'object')
    if (textIn(event, 'kind') !== 'Event') return []
    const read = readEvent(event, seenNs)
    return typeof read === 'string' ? [] : [read]
  })

const recordsOf = (request: Buffer): LogRecord[] =>
  decodeLogs(request).resources.flatMap(({ scopes }) => scopes.flatMap(({ records }) => records))
const placed = (events: readonly ClusterEvent[]) => events.map((event) => ({ event, cpid: CPID }))

test('an Event is a record with the change of its object, named as the Collector names it', () => {
  const scheduled = recorded(7n).find(({ reason }) => reason === 'Scheduled')!
  const request = encodeEvents('prod', placed([scheduled]))
  const text = JSON.stringify(jsonOfProtobuf('ExportLogsServiceRequest', request))
  for (const [key, value] of Object.entries({
    'service.name': 'default-scheduler',
    'k8s.cluster.name': 'prod',
    'k8s.object.kind': 'Pod',
    'k8s.object.name': scheduled.regarding.name,
    'k8s.object.uid': scheduled.regarding.uid,
    'k8s.object.resource_version': String(scheduled.regarding.version),
    'k8s.event.reason': 'Scheduled',
    'k8s.event.name': scheduled.name,
    'k8s.namespace.name': 'shop',
    'cpid.id': CPID,
  }))
    expect(text).toContain(JSON.stringify({ key, value: { stringValue: value } }))
  expect(text).toContain(JSON.stringify({ stringValue: scheduled.note }))
  expect(recordsOf(request)).toMatchObject([{ cpid: CPID, severity: 9, timeNs: scheduled.lastNs }])
})

test('of a recording each Event is one record, and told at another time they are the same bytes', () => {
  const request = encodeEvents('prod', placed(recorded(7n)))
  expect(recordsOf(request)).toHaveLength(104)
  expect(encodeEvents('prod', placed(recorded(99n)))).toEqual(request)
})

test('a warning is one, a type that nobody knows is none, and without a change none is named', () => {
  const [event] = recorded(7n)
  const severityOf = (type: string): unknown =>
    recordsOf(encodeEvents('prod', [{ event: { ...event!, type }, cpid: undefined }]))
  expect(severityOf('Warning')).toMatchObject([{ severity: 13, cpid: undefined }])
  expect(severityOf('toString')).toMatchObject([{ severity: 0 }])
})
