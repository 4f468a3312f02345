import { describe, expect, test } from '@jest/globals'
import { MemoryChanges } from '../../lab/harness/inference/memory-changes.ts'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import { decide } from '../../src/kube/inference/decide.ts'
import { parseRelations, RELATIONS } from '../../src/kube/inference/relations.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { RelationSettings } from '../../src/model/kubernetes-objects.ts'

const CONTROLLER = { manager: 'widget-controller', time: 't' }

interface Custom {
  kind: string
  name: string
  version: number
  namespace?: string
  rest?: object
  metadata?: object
}

/** What each version is taken to have read, where a widget-controller writes widgets. */
function readsWith(settings: readonly RelationSettings[], ...all: Custom[]): (string | undefined)[][] {
  const { relations, references, problems } = parseRelations(settings)
  expect(problems).toEqual([])
  const [objects, changes] = [new MemoryObjects(), new MemoryChanges()]
  const line = new WriteQueue({ windowNs: 0n, whoWaitNs: 0n, isWatched: true })
  for (const { kind, name, version, namespace = 'shop', rest, metadata } of all) {
    const managedFields = [kind === 'Widget' ? CONTROLLER : { manager: 'kubectl', time: `t${version}` }]
    const whole = { name, namespace, uid: `${kind} ${name}`, resourceVersion: String(version), managedFields }
    // Of its own API group anything may be meant.
    const apiVersion = kind === 'Widget' ? 'example.com/v1' : 'market.test/v1'
    const object = { apiVersion, kind, metadata: { ...whole, ...metadata }, ...rest }
    const event = JSON.parse(JSON.stringify({ type: 'ADDED', object })) as JsonObject
    const read = readWatchEvent(event, BigInt(version), undefined, { references, fieldValues: 'plain' })
    if (typeof read === 'string') throw new Error(read)
    line.add(read, 0n)
  }
  const table = [...RELATIONS, ...relations]
  return line.takeDue(10n).map((write) => {
    const rules = { cluster: 'test', relations: table, operators: [], controllers: ['widget-controller'] }
    const decision = decide(write, objects, changes, rules)
    return decision?.reads.map(({ identity }) => identity.name) ?? []
  })
}

const shop: Custom = { kind: 'Shop', name: 'corner', version: 1 }

describe('relations of custom resources', () => {
  test.each<[string, RelationSettings['from'], Partial<Custom>]>([
    [
      'a label',
      { label: 'place.test/shop', of: 'shops' },
      { metadata: { labels: { 'place.test/shop': 'corner' } } },
    ],
    [
      'an annotation',
      { annotation: 'example.com/shop', of: 'shops' },
      { metadata: { annotations: { 'example.com/shop': 'corner' } } },
    ],
    [
      'a field',
      { field: '.spec.place.name', of: 'shops' },
      { rest: { spec: { place: { name: 'corner' } } } },
    ],
    [
      'entries',
      { field: '.spec.places[*].name', of: 'shops' },
      { rest: { spec: { places: [{}, { name: 'corner' }] } } },
    ],
  ])('%s names what a write follows from', (_, from, more) => {
    const widget = { kind: 'Widget', name: 'w', version: 2, ...more }
    expect(readsWith([{ resource: 'widgets', from }], shop, widget)).toEqual([[], ['corner']])
    expect(readsWith([{ resource: 'gadgets', from }], shop, widget)).toEqual([[], []])
  })

  test('what is named may be of another namespace, or of none', () => {
    const ref = { name: 'corner', namespace: 'elsewhere' }
    const widget: Custom = { kind: 'Widget', name: 'w', version: 2, rest: { spec: { ref } } }
    const from = { field: '.spec.ref.name', of: 'shops', namespace: '.spec.ref.namespace' }
    const elsewhere = { ...shop, namespace: 'elsewhere' }
    expect(readsWith([{ resource: 'widgets', from }], elsewhere, widget)).toEqual([[], ['corner']])
    const cluster = { ...shop, namespace: '' }
    const plain = { field: '.spec.ref.name', of: 'shops' }
    expect(readsWith([{ resource: 'widgets', from: plain }], cluster, widget)).toEqual([[], ['corner']])
    expect(readsWith([{ resource: 'widgets', from: plain }], elsewhere, widget)).toEqual([[], []])
  })

  test('it speaks of the writes and of the controller that it names', () => {
    const from = { field: '.spec.shop', of: 'shops' }
    const widget: Custom = { kind: 'Widget', name: 'w', version: 2, rest: { spec: { shop: 'corner' } } }
    expect(readsWith([{ resource: 'widgets', from, on: ['status'] }], shop, widget)).toEqual([[], []])
    expect(readsWith([{ resource: 'widgets', from, by: 'another' }], shop, widget)).toEqual([[], []])
    expect(readsWith([{ resource: 'widgets', from, by: 'widget-controller' }], shop, widget)).toEqual([
      [],
      ['corner'],
    ])
  })

  test('an owner is read for a status too, where that is said', () => {
    const owned = {
      ownerReferences: [{ kind: 'Shop', name: 'corner', uid: 'Shop corner', controller: true }],
    }
    const made: Custom = {
      kind: 'Widget',
      name: 'w',
      version: 2,
      metadata: owned,
      rest: { status: { a: 1 } },
    }
    const again = { ...made, version: 3, rest: { status: { a: 2 } } }
    expect(readsWith([], shop, made, again).at(-1)).toEqual(['w'])
    const settings = [{ resource: 'widgets', from: 'owner', on: ['status'] }] as const
    expect(readsWith(settings, shop, made, again).at(-1)).toEqual(['w', 'corner'])
  })
})

test.each<[RelationSettings, RegExp]>([
  [{ resource: 'Widget', from: 'owner' }, /write the plural, such as widgets/],
  [{ resource: 'widgets', from: 'owner', on: ['scale'] }, /"scale".*creation, authored, status, deletion/],
  [{ resource: 'widgets', from: { of: 'shops' } }, /exactly one of label, annotation and field/],
  [{ resource: 'widgets', from: { label: 'a', field: '.b', of: 'shops' } }, /exactly one/],
  [{ resource: 'widgets', from: { label: 'a', of: '' } }, /plural of what is named/],
  [{ resource: 'widgets', from: { field: 'spec.shop', of: 'shops' } }, /"spec.shop".*\.spec\.shop\.name/],
  [{ resource: 'widgets', from: { label: 'a', of: 'shops', namespace: '.x[0]' } }, /"\.x\[0\]"/],
])('%j is refused, and the others are taken', (bad, problem) => {
  const good: RelationSettings = { resource: 'widgets', from: 'owner' }
  const parsed = parseRelations([bad, good])
  expect(parsed.problems).toEqual([{ at: 0, problem: expect.stringMatching(problem) }])
  expect(parsed.relations).toHaveLength(1)
})
