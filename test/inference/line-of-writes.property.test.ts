import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readAdmissionReview, readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { ClusterWrite, Observation } from '../../src/model/kubernetes-observations.ts'

const WINDOW = 500
const WHO_WAIT = 2_000
const TELLING_WAIT = 7_000
const MS = 1_000_000n
const START_MS = Date.UTC(2026, 0, 1)
/** The version of the first write. */
const FIRST = 2

/** A write, and how long after it each source tells of it, in milliseconds; never where it does not. */
interface Told {
  afterMs: number
  watch: number | undefined
  audit: number | undefined
  admission: number | undefined
  /** How long after it admission tells of a request of somebody else for the same, which is refused in the end. */
  refused: number | undefined
  /** For how long its writer may still report it. */
  held: number
  /** Audit says no more of a creation than its metadata, so that it names no version. */
  isSparse: boolean
  /** How long after it somebody asks for what there is already, and is answered with a version from before all others. */
  idle: number | undefined
  verb: 'create' | 'update' | 'binding' | 'delete'
}

const later = fc.option(fc.nat(WHO_WAIT - 1), { nil: undefined })
const told: fc.Arbitrary<Told> = fc.record({
  afterMs: fc.nat(400),
  watch: fc.nat(WINDOW - 1),
  audit: later,
  admission: later,
  refused: later,
  held: fc.oneof(fc.constant(0), fc.nat(TELLING_WAIT)),
  isSparse: fc.boolean(),
  idle: later,
  verb: fc.constantFrom('create', 'update', 'binding', 'delete'),
})

type Timed = { atMs: number; observation: Observation }

/** What the sources tell of a write: updates are of one object, everything else of one of its own. */
function observed(write: Told, at: number, ms: number): Timed[] {
  const time = new Date(START_MS + ms).toISOString()
  const which = write.verb === 'update' ? 'all' : `n${String(at).padStart(4, '0')}`
  const metadata = {
    name: `pod-${which}`,
    namespace: 'shop',
    uid: `u-${which}`,
    resourceVersion: String(at + FIRST),
  }
  const deletion = write.verb === 'delete' ? { deletionTimestamp: time } : {}
  const pod = (content: string): JsonObject => ({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { ...metadata, ...deletion, labels: { content } },
    spec: { nodeName: 'n1' },
  })
  const content = write.verb === 'create' ? 'made' : String(at)
  const isPlain = write.verb === 'update' || write.verb === 'create'
  const isSparse = write.isSparse && write.verb === 'create'
  const event: JsonObject = {
    ...{
      stage: 'ResponseComplete',
      verb: { create: 'create', update: 'update', binding: 'create', delete: 'delete' }[write.verb],
    },
    ...{
      auditID: `id-${at}`,
      requestURI: '/',
      responseStatus: { code: write.verb === 'delete' ? 200 : 201 },
      user: { username: userOf(write) },
    },
    objectRef: {
      ...(isSparse ? { name: metadata.name, namespace: 'shop' } : metadata),
      resource: 'pods',
      apiVersion: 'v1',
      ...(write.verb === 'binding' && { subresource: 'binding' }),
    },
    ...(!isSparse && { responseObject: isPlain ? pod(content) : { kind: 'Status', metadata: {} } }),
    ...{ requestReceivedTimestamp: time, stageTimestamp: time },
  }
  const before = { ...metadata, resourceVersion: String(at + FIRST - 1) }
  const review = (username: string, asked: string): Observation | string => {
    const isCreation = write.verb === 'create'
    const { namespace, resourceVersion } = metadata
    const nameless = { namespace, resourceVersion }
    const object = isCreation
      ? { ...pod(asked), metadata: { ...nameless, generateName: 'pod-', labels: { content: asked } } }
      : pod(asked)
    const request = {
      operation: { create: 'CREATE', update: 'UPDATE', binding: 'CREATE', delete: 'DELETE' }[write.verb],
      resource: { group: '', version: 'v1', resource: 'pods' },
      ...(write.verb === 'binding' && { subResource: 'binding' }),
      ...(isCreation ? {} : { name: metadata.name }),
      namespace: 'shop',
      userInfo: { username },
      object: write.verb === 'delete' ? null : object,
      oldObject:
        write.verb === 'update' || write.verb === 'delete' ? { ...pod('old'), metadata: before } : null,
    }
    const seenNs = BigInt(START_MS + ms) * MS
    return readAdmissionReview({ request }, { seenNs, traceparent: `trace-${at}` })
  }
  const watched = readWatchEvent(
    { type: write.verb === 'create' ? 'ADDED' : 'MODIFIED', object: pod(content) },
    BigInt(START_MS + ms + (write.watch ?? 0)) * MS,
  )
  // What is refused is refused for its content: a second deletion or binding could not be told from the first.
  const refused = write.verb === 'update' ? review('refused', 'other') : 'none'
  const sources: [number | undefined, Observation | string][] = [
    [write.watch, watched],
    [write.audit, readAuditEvent(event)],
    [write.admission, review(userOf(write), content)],
    [write.refused, refused],
    [write.idle, idleRequest(ms + (write.idle ?? 0))],
  ]
  return sources.flatMap(([after, observation]) =>
    after === undefined || typeof observation === 'string' ? [] : [{ atMs: ms + after, observation }],
  )
}

const IDLE = { name: 'idle', namespace: 'shop', uid: 'u-idle', resourceVersion: '1' }

function idleRequest(ms: number): Observation | string {
  const time = new Date(START_MS + ms).toISOString()
  return readAuditEvent({
    ...{ stage: 'ResponseComplete', verb: 'update', auditID: `idle-${ms}`, requestURI: '/' },
    ...{ responseStatus: { code: 200 }, user: { username: 'idler' } },
    objectRef: { ...IDLE, resource: 'pods', apiVersion: 'v1' },
    responseObject: { kind: 'Pod', apiVersion: 'v1', metadata: IDLE, spec: {} },
    ...{ requestReceivedTimestamp: time, stageTimestamp: time },
  })
}

/** Everything that is made alike is made by the same. */
const userOf = ({ verb }: Told): string => `${verb}r`

interface Lived {
  out: ClusterWrite[]
  unmatched: number
}

/** What comes out when the sources tell of writes in the order in which they do, and are asked as often as they tell. */
function lived(writes: readonly Told[], isAudited: boolean): Lived {
  const line = new WriteQueue({
    windowNs: BigInt(WINDOW) * MS,
    whoWaitNs: BigInt(WHO_WAIT) * MS,
    isWatched: true,
    isAudited,
    awaitsTelling: ({ version = 0n }, waitedNs) =>
      waitedNs < BigInt(writes[Number(version) - FIRST]?.held ?? 0) * MS,
  })
  let ms = 0
  const all = writes.flatMap((write, at) => observed(write, at, (ms += write.afterMs)))
  const out: ClusterWrite[] = []
  const told: { nowNs: bigint; version: bigint }[] = []
  for (const { atMs, observation } of all.sort((one, other) => one.atMs - other.atMs)) {
    const nowNs = BigInt(START_MS + atMs) * MS
    line.add(observation, nowNs)
    if (observation.version !== undefined) told.push({ nowNs, version: observation.version })
    out.push(...line.takeDue(nowNs, 3))
    const decided = told.filter((one) => one.nowNs < (line.oldestNs ?? nowNs + 1n))
    for (const { version } of decided) expect(out.map((write) => write.version)).toContain(version)
  }
  // Whoever asks does so while nobody tells anything, too.
  for (let atMs = ms; atMs < ms + TELLING_WAIT; atMs += 500)
    out.push(...line.takeDue(BigInt(START_MS + atMs) * MS, 3))
  out.push(...line.takeDue(BigInt(START_MS + ms + 10 * TELLING_WAIT) * MS))
  expect(line.size).toBe(0)
  expect(line.oldestNs).toBeUndefined()
  return { out: out.filter(({ object }) => object.uid !== IDLE.uid), unmatched: line.takeUnmatched() }
}

test('each write comes once, in order of versions, with the request of whoever made it', () => {
  fc.assert(
    fc.property(fc.array(told, { maxLength: 30 }), (writes) => {
      const { out, unmatched } = lived(writes, true)
      expect(out.map(({ version }) => Number(version))).toEqual(writes.map((_, at) => at + FIRST))
      expect(out.map(({ request }) => request?.auditId)).toEqual(
        writes.map(({ audit }, at) => (audit === undefined ? undefined : `id-${at}`)),
      )
      const users = writes.map((write) =>
        (write.audit ?? write.admission) === undefined ? undefined : userOf(write),
      )
      const isAlike = ({ verb }: Told): boolean => verb === 'create'
      for (const [at, { request }] of out.entries()) {
        const write = writes[at]
        if (write === undefined || isAlike(write)) continue
        expect(request?.actor.user).toBe(users[at])
        // Once audit has told, only the window is waited for, and admission tells before anything is written.
        const mayMiss = write.audit !== undefined && (write.admission ?? 0) >= WINDOW
        const trace = write.admission === undefined ? undefined : `trace-${at}`
        if (!mayMiss || request?.traceparent !== undefined) expect(request?.traceparent).toBe(trace)
      }
      const refused = writes.filter(({ verb, refused }) => verb === 'update' && refused !== undefined)
      const used = writes.filter(({ admission }) => admission !== undefined)
      const traced = out.filter(({ request }) => request?.traceparent !== undefined)
      expect(unmatched).toBe(refused.length + used.length - traced.length)
    }),
    { numRuns: 300 },
  )
})

test('where no audit is waited for, admission says who wrote, and nobody is waited for then', () => {
  fc.assert(
    fc.property(fc.array(told, { maxLength: 30 }), (writes) => {
      const { out } = lived(
        writes.map((write) => ({ ...write, audit: undefined })),
        false,
      )
      expect(out.map(({ version }) => Number(version))).toEqual(writes.map((_, at) => at + FIRST))
      for (const [at, { request, seenNs }] of out.entries()) {
        const write = writes[at]
        if (write?.verb !== 'update') continue
        expect(request?.actor.user).toBe(write.admission === undefined ? undefined : userOf(write))
        if (request !== undefined) expect(request.endNs).toBe(seenNs)
      }
    }),
    { numRuns: 300 },
  )
})
