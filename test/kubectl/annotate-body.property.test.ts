import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { annotateBody, lockOf, withLock } from '../../packages/kubectl/annotate-body.ts'
import { parseExactly } from '../../packages/kubectl/exact-json.ts'
import type { Json, JsonObject } from '../../src/kube/objects/object-json.ts'

const OURS = { 'causeway.io/cpid': 'c', 'causeway.io/ancestor-cpids': '' }
const MERGE = 'application/merge-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const APPLY = 'application/apply-patch+yaml'
const JSON_PATCH = 'application/json-patch+json'

const annotations = fc.dictionary(fc.stringMatching(/^[a-z./]{1,9}$/), fc.string())
const metadata = fc.record(
  { name: fc.string(), annotations: fc.option(annotations), labels: annotations },
  { requiredKeys: [] },
)
const object = fc.record({ metadata, spec: fc.jsonValue(), status: fc.jsonValue() }, { requiredKeys: [] })

/** What the API server makes of a JSON merge patch (RFC 7386). */
function merged(target: Json | undefined, patch: Json): Json {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result = new Map(
    typeof target === 'object' && target !== null && !Array.isArray(target) ? Object.entries(target) : [],
  )
  for (const [key, value] of Object.entries(patch))
    if (value === null) result.delete(key)
    else result.set(key, merged(result.get(key), value))
  return Object.fromEntries(result)
}

function annotated(of: Json): Json {
  const it = of as { metadata?: { annotations?: JsonObject | null } }
  return { ...it, metadata: { ...it.metadata, annotations: { ...it.metadata?.annotations, ...OURS } } }
}

test.each(['POST', 'PUT'])(
  'an object that is sent whole by %s has the annotations, and is else as it was',
  (method) => {
    fc.assert(
      fc.property(object, (body) => {
        expect(annotateBody(method, 'application/json', body as Json, OURS)).toEqual(annotated(body as Json))
      }),
    )
  },
)

test('a merge patch does what it did, and the object has the annotations', () => {
  fc.assert(
    fc.property(object, object, (before, patch) => {
      const body = annotateBody('PATCH', MERGE, patch as Json, OURS)
      const takesAllAway = patch.metadata?.annotations === null
      if (takesAllAway) expect(body).toBeUndefined()
      else
        expect(merged(before as Json, body ?? null)).toEqual(annotated(merged(before as Json, patch as Json)))
    }),
  )
})

test('numbers stay as they were written, however large', () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.double({ noNaN: true, noDefaultInfinity: true }), (whole, other) => {
      const text = `{"spec":{"whole":${whole},"other":${other.toExponential(20)},"one":1.0,"large":1e400}}`
      const written = JSON.stringify(
        annotateBody('POST', 'application/json', parseExactly(text) ?? null, OURS),
      )
      expect(written).toContain(text.slice(1, -1))
    }),
  )
})

test.each([
  ['an array', 'POST', 'application/json', []],
  ['a text', 'PUT', 'application/json', 'text'],
  ['metadata of another kind', 'POST', 'application/json', { metadata: 7 }],
  ['metadata that are taken away', 'PATCH', STRATEGIC, { metadata: { $patch: 'delete' } }],
  ['an object that is taken away', 'PATCH', STRATEGIC, { $patch: 'delete' }],
  ['annotations that are taken away', 'PATCH', APPLY, { metadata: { annotations: null } }],
  ['a patch of another kind', 'PATCH', 'application/x-patch', {}],
  ['operations elsewhere', 'PATCH', JSON_PATCH, [{ op: 'replace', path: '/spec/replicas', value: 1 }]],
  [
    'operations that take annotations away',
    'PATCH',
    JSON_PATCH,
    [
      { op: 'add', path: '/metadata/annotations', value: {} },
      { op: 'remove', path: '/metadata/annotations' },
    ],
  ],
])('there is no place in %s', (_, method, type, body) => {
  expect(annotateBody(method, type, body as Json, OURS)).toBeUndefined()
})

test.each([
  ['/metadata/annotations', { a: 'b' }, { a: 'b', ...OURS }],
  ['/metadata/annotations', null, OURS],
  ['/metadata', { name: 'web' }, { name: 'web', annotations: OURS }],
  ['', { spec: {} }, { spec: {}, metadata: { annotations: OURS } }],
])('an operation that replaces "%s" takes them along', (path, value, expected) => {
  const others = { op: 'replace', path: '/spec', value: {} }
  const body = [others, { op: 'replace', path, value }, others]
  expect(annotateBody('PATCH', `${JSON_PATCH}; charset=utf-8`, body as Json, OURS)).toEqual([
    others,
    { op: 'replace', path, value: expected },
    others,
  ])
})

test.each<[string, Json, Json]>([
  [
    'an object',
    { metadata: { resourceVersion: '7', name: 'a' } },
    { metadata: { resourceVersion: '8', name: 'a' } },
  ],
  ['a deletion', { preconditions: { resourceVersion: '7' } }, { preconditions: { resourceVersion: '8' } }],
  [
    'operations',
    [
      { op: 'test', path: '/metadata/resourceVersion', value: '7' },
      { op: 'remove', path: '/spec' },
    ],
    [
      { op: 'test', path: '/metadata/resourceVersion', value: '8' },
      { op: 'remove', path: '/spec' },
    ],
  ],
])('the version that %s is for is found, and can be another', (_, body, other) => {
  expect(lockOf(body)).toBe('7')
  expect(withLock(body, '8')).toEqual(other)
})

test('what is for any version stays for any', () => {
  const body = { metadata: { name: 'a' }, preconditions: { uid: 'u' } }
  expect(lockOf(body)).toBe('')
  expect(withLock(body, '8')).toEqual(body)
})
