import { expect, test } from '@jest/globals'
import { changedFields } from '../../src/kube/inference/changed-fields.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readObjectFacts } from '../../src/kube/objects/observations.ts'
import type { FieldValues } from '../../src/model/kubernetes-objects.ts'

const deployment = (
  replicas: number,
  image: string,
  password: string,
  more: JsonObject = {},
): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'web',
    labels: { app: 'web' },
    annotations: { note: password, 'causeway.io/cpid': password },
  },
  spec: {
    replicas,
    template: {
      spec: { containers: [{ name: 'web', image, env: [{ name: 'DB', value: password }] }] },
    },
    ...more,
  },
  status: { replicas },
})

function changed(before: JsonObject, after: JsonObject, fieldValues: FieldValues, resource = 'deployments') {
  const [then, now] = [before, after].map((one) =>
    readObjectFacts(one, resource, { references: [], fieldValues }),
  )
  return changedFields(then, now)
}

const BEFORE = deployment(2, 'web:v1', 'sesame')
const AFTER = deployment(5, 'web:v2', 'tahini', { paused: true })

test('what a write changed is told field by field, of values that may be secrets only that they changed', () => {
  expect(changed(BEFORE, AFTER, 'plain')).toEqual([
    'metadata.annotations.note: changed',
    'spec.replicas: 2 → 5',
    'spec.template.spec.containers[web].image: web:v1 → web:v2',
    'spec.template.spec.containers[web].env[DB].value: changed',
    'spec.paused: added, true',
  ])
  expect(changed(AFTER, BEFORE, 'plain')).toContain('spec.paused: removed, was true')
})

test('texts are told where configuration says so, but never under the name of a secret', () => {
  const lines = changed(BEFORE, AFTER, 'all')
  expect(lines).toContain('spec.template.spec.containers[web].env[DB].value: sesame → tahini')
  const secret = (value: string): JsonObject => ({ spec: { dbPassword: value, pin: { token: 1234 } } })
  expect(changed(secret('sesame'), secret('tahini'), 'all', 'shops')).toEqual(['spec.dbPassword: changed'])
})

test('nothing of Secrets is kept, nothing at all where configuration says so, and nothing that may be a secret in any version', () => {
  const secret = (value: string): JsonObject => ({ kind: 'Secret', data: { key: value }, type: 'Opaque' })
  for (const values of ['plain', 'all'] as const)
    expect(changed(secret('sesame'), secret('tahini'), values, 'secrets')).toEqual([])
  expect(changed(BEFORE, AFTER, 'none')).toEqual([])
  const facts = readObjectFacts(BEFORE, 'deployments', { references: [], fieldValues: 'plain' })
  expect(JSON.stringify(facts)).not.toContain('sesame')
  const map = { kind: 'ConfigMap', data: { key: 'sesame' } }
  const ofMap = readObjectFacts(map, 'configmaps', { references: [], fieldValues: 'plain' })
  expect(JSON.stringify(ofMap)).not.toContain('sesame')
})

test('of an object with very many or very long fields nothing is kept', () => {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}`, at]))
  const long = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${at}`.padStart(90, 'f'), at]))
  for (const spec of [many, long]) {
    const facts = readObjectFacts({ kind: 'Shop', spec }, 'shops', { references: [], fieldValues: 'all' })
    expect(facts).not.toHaveProperty('shown')
  }
})

test('of many changes the first are named and the others counted', () => {
  const shop = (by: number): JsonObject => ({
    spec: Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, at + by])),
  })
  const lines = changed(shop(0), shop(1), 'plain', 'shops')
  expect(lines).toHaveLength(25)
  expect(lines.at(-1)).toBe('and 6 more fields')
})
