import { afterEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Verb } from '../../src/model/kubernetes-observations.ts'
import { cpid } from '../support/otlp-requests.ts'
import {
  ALICE,
  DEPLOYED,
  DEPLOYMENTS,
  MADE,
  OPERATOR,
  OVER_MS,
  referenceOf,
  type Resource,
  ROOT,
  rootOf,
  SPAN,
  STEP_MS,
  TENANT,
  type Version,
  Watched,
} from '../support/watched-cluster.ts'

let open: Watched | undefined
afterEach(() => {
  open?.[Symbol.dispose]()
  open = undefined
})

describe('a write of a program that tells of it', () => {
  for (const [when, afterMs] of [
    ['before it is seen', 0],
    ['five seconds later', 5_000],
  ] as const) {
    test(`is one, told ${when}`, async () => {
      open = await Watched.open()
      open.make(MADE)
      open.make(DEPLOYED, 250, 500)
      open.tell(OPERATOR, SPAN, afterMs, [referenceOf(DEPLOYED)])
      open.pass(OVER_MS)
      expect(open.shown()).toEqual({ 'tenants 10': ['kubectl'], 'deployments 11': [OPERATOR] })
    })
  }

  test('keeps who made it, as the API server knows them', async () => {
    open = await Watched.open()
    open.make(MADE)
    open.make(DEPLOYED)
    open.tell(OPERATOR, SPAN, 1_000, [referenceOf(DEPLOYED)])
    open.pass(OVER_MS)
    const seen = open.writer.db
      .prepare('SELECT user_name AS user, audit_id AS request FROM seen_writes ORDER BY span')
      .all()
    expect(seen).toContainEqual({ user: TENANT.user, request: 'audit-11' })
    const actors = open.writer.db.prepare('SELECT actor, writes FROM trace_actors ORDER BY actor').all()
    expect(actors).toEqual([
      { actor: ALICE.user, writes: 1 },
      { actor: TENANT.user, writes: 1 },
    ])
  })

  test('is shown as it was seen where nobody tells', async () => {
    open = await Watched.open()
    open.make(MADE)
    open.make(DEPLOYED)
    open.pass(OVER_MS)
    expect(open.shown()).toEqual({ 'tenants 10': ['kubectl'], 'deployments 11': ['tenant'] })
  })

  test('is one where it carries no change: a status, a deletion that waits, and its end', async () => {
    open = await Watched.open()
    open.make(MADE)
    open.make(DEPLOYED)
    open.tell(OPERATOR, SPAN, 1_000, [referenceOf(DEPLOYED)])
    const status = { ...MADE, version: 12, actor: TENANT, verb: 'update', subresource: 'status' } as const
    open.make(status)
    open.tell(OPERATOR, { name: 'update example.com/v1/tenants/status', cpid: ROOT }, 4_000, [
      referenceOf(status),
    ])
    const marked = { ...DEPLOYED, version: 13, verb: 'patch', carries: cpid(1) } as const
    const going = { ...marked, version: 14, verb: 'delete', deleting: true, generation: 2 } as const
    const end = { ...going, version: 15, verb: 'update', gone: true } as const
    for (const version of [marked, going, end]) open.make(version)
    const object = 'apps/v1/deployments/shop/acme?uid=deployments'
    open.tell(OPERATOR, { name: 'delete apps/v1/deployments', cpid: cpid(1) }, 5_000, [
      referenceOf(marked),
      object,
    ])
    open.tell(OPERATOR, { name: 'update apps/v1/deployments', cpid: cpid(1) }, 5_000, [object])
    open.mergelog(OPERATOR, cpid(1), [ROOT], referenceOf(marked), 1_000)
    open.pass(OVER_MS)
    expect(open.shown()).toEqual({
      'tenants 10': ['kubectl'],
      'deployments 11': [OPERATOR],
      'tenants 12': [OPERATOR],
      'deployments 13': [OPERATOR],
      'deployments 14': [OPERATOR],
      'deployments 15': [OPERATOR],
    })
    expect(open.rootsOf('deployments', 15)).toEqual([ROOT])
  })

  test('is not exact where it is a status: it sums up what others changed', async () => {
    open = await Watched.open()
    open.make(MADE)
    open.make(DEPLOYED)
    open.tell(OPERATOR, SPAN, 0, [referenceOf(DEPLOYED)])
    open.pass(4_000)
    open.make({ ...DEPLOYED, version: 12, verb: 'update', generation: 2, actor: ALICE })
    const status = { verb: 'update', subresource: 'status', ready: 1 } as const
    open.make({ ...DEPLOYED, ...status, version: 13, actor: DEPLOYMENTS, generation: 2 })
    open.pass(4_000)
    const summed: Version = { ...MADE, ...status, version: 14, actor: TENANT }
    open.make(summed)
    open.tell(OPERATOR, { name: 'update example.com/v1/tenants/status', cpid: ROOT }, 0, [
      referenceOf(summed),
    ])
    open.pass(OVER_MS)
    expect(open.shown()['tenants 14']).toEqual([OPERATOR])
    expect(open.causeOf('deployments', 11)).toBe('exact')
    expect(open.causeOf('tenants', 14)).toBe('inferred')
  })

  test('hides nothing of what another wrote, whoever says that it is theirs', async () => {
    open = await Watched.open()
    open.make(MADE)
    open.make(DEPLOYED)
    open.tell(OPERATOR, SPAN, 0, [referenceOf(DEPLOYED)])
    open.tell('mallory', { name: 'create example.com/v1/tenants', cpid: cpid(7) }, 0, [referenceOf(MADE)])
    open.pass(OVER_MS)
    expect(open.shown()['tenants 10']).toEqual(['mallory', 'kubectl'])
    expect(open.rootsOf('deployments', 11)).toEqual([ROOT])
  })

  test('is waited for three times in vain, and then no more until it comes', async () => {
    open = await Watched.open()
    const waited: number[] = []
    for (const version of [10, 20, 30, 40]) {
      const own = {
        ...DEPLOYED,
        version,
        verb: 'update',
        carries: cpid(version),
        generation: version,
      } as const
      open.make(own)
      let ms = 0
      while (open.shown()[`deployments ${version}`] === undefined) {
        open.pass(STEP_MS)
        ms += STEP_MS
      }
      waited.push(ms)
    }
    expect(waited.map((ms) => ms >= 7_000)).toEqual([true, true, true, false])
  })

  test('is not waited for where its change was copied from its owner', async () => {
    open = await Watched.open()
    open.make(MADE)
    open.make(DEPLOYED)
    open.tell(OPERATOR, SPAN, 0, [referenceOf(DEPLOYED)])
    open.pass(2_000)
    open.make({
      ...{ resource: 'replicasets', version: 12, actor: DEPLOYMENTS, verb: 'create', generation: 1 },
      carries: ROOT,
    })
    open.pass(2_000)
    expect(open.shown()['replicasets 12']).toEqual(['deployment-controller'])
  })
})

describe('a change that a program begins for a writer that it does not know', () => {
  test('is no change of its own where the object was just made', async () => {
    open = await Watched.open()
    open.make(MADE)
    open.tell(OPERATOR, { name: 'write example.com/v1/tenants', cpid: ROOT, start: 0, end: 0 }, 250, [
      referenceOf(MADE),
    ])
    open.mergelog(OPERATOR, ROOT, [], referenceOf(MADE), 250)
    open.pass(OVER_MS)
    expect(open.shown()).toEqual({ 'tenants 10': ['kubectl'] })
  })

  test('is shown once, and keeps who began it, where it is told before anybody has seen the object', async () => {
    open = await Watched.open()
    open.make(MADE, 1_000, 1_000)
    open.tell(OPERATOR, { name: 'write example.com/v1/tenants', cpid: ROOT, start: 0, end: 0 }, 250, [
      referenceOf(MADE),
    ])
    open.mergelog(OPERATOR, ROOT, [], referenceOf(MADE), 250)
    open.pass(OVER_MS)
    expect(open.shown()).toEqual({ 'tenants 10': [OPERATOR] })
    const began = open.writer.db.prepare('SELECT actor FROM trace_actors WHERE began = 1').pluck().all()
    expect(began).toEqual(['alice'])
  })

  const SCALER = { user: 'system:serviceaccount:other:scaler', userAgent: 'scaler/v1' }
  const BY_CONTROLLER: Version = { ...DEPLOYED, version: 12, verb: 'update', generation: 2, actor: SCALER }
  const BEGUN = rootOf('deployments', 12)

  for (const [when, afterMs] of [
    ['before the write is decided about', 0],
    ['after it', 5_000],
  ] as const) {
    test(`is the change that the write is of, told ${when}`, async () => {
      open = await Watched.open()
      open.make(MADE)
      open.make(DEPLOYED)
      open.tell(OPERATOR, SPAN, 0, [referenceOf(DEPLOYED)])
      open.pass(4_000)
      open.make(BY_CONTROLLER)
      const now = 4_000
      open.tell(OPERATOR, { name: 'write apps/v1/deployments', cpid: BEGUN, start: now, end: now }, afterMs, [
        referenceOf(BY_CONTROLLER),
      ])
      open.mergelog(OPERATOR, BEGUN, [], referenceOf(BY_CONTROLLER), afterMs)
      const answer = { ...DEPLOYED, version: 13, verb: 'update', generation: 3, carries: BEGUN } as const
      open.make(answer)
      open.tell(OPERATOR, { name: 'update apps/v1/deployments', cpid: BEGUN }, afterMs, [referenceOf(answer)])
      open.pass(OVER_MS)
      expect(open.shown()).toEqual({
        'tenants 10': ['kubectl'],
        'deployments 11': [OPERATOR],
        'deployments 12': ['scaler'],
        'deployments 13': [OPERATOR],
      })
      expect(open.rootsOf('deployments', 12)).toEqual([ROOT])
      expect(open.rootsOf('deployments', 13)).toEqual([ROOT])
    })
  }
})

interface Step {
  readonly who: 'alice' | 'operator' | 'operator status' | 'deployment controller'
  readonly toldMs: number
  readonly watchedMs: number
  readonly auditedMs: number
}

const step = fc.record<Step>({
  who: fc.constantFrom('alice', 'operator', 'operator status', 'deployment controller'),
  toldMs: fc.integer({ min: 0, max: 5_500 }),
  watchedMs: fc.integer({ min: 0, max: 300 }),
  auditedMs: fc.integer({ min: 0, max: 1_500 }),
})

test('in any history each write is one, by whoever made it, and every change began with a person', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      using watched = await Watched.open()
      const expected: Record<string, string[]> = { 'tenants 10': ['kubectl'], 'deployments 11': [OPERATOR] }
      const persons = [ROOT]
      watched.make(MADE)
      watched.make(DEPLOYED, 100, 100)
      watched.tell(OPERATOR, SPAN, 1_000, [referenceOf(DEPLOYED)])
      let [change, carried, tenant, generation, wanted] = [ROOT, ROOT, 1, 1, 1]
      const last: [Resource, number][] = []
      steps.forEach(({ who, toldMs, watchedMs, auditedMs }, at) => {
        watched.pass(500)
        const version = 20 + at
        const verb: Verb = 'update'
        if (who === 'alice') {
          watched.make({ ...MADE, version, verb: 'patch', generation: ++tenant }, watchedMs, auditedMs)
          change = rootOf('tenants', version)
          persons.push(change)
          expected[`tenants ${version}`] = ['kubectl']
        } else if (who === 'operator' && change !== carried) {
          const merged = cpid(1_000 + at)
          const made = { ...DEPLOYED, version, verb, generation: ++generation, carries: merged }
          watched.make(made, watchedMs, auditedMs)
          watched.mergelog(OPERATOR, merged, [carried, change], referenceOf(made), Math.min(toldMs, 1_000))
          watched.tell(OPERATOR, { name: 'update apps/v1/deployments', cpid: merged }, toldMs, [
            referenceOf(made),
          ])
          carried = change = merged
          expected[`deployments ${version}`] = [OPERATOR]
          last.push(['deployments', version])
        } else if (who === 'operator status') {
          const made = { ...MADE, version, actor: TENANT, verb, subresource: 'status', generation: tenant }
          watched.make(made, watchedMs, auditedMs)
          watched.tell(OPERATOR, { name: 'update example.com/v1/tenants/status', cpid: change }, toldMs, [
            referenceOf(made),
          ])
          expected[`tenants ${version}`] = [OPERATOR]
          last.push(['tenants', version])
        } else if (who === 'deployment controller') {
          const copy: Version = { ...DEPLOYED, resource: 'replicasets', version, actor: DEPLOYMENTS, verb }
          const isFirst = wanted === 1
          watched.make(
            { ...copy, verb: isFirst ? 'create' : verb, carries: carried, generation: wanted++ },
            watchedMs,
            auditedMs,
          )
          expected[`replicasets ${version}`] = ['deployment-controller']
          last.push(['replicasets', version])
        }
      })
      watched.pass(OVER_MS)
      expect(watched.shown()).toEqual(expected)
      for (const [resource, version] of last)
        expect(persons).toEqual(expect.arrayContaining(watched.rootsOf(resource, version)))
    }),
    { numRuns: 25 },
  )
}, 120_000)
