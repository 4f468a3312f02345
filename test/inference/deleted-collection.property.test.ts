import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { replay } from '../../lab/harness/inference/replay.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import { readAuditEvents } from '../../src/kube/objects/audit-events.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const WINDOW = 500
const WHO_WAIT = 2_000
const MS = 1_000_000n
const START_MS = Date.UTC(2026, 0, 1)
/** How long the request for the collection takes. */
const TAKES_MS = 200
/** How long a kubelet takes to end a Pod. */
const ENDS_AFTER_MS = 1_500

const atMs = (ms: number): bigint => BigInt(START_MS + ms) * MS
const time = (ms: number): string => new Date(START_MS + ms).toISOString()

/** An object, who deletes it, and how late each source tells of that. */
interface Pod {
  /** Of the collection, or by a request of its own. */
  readonly isOfCollection: boolean
  /** Its kubelet ends it after it was marked. */
  readonly hasKubelet: boolean
  readonly deletedMs: number
  /** How long after it was marked its controller writes its status. */
  readonly reportedAfterMs: number | null
  readonly watchMs: number
  readonly auditMs: number
}

const pods = fc.array(
  fc.record<Pod>({
    isOfCollection: fc.boolean(),
    hasKubelet: fc.boolean(),
    deletedMs: fc.nat(TAKES_MS),
    reportedAfterMs: fc.option(fc.integer({ min: 1, max: ENDS_AFTER_MS - 1 })),
    watchMs: fc.nat(WINDOW - 1),
    auditMs: fc.nat(WHO_WAIT - TAKES_MS - 1),
  }),
  { maxLength: 12 },
)

interface Made {
  readonly ms: number
  readonly name: string
  readonly user: string
  readonly isEnd: boolean
  readonly isStatus?: true
  readonly pod: Pod
}

/** The versions of all deletions, in order: the first marks a Pod that has a kubelet, which ends it after a controller may have written its status. */
function madeBy(all: readonly Pod[]): Made[] {
  const made = all.flatMap((pod, index): Made[] => {
    const name = `web-${index}`
    const user = pod.isOfCollection ? 'carol' : 'bob'
    const first = { name, pod, user, ms: pod.deletedMs, isEnd: !pod.hasKubelet }
    const end = { name, pod, user: 'kubelet', ms: pod.deletedMs + ENDS_AFTER_MS, isEnd: true }
    const reported = { name, pod, user: 'dave', ms: pod.deletedMs + (pod.reportedAfterMs ?? 0), isEnd: false }
    const between = pod.reportedAfterMs === null ? [] : [{ ...reported, isStatus: true } as const]
    return pod.hasKubelet ? [first, ...between, end] : [first]
  })
  return made.sort((one, other) => one.ms - other.ms)
}

const before = ({ name, pod }: Pick<Made, 'name' | 'pod'>, version = 1): JsonObject => ({
  metadata: { name, namespace: 'shop', uid: `u ${name}`, resourceVersion: String(version) },
  spec: pod.hasKubelet ? { nodeName: 'one' } : {},
})

const DAVE = { manager: 'dave', operation: 'Update', subresource: 'status', fieldsV1: {} }

function watched(one: Made, version: number): Observation {
  const { metadata, ...rest } = before(one, version)
  const going = {
    ...(metadata as JsonObject),
    ...(one.pod.hasKubelet && { deletionTimestamp: time(one.pod.deletedMs) }),
    ...(one.isStatus && { managedFields: [{ ...DAVE, time: time(Math.floor(one.ms / 1_000) * 1_000) }] }),
  }
  const object = { ...rest, kind: 'Pod', apiVersion: 'v1', metadata: going }
  const read = readWatchEvent(
    { type: one.isEnd ? 'DELETED' : 'MODIFIED', object },
    atMs(one.ms + one.pod.watchMs),
  )
  if (typeof read === 'string') throw new Error(read)
  return read
}

function audited(verb: string, user: string, ms: readonly [number, number], more: JsonObject): Observation[] {
  const read = readAuditEvents({
    ...{ stage: 'ResponseComplete', verb, auditID: `${user} ${JSON.stringify(more['objectRef'])}` },
    ...{ responseStatus: { code: 200 }, user: { username: user } },
    ...{ requestReceivedTimestamp: time(ms[0]), stageTimestamp: time(ms[1]) },
    ...more,
  })
  return typeof read === 'string' ? [] : [...read]
}

const ofPods = { resource: 'pods', namespace: 'shop', apiVersion: 'v1' }

/** What an audit log tells of: the request for the collection, and a request for each other version. */
function auditedOf(made: readonly Made[], hasAnswers: boolean): [number, Observation[]][] {
  const own = made
    .filter(({ user }) => user !== 'carol')
    .map((one): [number, Observation[]] => {
      const objectRef = { ...ofPods, name: one.name, ...(one.isStatus && { subresource: 'status' }) }
      const uid = `u ${one.name}`
      if (one.isStatus)
        return [
          one.ms + one.pod.auditMs,
          audited('update', one.user, [one.ms, one.ms], { objectRef, userAgent: 'dave/1' }),
        ]
      const answer = hasAnswers ? { responseObject: { kind: 'Status', details: { uid } } } : {}
      return [
        one.ms + one.pod.auditMs,
        audited('delete', one.user, [one.ms, one.ms], { objectRef, ...answer }),
      ]
    })
  const items = made.filter(({ user }) => user === 'carol').map((one) => before(one))
  const answer: JsonObject = hasAnswers
    ? {
        requestObject: { kind: 'DeleteOptions' },
        responseObject: { kind: 'PodList', metadata: { resourceVersion: '2' }, items },
      }
    : {}
  return [
    ...own,
    [TAKES_MS, audited('deletecollection', 'carol', [0, TAKES_MS], { objectRef: ofPods, ...answer })],
  ]
}

test.each([
  ['with its answer', true],
  ['without its answer', false],
])('whoever deletes a collection deleted what nobody else did, %s', (_, hasAnswers) => {
  fc.assert(
    fc.property(pods, (all) => {
      const made = madeBy(all)
      const told = [
        ...made.map((one, index): [number, Observation[]] => [
          one.ms + one.pod.watchMs,
          [watched(one, index + 10)],
        ]),
        ...auditedOf(made, hasAnswers),
      ].sort(([one], [other]) => one - other)
      const line = new WriteQueue({
        windowNs: BigInt(WINDOW) * MS,
        whoWaitNs: BigInt(WHO_WAIT) * MS,
        isWatched: true,
      })
      const out = told.flatMap(([ms, observations]) => {
        for (const one of observations) line.add(one, atMs(ms))
        return line.takeDue(atMs(ms))
      })
      out.push(...line.takeDue(atMs(20_000)))
      expect(out.map(({ object: { name }, request }) => [name, request?.actor.user])).toEqual(
        made.map(({ name, user }) => [name, user]),
      )
      expect(line.size).toBe(0)
      expect(line.takeUnmatched()).toBe(0)
    }),
    { numRuns: 300 },
  )
})

test('a collection that no answer lists takes no write of an object that was going before', () => {
  const deletedBy = (user: string, verb: string, name: string, fromMs: number): readonly Observation[] => {
    const read = readAuditEvents({
      ...{ stage: 'ResponseComplete', level: 'Metadata', verb, auditID: user, requestURI: '/' },
      ...{ responseStatus: { code: 200 }, user: { username: user } },
      objectRef: { apiVersion: 'v1', resource: 'pods', namespace: 'shop', ...(name !== '' && { name }) },
      ...{ requestReceivedTimestamp: time(fromMs), stageTimestamp: time(fromMs + 50) },
    })
    if (typeof read === 'string') throw new Error(read)
    return read
  }
  const seen = (type: string, version: number, ms: number, meta: JsonObject, phase: string): Observation => {
    const metadata = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: `${version}`, ...meta }
    const object = { kind: 'Pod', apiVersion: 'v1', metadata, spec: { nodeName: 'one' }, status: { phase } }
    const read = readWatchEvent({ type, object }, atMs(ms))
    if (typeof read === 'string') throw new Error(read)
    return read
  }
  const going = { deletionTimestamp: time(35_000), deletionGracePeriodSeconds: 30 }
  const { decisions } = replay(
    [
      seen('ADDED', 5, 0, {}, 'Running'),
      seen('MODIFIED', 6, 5_020, going, 'Running'),
      ...deletedBy('dave', 'delete', 'web', 5_000),
      ...deletedBy('carol', 'deletecollection', '', 7_400),
      seen('MODIFIED', 7, 7_700, going, 'Failed'),
      seen('DELETED', 8, 7_900, { ...going, deletionGracePeriodSeconds: 0 }, 'Failed'),
    ],
    ['audit', 'watch'],
    undefined,
    { operators: [], controllers: [] },
  )
  expect(decisions.map(({ part, writer }) => `${part} by ${writer.user ?? writer.service}`)).toEqual([
    'creation by unknown',
    'deletion by dave',
    'status by kubelet',
    'removal by kubelet',
  ])
})
