import { expect, test } from '@jest/globals'
import { MemoryChanges } from '../../lab/harness/inference/memory-changes.ts'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import { decide, type Decision } from '../../src/kube/inference/decide.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'

const SETTINGS = { cluster: 'test', relations: RELATIONS, operators: [], controllers: [] }
const LINE = { windowNs: 0n, whoWaitNs: 0n, isWatched: true }

interface Sketch {
  kind: string
  name: string
  meta?: JsonObject
  status?: JsonObject
  gone?: boolean
}

function decided(...sketches: Sketch[]): Decision[] {
  const [objects, changes, line] = [new MemoryObjects(), new MemoryChanges(), new WriteQueue(LINE)]
  sketches.forEach(({ kind, name, meta = {}, status = {}, gone = false }, index) => {
    const metadata = { name, namespace: 'shop', uid: `uid of ${name}`, resourceVersion: String(index + 1) }
    const object = { kind, apiVersion: 'v1', metadata: { ...metadata, ...meta }, spec: {}, status }
    const read = readWatchEvent({ type: gone ? 'DELETED' : 'MODIFIED', object }, BigInt(index + 1))
    if (typeof read === 'string') throw new Error(read)
    line.add(read, BigInt(index + 1))
  })
  return line.takeDue(100n).flatMap((write) => {
    const decision = decide(write, objects, changes, SETTINGS)
    if (decision?.sources !== undefined) changes.merge(decision.cpid, decision.sources)
    return decision ?? []
  })
}

const SET = { kind: 'ReplicaSet', name: 'web' }
const owner = { kind: 'ReplicaSet', name: 'web', uid: 'uid of web', controller: true }
const pod = (name: string): Sketch => ({ kind: 'Pod', name, meta: { ownerReferences: [owner] } })
const going = (name: string): Sketch => ({
  ...pod(name),
  meta: { ownerReferences: [owner], deletionTimestamp: '2026-11-22T19:30:53Z' },
})
const readsOf = ({ reads }: Decision): string[] => reads.map(({ identity }) => identity.name).sort()

test('of Pods that go at once each that is made in their place comes from them', () => {
  const decisions = decided(
    ...[SET, pod('a'), pod('b'), { ...SET, status: { replicas: 2 } }],
    ...[going('a'), going('b'), pod('c'), pod('d')],
  )
  expect(decisions.slice(-2).map(readsOf)).toEqual([
    ['a', 'b', 'web'],
    ['a', 'b', 'web'],
  ])
})

test('what was made anew and counted is no cause of what is made later', () => {
  const decisions = decided(
    ...[SET, pod('a'), { ...SET, status: { replicas: 1 } }, going('a'), pod('b')],
    ...[{ ...SET, status: { replicas: 1, readyReplicas: 1 } }, pod('c')],
  )
  expect(decisions.slice(-1).map(readsOf)).toEqual([['web']])
})

test('what has a name that was taken follows from the end of what had that, unless its owner changed later', () => {
  const db: Sketch = { kind: 'StatefulSet', name: 'db', meta: { generation: 1 } }
  const more: Sketch = { ...db, meta: { generation: 2 } }
  const made = { kind: 'StatefulSet', name: 'db', uid: 'uid of db', controller: true }
  const other: Sketch = { kind: 'Pod', name: 'db-0', meta: { uid: 'other' } }
  const first: Sketch = { kind: 'Pod', name: 'db-0', meta: { ownerReferences: [made] } }
  const ended = { ...other, gone: true }
  expect(decided(other, db, ended, first).slice(-1).map(readsOf)).toEqual([['db', 'db-0']])
  expect(decided(other, db, ended, more, first).slice(-1).map(readsOf)).toEqual([['db', 'db']])
})

test('a slice of a Service follows from the one that somebody deleted', () => {
  const web: Sketch = { kind: 'Service', name: 'web' }
  const slice = (name: string): Sketch => ({
    ...{ kind: 'EndpointSlice', name },
    meta: {
      labels: { 'kubernetes.io/service-name': 'web' },
      ownerReferences: [{ kind: 'Service', name: 'web', uid: 'uid of web', controller: true }],
    },
  })
  const decisions = decided(web, slice('web-1'), { ...slice('web-1'), gone: true }, slice('web-2'))
  expect(decisions.slice(-1).map(readsOf)).toEqual([['web', 'web-1']])
})

test('what its writer deleted with what it was made for is no cause of the next, but what somebody deleted is', () => {
  const web = (uid: string): Sketch => ({ kind: 'Service', name: 'web', meta: { uid } })
  const endpoints = (uid: string): Sketch => ({
    ...{ kind: 'Endpoints', name: 'web' },
    meta: { uid, labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } },
  })
  const gone = (sketch: Sketch): Sketch => ({ ...sketch, gone: true })
  const uidsOf = ({ reads }: Decision): string[] => reads.map(({ identity }) => identity.uid).sort()
  const begun = [web('one'), endpoints('e1')]
  const replaced = [gone(web('one')), web('two'), gone(endpoints('e1')), endpoints('e2')]
  expect(
    decided(...begun, ...replaced)
      .slice(-1)
      .map(uidsOf),
  ).toEqual([['two']])
  expect(
    decided(...begun, gone(endpoints('e1')), endpoints('e2'))
      .slice(-1)
      .map(uidsOf),
  ).toEqual([['e1', 'one']])
})
