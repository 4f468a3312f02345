import { test, expect } from '@jest/globals'
import type { KubernetesObject } from '../../packages/instrumentation/src/objects/kubernetes-object.ts'
import {
  objectReference,
  resourceOfKind,
} from '../../packages/instrumentation/src/objects/object-reference.ts'

const metadata = { namespace: 'default', name: 'web', uid: 'u1', resourceVersion: '10234' }

test.each<[string, string | undefined, unknown]>([
  [
    'all there is',
    'apps/v1/replicasets/default/web?uid=u1&rv=10234',
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata },
  ],
  ['a core object', 'v1/pods/default/web?uid=u1&rv=10234', { apiVersion: 'v1', kind: 'Pod', metadata }],
  [
    'no namespace',
    'v1/nodes/n1?uid=u2',
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'u2' } },
  ],
  [
    'no uid',
    'v1/nodes/n1?rv=3',
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', resourceVersion: '3' } },
  ],
  [
    'neither uid nor version',
    'v1/nodes/n1',
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: '' } },
  ],
  ['no name', undefined, { apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'web-' } }],
  ['no kind', undefined, { apiVersion: 'v1', metadata }],
  ['no version', undefined, { kind: 'Pod', metadata }],
  ['no metadata', undefined, { apiVersion: 'v1', kind: 'Pod' }],
  ['a name that is no text', undefined, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 7 } }],
  ['no object', undefined, undefined],
])('the reference of an object with %s', (_, expected, object) => {
  expect(objectReference(object as KubernetesObject)).toBe(expected)
})

test('what the items of a list leave out can be told', () => {
  expect(objectReference({ metadata }, { apiVersion: 'v1', resource: 'pods' })).toBe(
    'v1/pods/default/web?uid=u1&rv=10234',
  )
  expect(objectReference({ apiVersion: 'v2', kind: 'Mouse', metadata }, { resource: 'mice' })).toBe(
    'v2/mice/default/web?uid=u1&rv=10234',
  )
})

test.each([
  ['Deployment', 'deployments'],
  ['Ingress', 'ingresses'],
  ['StorageClass', 'storageclasses'],
  ['ComponentStatus', 'componentstatuses'],
  ['NetworkPolicy', 'networkpolicies'],
  ['Gateway', 'gateways'],
  ['Endpoints', 'endpoints'],
  ['EndpointSlice', 'endpointslices'],
  ['CSIStorageCapacity', 'csistoragecapacities'],
  ['Mailbox', 'mailboxes'],
  ['Switch', 'switches'],
])('%s is served as %s', (kind, resource) => {
  expect(resourceOfKind(kind)).toBe(resource)
})
