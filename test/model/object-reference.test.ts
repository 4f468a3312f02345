import { expect, test } from '@jest/globals'
import { kindOfObject, parseObjectReference } from '../../src/model/kubernetes-objects.ts'
import { objectName } from '../../web/src/text/object-name.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const REFERENCES: [reference: string, kind: string, namespace: string | undefined, name: string][] = [
  ['v1/nodes/worker', 'v1/nodes', undefined, 'worker'],
  ['v1/pods/default/web', 'v1/pods', 'default', 'web'],
  ['v1beta1/things/default/web', 'v1beta1/things', 'default', 'web'],
  ['apps/v1/deployments/default/web', 'apps/v1/deployments', 'default', 'web'],
  // Groups that begin as versions of the core group do.
  ['v2.edp.epam.com/v1/codebases/team/app', 'v2.edp.epam.com/v1/codebases', 'team', 'app'],
  ['v1.edp.epam.com/v1alpha1/stages/test', 'v1.edp.epam.com/v1alpha1/stages', undefined, 'test'],
  ['v3io/v1/containers/ns/one', 'v3io/v1/containers', 'ns', 'one'],
]

test.each(REFERENCES)('%s is of kind %s', (reference, kind, namespace, name) => {
  expect(kindOfObject(`${reference}?rv=1`)).toBe(kind)
  expect(parseObjectReference(`${reference}?uid=u&rv=7`)).toEqual({
    object: reference,
    uid: 'u',
    version: 7n,
  })
  expect(objectName(`${reference}?rv=7`)).toMatchObject({ reference, kind, namespace, name, version: '7' })
})

test.each(['', 'v1/pods', 'v2.edp.epam.com/v1/codebases', 'apps/v1/deployments/a/b/c', 'v1/pods//web'])(
  '%j names no object',
  (reference) => {
    expect(parseObjectReference(reference)).toBeUndefined()
  },
)

test('what a span wrote of a group that looks like a version is known by it', async () => {
  using writer = await TestWriter.open()
  const object = 'v2.edp.epam.com/v1/codebases/team/app'
  writer.spans('a', [{ trace: 1, id: 11, cpid: cpid(1), attributes: { 'cpid.wrote': [`${object}?rv=3`] } }])
  expect(writer.db.prepare('SELECT object, object_version FROM audit_object_events').get()).toEqual({
    object,
    object_version: 3,
  })
})
