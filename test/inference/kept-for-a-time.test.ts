import { describe, expect, test } from '@jest/globals'
import { decidedByWatch, type SignedBy, timeAt } from '../../lab/harness/inference/signed-writes.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'

/** Who wrote the last of these, how it began, and what drives it. */
function lastOf(...told: SignedBy[]): unknown[] {
  const { writer, cause, self, reads = [] } = decidedByWatch(...told).at(-1) ?? {}
  const driving = reads.filter(({ isPassive }) => isPassive !== true).map(({ identity }) => identity.name)
  return [writer?.service, self?.reason ?? cause, ...(cause === 'inferred' ? driving : [])]
}

const made = (second: number, by: string, kind: string, name: string, meta: JsonObject = {}): SignedBy => [
  second,
  by,
  { kind, name, meta: { creationTimestamp: timeAt(second), generation: 1, ...meta } },
]
const deleted = (second: number, kind: string, name: string, meta: JsonObject = {}): SignedBy => [
  second,
  '',
  { type: 'DELETED', kind, name, meta: { generation: 1, ...meta } },
]
const PERSON = ['unknown', 'operator']

describe('a program that keeps only the last few', () => {
  const kept = (by: string, ...names: string[]): SignedBy[] =>
    names.map((name, at) => made(10 + 20 * at, by, 'Secret', name))

  test.each([
    ['counts', 'backup-1', 'backup-2', 'backup-3'],
    ['tells the day', 'backup-20260101', 'backup-20260102', 'backup-20260103'],
    ['has names generated', 'backup-x2k4v', 'backup-7bcdf', 'backup-qwrtz'],
    ['numbers versions', 'release.web.v9', 'release.web.v10', 'release.web.v11'],
  ])('deletes the oldest as it makes the newest, if it %s', (_, one, two, three) => {
    const all = kept('backups', one, two, three)
    expect(lastOf(...all, deleted(52, 'Secret', one))).toEqual(['backups', 'inferred', three])
    expect(lastOf(...all, deleted(52, 'Secret', two))).toEqual(PERSON)
    expect(lastOf(...all, deleted(70, 'Secret', one))).toEqual(PERSON)
  })

  test('deletes nothing that a person made, or that is of another series', () => {
    const byHand = kept('kubectl', 'backup-1', 'backup-2', 'backup-3')
    expect(lastOf(...byHand, deleted(52, 'Secret', 'backup-1'))).toEqual(PERSON)
    const others = [...kept('backups', 'backup-1', 'backup-2'), made(50, 'backups', 'Secret', 'key-1')]
    expect(lastOf(...others, deleted(52, 'Secret', 'backup-1'))).toEqual(PERSON)
    const ofOther = [...kept('backups', 'backup-1', 'backup-2'), made(50, 'other', 'Secret', 'backup-3')]
    expect(lastOf(...ofOther, deleted(52, 'Secret', 'backup-1'))).toEqual(PERSON)
    const named = [made(10, 'backups', 'Secret', 'web'), made(50, 'backups', 'Secret', 'api')]
    expect(lastOf(...named, deleted(52, 'Secret', 'web'))).toEqual(PERSON)
  })

  test('keeps releases as helm does', () => {
    const all = kept('helm', 'sh.helm.release.v1.web.v1', 'sh.helm.release.v1.web.v2')
    expect(lastOf(...all, deleted(31, 'Secret', 'sh.helm.release.v1.web.v1'))).toEqual([
      ...['helm', 'inferred', 'sh.helm.release.v1.web.v2'],
    ])
  })

  test('deletes what an object owns, too, and no Pod that runs', () => {
    const ownerReferences = [{ kind: 'Stall', name: 'toys', uid: 'uid of toys', controller: true }]
    const stall = [made(5, 'kubectl', 'Stall', 'toys'), made(6, 'stall-program', 'Stall', 'toys')]
    const runs = (kind: string, rest: JsonObject): SignedBy[] => [
      ...stall,
      ...['run-1', 'run-2', 'run-3'].map((name, at): SignedBy => {
        const [second, by, write] = made(10 + 20 * at, 'stall-program', kind, name, { ownerReferences })
        return [second, by, { ...write, rest }]
      }),
      [52, '', { type: 'DELETED', kind, name: 'run-1', meta: { generation: 1, ownerReferences }, rest }],
    ]
    expect(lastOf(...runs('Secret', {}))).toEqual(['stall-program', 'inferred', 'run-3'])
    const pod = (phase: string): JsonObject => ({ spec: { containers: [{ name: 'c' }] }, status: { phase } })
    expect(lastOf(...runs('Pod', pod('Succeeded')))).toEqual(['stall-program', 'inferred', 'run-3'])
    expect(lastOf(...runs('Pod', pod('Running')))).toEqual(PERSON)
  })
})

describe('what lives for a time', () => {
  const stall = (spec: JsonObject, meta: JsonObject = {}): SignedBy => {
    const [second, by, write] = made(10, 'kubectl', 'Stall', 'toys', meta)
    return [second, by, { ...write, rest: { spec } }]
  }
  /** Its program has written its status. */
  const stated = (spec: JsonObject, meta: JsonObject = {}): SignedBy => {
    const [, , write] = stall(spec, meta)
    return [11, 'stall-program', { ...write, subresource: 'status', rest: { spec, status: { ready: 1 } } }]
  }
  const endOf = (second: number, spec: JsonObject, meta: JsonObject = {}): unknown[] => {
    const [, , write] = stall(spec, meta)
    return lastOf(stall(spec, meta), stated(spec, meta), [second, '', { ...write, type: 'DELETED' }])
  }
  const EXPIRED = ['stall-program', 'expiry']

  test.each<[string, JsonObject, JsonObject]>([
    ['seconds', { ttlSeconds: 30 }, {}],
    ['a number', { ttl: 30 }, {}],
    ['seconds that it is kept', { keepsSeconds: 30 }, {}],
    ['text', { lifetime: '30s' }, {}],
    ['minutes and seconds', { timeToLive: '0m30s' }, {}],
    ['an annotation', {}, { annotations: { 'janitor/ttl': '30s' } }],
    ['a label', {}, { labels: { 'stalls.example.com/expire-after': '30' } }],
    ['a moment', { expiresAt: timeAt(40) }, {}],
    ['a moment in an annotation', {}, { annotations: { 'janitor/expires': timeAt(40) } }],
  ])('is deleted by its program when that is over: %s', (_, spec, meta) => {
    expect(endOf(41, spec, meta)).toEqual(EXPIRED)
    expect(endOf(39, spec, meta)).toEqual(PERSON)
    expect(endOf(400, spec, meta)).toEqual(PERSON)
  })

  test.each<[string, JsonObject, JsonObject]>([
    ['a name server keeps its name for that time', {}, { annotations: { 'external-dns.io/ttl': '30' } }],
    ['it is no time', { ttl: 'soon' }, {}],
    ['it counts objects', { retention: 30, keep: 30 }, {}],
    ['it is below zero', { ttlSeconds: -30 }, {}],
    ['it is no field of its own', { template: { ttlSeconds: 30 } }, {}],
  ])('%s: a person deletes it', (_, spec, meta) => {
    expect(endOf(41, spec, meta)).toEqual(PERSON)
  })

  test('is deleted when what it was made for keeps it no longer', () => {
    const ownerReferences = [{ kind: 'Stall', name: 'toys', uid: 'uid of toys', controller: true }]
    const told = (second: number): unknown[] =>
      lastOf(
        ...[stall({ retention: '30s' }), stated({ retention: '30s' })],
        made(20, 'stall-program', 'Secret', 'toys-key', { ownerReferences }),
        deleted(second, 'Secret', 'toys-key', { ownerReferences }),
      )
    expect(told(51)).toEqual(EXPIRED)
    expect(told(45)).toEqual(PERSON)
  })
})
