import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import {
  ANY_RESOURCE,
  type ClusterObjects,
  foundUnder,
  type KnownObject,
  type KnownVersion,
  MADE_FOR,
} from '../../src/model/inference-store.ts'
import type { ObjectFacts, ObjectIdentity } from '../../src/model/kubernetes-objects.ts'
import { parseCpid } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const KEPT = 8
const HOUR = 3_600_000
const RESOURCES = ['pods', 'replicasets']

interface Added {
  kind: 'add'
  object: number
  version: number
  owner: number | undefined
  target: number | undefined
  departed: number | undefined
  gone: boolean
  includes: number
}
type Step =
  | Added
  | { kind: 'act'; object: number; version: number }
  | { kind: 'look'; object: number; version: number }
  | { kind: 'rollBack'; added: Added }
  | { kind: 'reopen' }

const object = fc.nat(5)
const version = fc.nat(40)
const added: fc.Arbitrary<Added> = fc.record({
  kind: fc.constant('add' as const),
  ...{ object, version, gone: fc.boolean(), includes: fc.nat(3) },
  owner: fc.option(object, { nil: undefined }),
  target: fc.option(object, { nil: undefined }),
  departed: fc.option(object, { nil: undefined }),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: added },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('look' as const), object, version }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('act' as const), object, version }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rollBack' as const), added }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
)

const identityOf = (at: number): ObjectIdentity => ({
  ...{ apiVersion: 'v1', resource: RESOURCES[at % 2] ?? '', namespace: 'shop' },
  // Two objects in turn have each name.
  ...{ name: `object-${at >> 1}`, uid: `uid-${at}` },
})

function versionOf({ version: of, owner, target, departed, gone, includes }: Added): KnownVersion {
  const facts: ObjectFacts = {
    ...{ generation: of, managers: [], deleting: gone, prints: { authored: String(of) } },
    owners:
      owner === undefined ? [] : [{ kind: 'Some', name: 'owner', uid: `uid-${owner}`, controller: true }],
    ...(departed !== undefined && {
      foundBy: ['departed', MADE_FOR].map((as) => ({ uid: `uid-${departed}`, as })),
    }),
    references: target === undefined ? [] : [{ field: 'target', ...pick(identityOf(target)) }],
  }
  const some = Array.from({ length: includes }, (_, at) => cpid(at + 1)).flatMap(
    (one) => parseCpid(one) ?? [],
  )
  return { version: BigInt(of), cpid: parseCpid(cpid(of + 1)), gone, facts, includes: some }
}

const pick = ({ resource, namespace, name }: ObjectIdentity) => ({ resource, namespace, name })

/** What can be seen of an object, as far as versions are kept. */
const seen = (one: KnownObject | undefined): unknown =>
  one && {
    uid: one.identity.uid,
    versions: one.versions.slice(0, KEPT).map(({ version: of, cpid: from, gone, facts, includes }) => ({
      ...{ of, from, gone, facts, includes: [...includes] },
    })),
  }

test('objects in SQLite are what they are in memory, over rollbacks and restarts, with their last versions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      let writer = await TestWriter.open()
      const model = new MemoryObjects()
      for (const one of steps) {
        if (one.kind === 'reopen') writer = writer.reopened()
        else if (one.kind === 'rollBack')
          expect(() =>
            writer.stores.transactor.run(({ inference }) => {
              inference.objectsOf('test').add(identityOf(one.added.object), versionOf(one.added))
              throw new Error('undone')
            }),
          ).toThrow('undone')
        else
          writer.stores.transactor.run(({ inference }) => {
            for (const objects of [inference.objectsOf('test'), model]) {
              if (one.kind === 'act') objects.noteActed(`uid-${one.object}`, 'somebody', BigInt(one.version))
              else if (one.kind === 'look')
                if (one.version % 2 === 0) objects.noteKind(`uid-${one.object}`, `kind-${one.version % 3}`)
                else objects.notePrimary(`uid-${one.object}`, `kind-${one.version % 3}`)
              else objects.add(identityOf(one.object), versionOf(one))
            }
          })
      }
      writer.stores.transactor.run(({ inference }) => {
        const objects = inference.objectsOf('test')
        const elsewhere = inference.objectsOf('other')
        for (let at = 0; at < 6; at++) {
          const { uid, resource, namespace, name } = identityOf(at)
          expect(seen(objects.get(uid))).toEqual(seen(model.get(uid)))
          expect(elsewhere.get(uid)).toBeUndefined()
          expect(objects.lastActed(uid, 'somebody')).toBe(model.lastActed(uid, 'somebody'))
          const naming = objects.naming('target', resource, identityOf(at), 10)
          const others = model.naming('target', resource, identityOf(at), 10)
          expect(naming.map((other) => other.identity.uid).sort()).toEqual(
            others.map((other) => other.identity.uid).sort(),
          )
          const named = objects.named(resource, namespace, name)
          expect(named?.identity.name).toBe(model.named(resource, namespace, name)?.identity.name)
          const [after, before] = [10n, 1_000n]
          const owned = (of: ClusterObjects): string[] =>
            of.ownedBy(uid, resource, after, before, 10).map((other) => other.identity.uid)
          // Two of one version are in no order.
          expect(owned(objects).sort()).toEqual(owned(model).sort())
          const all = (of: ClusterObjects, as: string): string[] =>
            of.ownedBy(uid, as, after, before, 10).map((other) => other.identity.uid)
          for (const as of [ANY_RESOURCE, foundUnder(resource, 'departed'), foundUnder(resource, MADE_FOR)])
            expect(all(objects, as).sort()).toEqual(all(model, as).sort())
          const changed = (of: ClusterObjects): string[] =>
            of.changedIn(resource, namespace, after, before, 10).map((other) => other.identity.uid)
          expect(changed(objects).sort()).toEqual(changed(model).sort())
          expect(elsewhere.changedIn(resource, namespace, 0n, before, 10)).toEqual([])
          expect([...objects.primariesOf(uid)].sort()).toEqual([...model.primariesOf(uid)].sort())
          expect(objects.kindsOf(uid)).toEqual(model.kindsOf(uid))
          for (let kind = 0; kind < 3; kind++)
            for (const ask of ['lookingAfter', 'groupsOf'] as const)
              expect(objects[ask](`kind-${kind}`)).toEqual(model[ask](`kind-${kind}`))
        }
      })
    }),
    { numRuns: 150 },
  )
})

test('what went is forgotten after an hour, with all that was known of it; what is there stays', async () => {
  const some = fc.uniqueArray(fc.record({ at: fc.nat(30), isGone: fc.boolean(), late: fc.boolean() }), {
    ...{ selector: ({ at }) => at, maxLength: 20 },
  })
  await fc.assert(
    fc.asyncProperty(some, async (objects) => {
      const writer = await TestWriter.open()
      const add = (part: typeof objects): void => {
        writer.stores.transactor.run(({ inference }) => {
          for (const { at, isGone } of part) {
            const added = {
              kind: 'add',
              object: at,
              version: 1,
              target: at,
              departed: undefined,
              includes: 1,
            } as const
            const owned = { ...added, owner: at + 1 }
            inference.objectsOf('test').add(identityOf(at), versionOf({ ...owned, gone: false }))
            inference.objectsOf('test').noteActed(`uid-${at}`, 'somebody', 1n)
            if (isGone)
              inference.objectsOf('test').add(identityOf(at), versionOf({ ...owned, version: 2, gone: true }))
          }
        })
      }
      add(objects.filter(({ late }) => !late))
      writer.clock.advance(HOUR)
      add(objects.filter(({ late }) => late))
      writer.clock.advance(HOUR / 2)
      while (writer.writer.prune(1_000, { isCalendarRight: true }).more);
      const left = objects.filter(({ isGone, late }) => !isGone || late)
      const rows = (table: string): number => writer.rows(table)
      expect(rows('k8s_objects')).toBe(left.length)
      expect(rows('k8s_owners')).toBe(left.length)
      expect(rows('k8s_references')).toBe(left.length)
      expect(rows('k8s_acted')).toBe(left.length)
      expect(rows('k8s_versions')).toBe(left.reduce((sum, { isGone }) => sum + (isGone ? 2 : 1), 0))
      writer.stores.transactor.run(({ inference }) => {
        for (const { at, isGone, late } of objects) {
          const found = inference.objectsOf('test').get(`uid-${at}`)
          expect(found === undefined).toBe(isGone && !late)
        }
      })
    }),
    { numRuns: 60 },
  )
})

test('an object that was asked for before it was there is found once it is, after any number of others were looked at', async () => {
  const added = {
    kind: 'add',
    version: 1,
    owner: undefined,
    target: undefined,
    departed: undefined,
    gone: false,
    includes: 0,
  } as const
  const others = Array.from({ length: 4_100 }, (_, at) => at + 1)
  const before = await TestWriter.open()
  before.stores.transactor.run(({ inference }) => {
    const objects = inference.objectsOf('test')
    for (const at of others) objects.add(identityOf(at), versionOf({ ...added, object: at }))
  })
  before.reopened().stores.transactor.run(({ inference }) => {
    const objects = inference.objectsOf('test')
    expect(objects.get('uid-0')).toBeUndefined()
    objects.add(identityOf(0), versionOf({ ...added, object: 0 }))
    for (const at of others) objects.get(`uid-${at}`)
    expect(seen(objects.get('uid-0'))).toMatchObject({ uid: 'uid-0' })
  })
})

test('of very many kinds of custom resources some are not kept, and what controllers look after has its room all the same', async () => {
  using writer = await TestWriter.open()
  writer.stores.transactor.run(({ inference }) => {
    const objects = inference.objectsOf('test')
    for (let at = 0; at < 1_500; at++) objects.noteKind(`group-${at}.example`, 'things')
    for (let at = 0; at < 1_500; at++) objects.notePrimary(`controller-${at}`, 'things')
  })
  expect(writer.rows('k8s_primaries')).toBe(2_000)
  writer.stores.transactor.run(({ inference }) => {
    const objects = inference.objectsOf('test')
    expect(objects.primariesOf('controller-999')).toEqual(['things'])
    expect(objects.primariesOf('controller-1000')).toEqual([])
    expect(objects.kindsOf('group-999.example')).toEqual(['things'])
  })
})
