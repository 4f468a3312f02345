import { describe, test, expect } from '@jest/globals'
import fc from 'fast-check'
import { createInstrumentation } from '../../packages/instrumentation/src/create-instrumentation.ts'
import type { KubernetesObject } from '../../packages/instrumentation/src/objects/kubernetes-object.ts'
import { cpid } from '../support/otlp-requests.ts'

const CPID = 'causeway.io/cpid'
const ANCESTORS = 'causeway.io/ancestor-cpids'
const KIB = 1024

const { extractFromObject, injectIntoObject } = createInstrumentation()
const annotated = (annotations: Record<string, unknown>) =>
  ({ metadata: { name: 'web', annotations } }) as unknown as KubernetesObject

describe('reading the annotations of an object', () => {
  test.each([
    ['a CPID alone', { [CPID]: cpid(1) }, []],
    [
      'ancestors, nearest first',
      { [CPID]: cpid(1), [ANCESTORS]: `${cpid(3)},${cpid(2)}` },
      [cpid(3), cpid(2)],
    ],
    [
      'blanks and empty entries',
      { [CPID]: ` ${cpid(1)}\n`, [ANCESTORS]: ` ${cpid(2)} ,, ${cpid(3)},` },
      [cpid(2), cpid(3)],
    ],
    ['upper case', { [CPID]: cpid(1).toUpperCase(), [ANCESTORS]: cpid(0xa).toUpperCase() }, [cpid(0xa)]],
    [
      'no dashes',
      { [CPID]: cpid(1).replaceAll('-', ''), [ANCESTORS]: cpid(2).replaceAll('-', '') },
      [cpid(2)],
    ],
    [
      'entries that are no UUID',
      {
        [CPID]: cpid(1),
        [ANCESTORS]: `x,${cpid(2)},${cpid(3)}0,${cpid(0).replace('4', '0').replace('8', '0')}`,
      },
      [cpid(2)],
    ],
    [
      'entries that repeat',
      { [CPID]: cpid(1), [ANCESTORS]: `${cpid(2)},${cpid(3)},${cpid(2).toUpperCase()}` },
      [cpid(2), cpid(3)],
    ],
    ['itself among its ancestors', { [CPID]: cpid(1), [ANCESTORS]: `${cpid(1)},${cpid(2)}` }, [cpid(2)]],
    ['an empty list', { [CPID]: cpid(1), [ANCESTORS]: '' }, []],
    ['a list that is no text', { [CPID]: cpid(1), [ANCESTORS]: [cpid(2)] }, []],
    [
      'ten of many',
      { [CPID]: cpid(99), [ANCESTORS]: list(1, 30) },
      Array.from({ length: 10 }, (_, n) => cpid(n + 1)),
    ],
  ])('%s', (_, annotations, ancestors) => {
    const own = annotations[CPID].includes(cpid(99)) ? cpid(99) : cpid(1)
    expect(extractFromObject(annotated(annotations))).toEqual({ cpid: own, ancestors })
  })

  test.each<[string, unknown]>([
    ['no object', undefined],
    ['null', null],
    ['no metadata', {}],
    ['metadata that is null', { metadata: null }],
    ['no annotations', { metadata: {} }],
    ['annotations that are null', { metadata: { annotations: null } }],
    ['annotations that are text', { metadata: { annotations: cpid(1) } }],
    ['other annotations', annotated({ 'kubectl.kubernetes.io/restartedAt': 'now' })],
    ['an empty CPID', annotated({ [CPID]: '' })],
    ['a CPID that is no UUID', annotated({ [CPID]: 'change-1' })],
    ['a CPID of zeros', annotated({ [CPID]: '00000000-0000-0000-0000-000000000000' })],
    ['a CPID that is a number', annotated({ [CPID]: 7 })],
    ['ancestors without a CPID', annotated({ [ANCESTORS]: cpid(1) })],
  ])('undefined for %s', (_, object) => {
    expect(extractFromObject(object as KubernetesObject)).toBeUndefined()
  })

  test.each([
    ['commas', ','.repeat(256 * KIB), []],
    ['one word', 'a'.repeat(256 * KIB), []],
    ['blanks', ' '.repeat(256 * KIB), []],
    ['CPIDs', list(2, 7000), Array.from({ length: 10 }, (_, number) => cpid(number + 2))],
  ])('256 KiB of %s take no time to speak of', (_, text, ancestors) => {
    const object = annotated({ [CPID]: cpid(1), [ANCESTORS]: text })
    expect(extractFromObject(object)).toEqual({ cpid: cpid(1), ancestors })
    expect(extractFromObject(annotated({ [CPID]: text }))).toBeUndefined()
  })
})

describe('writing the annotations of an object', () => {
  test('what is written is read again', () => {
    const cpids = fc.uniqueArray(fc.uuid({ version: 4 }), { minLength: 1, maxLength: 11 })
    fc.assert(
      fc.property(
        cpids,
        fc.dictionary(fc.string(), fc.string()),
        ([first = '', ...ancestors], annotations) => {
          const object = injectIntoObject({ cpid: first, ancestors }, annotated(annotations))
          expect(extractFromObject(object)).toEqual({ cpid: first, ancestors })
          expect(object.metadata?.annotations).toMatchObject(annotations)
        },
      ),
    )
  })

  test('every other annotation and field stays, and the object given is not changed', () => {
    const given = Object.freeze({
      kind: 'Pod',
      metadata: Object.freeze({ name: 'web', annotations: Object.freeze({ a: 'b', [CPID]: cpid(9) }) }),
      spec: { nodeName: 'n1' },
    })
    expect(injectIntoObject({ cpid: cpid(2), ancestors: [cpid(1)] }, given)).toEqual({
      kind: 'Pod',
      metadata: { name: 'web', annotations: { a: 'b', [CPID]: cpid(2), [ANCESTORS]: cpid(1) } },
      spec: { nodeName: 'n1' },
    })
  })

  test('the ancestors of an earlier change never stay behind', () => {
    const before = annotated({ [CPID]: cpid(2), [ANCESTORS]: cpid(1) })
    const after = injectIntoObject({ cpid: cpid(3), ancestors: [] }, before)
    expect(after.metadata?.annotations).toEqual({ [CPID]: cpid(3), [ANCESTORS]: '' })
  })

  test('an object without metadata gets some, which is a merge patch', () => {
    expect(injectIntoObject({ cpid: cpid(2), ancestors: [] }, {})).toEqual({
      metadata: { annotations: { [CPID]: cpid(2), [ANCESTORS]: '' } },
    })
  })

  test('an object of a class stays one of it', () => {
    class Pod {
      metadata = { name: 'web' }
      get title(): string {
        return `pod ${this.metadata.name}`
      }
    }
    const pod = injectIntoObject({ cpid: cpid(2), ancestors: [] }, new Pod())
    expect(pod).toBeInstanceOf(Pod)
    expect(pod.title).toBe('pod web')
    expect(extractFromObject(pod)?.cpid).toBe(cpid(2))
  })

  test('without a trace context nothing happens', () => {
    const object = { metadata: {} }
    expect(injectIntoObject(undefined, object)).toBe(object)
  })

  test('what the API server would refuse as too long is not written', () => {
    const traceContext = { cpid: cpid(2), ancestors: [cpid(1)] }
    const room = (left: number) =>
      annotated({ a: 'é'.repeat((256 * KIB - 1 - left) / 2) + 'e'.repeat(left % 2 === 0 ? 1 : 0) })
    const whole = injectIntoObject(traceContext, room(300))
    const short = injectIntoObject(traceContext, room(100))
    const full = room(50)
    expect(whole.metadata?.annotations?.[ANCESTORS]).toBe(cpid(1))
    expect(short.metadata?.annotations).toMatchObject({ [CPID]: cpid(2), [ANCESTORS]: '' })
    expect(injectIntoObject(traceContext, full)).toBe(full)
  })
})

test('the keys and the number of ancestors can be chosen', () => {
  const { injectIntoObject: inject, extractFromObject: extract } = createInstrumentation({
    maxAncestors: 1,
    annotationKeys: { cpid: 'example.com/change', ancestors: 'example.com/changes-before' },
  })
  const object = inject({ cpid: cpid(3), ancestors: [cpid(2), cpid(1)] }, {})
  expect(object).toEqual({
    metadata: {
      annotations: { 'example.com/change': cpid(3), 'example.com/changes-before': cpid(2) },
    },
  })
  expect(extract(object)).toEqual({ cpid: cpid(3), ancestors: [cpid(2)] })
})

function list(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, number) => cpid(from + number)).join(',')
}

test('no more ancestors are written than an object carries, the nearest ones', () => {
  const ancestors = [2, 3, 4, 5].map(cpid)
  const { injectIntoObject: inject } = createInstrumentation({ maxAncestors: 2 })
  const written = inject({ cpid: cpid(1), ancestors }, annotated({ [ANCESTORS]: 'old' }))
  expect(written.metadata?.annotations).toEqual({ [CPID]: cpid(1), [ANCESTORS]: `${cpid(2)},${cpid(3)}` })
  const { injectIntoObject: none } = createInstrumentation({ maxAncestors: 0 })
  expect(none({ cpid: cpid(1), ancestors }, annotated({})).metadata?.annotations?.[ANCESTORS]).toBe('')
})
