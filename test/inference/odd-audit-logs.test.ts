import { expect, test } from '@jest/globals'
import { replay, type Source } from '../../lab/harness/inference/replay.ts'
import { recordedLines, recordedObservations } from '../../lab/harness/inference/rollout-recording.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { type JsonObject, objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { parseRfc3339 } from '../../src/model/time-and-size.ts'

const BOTH: readonly Source[] = ['audit', 'watch']
const NANOS_PER_MICRO = 1_000n

const inOrder = (observations: readonly Observation[]): Observation[] =>
  [...observations].sort((one, other) => (one.seenNs < other.seenNs ? -1 : 1))

/** What the recorded audit events would have said, had they been others; they come when they came. */
const told = (change: (line: JsonObject) => JsonObject): Observation[] =>
  recordedLines('audit').flatMap((line) => {
    const read = readAuditEvent(change(line))
    return typeof read === 'string'
      ? []
      : [{ ...read, seenNs: parseRfc3339(textIn(line, 'stageTimestamp')) ?? 0n }]
  })

/** The decisions about what was done in the recorded namespace, each as `of` has it. */
const decided = (observations: readonly Observation[], of: (decision: Decision) => unknown): unknown[] =>
  replay(inOrder(observations), BOTH)
    .decisions.filter(({ write }) => write.object.namespace === 'shop')
    .map(of)

const shifted = (time: string, ns: bigint): string => {
  const micros = ((parseRfc3339(time) ?? 0n) + ns) / NANOS_PER_MICRO
  const seconds = new Date(Number(micros / 1_000_000n) * 1_000).toISOString().slice(0, 19)
  return `${seconds}.${String(micros % 1_000_000n).padStart(6, '0')}Z`
}

const atMetadata = (line: JsonObject): JsonObject => ({
  ...Object.fromEntries(Object.entries(line).filter(([key]) => !/^re(?:quest|sponse)Object$/.test(key))),
  level: 'Metadata',
})

test.each([-2, -1, 1])(
  'a second API server whose clock is %d s off changes nothing of what follows from what',
  (offSeconds) => {
    const ns = BigInt(offSeconds) * 1_000_000_000n
    const audited = told((line) =>
      // Each request is answered by one of the two.
      Number.parseInt(textIn(line, 'auditID').slice(0, 1), 16) % 2 === 0
        ? line
        : {
            ...line,
            requestReceivedTimestamp: shifted(textIn(line, 'requestReceivedTimestamp'), ns),
            stageTimestamp: shifted(textIn(line, 'stageTimestamp'), ns),
          },
    )
    const of = ({ key, cpid, sources, cause, writer }: Decision): unknown => ({
      ...{ key, cpid, sources, cause },
      user: writer.user,
    })
    expect(audited.length).toBeGreaterThan(300)
    const watched = recordedObservations(['watch'])
    expect(decided([...audited, ...watched], of)).toEqual(decided(recordedObservations(BOTH), of))
  },
)

test('an audit log at Metadata keeps nothing from being decided, and no version from the change that a watch alone gives it', () => {
  const watched = recordedObservations(['watch'])
  const thin = told(atMetadata)
  const of = ({ write }: Decision): unknown => `${write.object.uid} ${write.version ?? ''}`
  const versions = new Set(decided([...thin, ...watched], of))
  for (const version of decided(watched, of)) expect(versions).toContain(version)
})

/** An object of each resource was asked to be changed at the end, and was as it was asked to be already. */
function changingNothing(verb: 'patch' | 'update', afterNs: bigint): Observation[] {
  const time = shifted(new Date(Number(afterNs / 1_000_000n)).toISOString(), 1_000_000_000n)
  const objects = recordedLines('audit').map((line) => objectIn(line, 'objectRef'))
  const one = new Map(objects.map((object) => [textIn(object, 'resource'), object]))
  return [...one.values()].flatMap((object, at) => {
    const read = readAuditEvent({
      ...{ level: 'Metadata', stage: 'ResponseComplete', auditID: `unchanged-${at}`, requestURI: '/', verb },
      ...{
        user: { username: 'ann' },
        userAgent: 'kubectl/v1.36.3',
        objectRef: { ...object, subresource: '' },
        responseStatus: { code: 200 },
      },
      ...{ requestReceivedTimestamp: time, stageTimestamp: time },
    })
    return typeof read === 'string' ? [] : [read]
  })
}

test.each(['patch', 'update'] as const)(
  'at Metadata a %s that changed nothing is no creation, and nothing at all where a watch would have shown a change',
  (verb) => {
    const watched = recordedObservations(['watch'])
    const unchanged = changingNothing(verb, watched.at(-1)?.seenNs ?? 0n)
    expect(unchanged.length).toBeGreaterThan(10)
    const thin = told(atMetadata)
    const byAnn = (observations: readonly Observation[], sources: readonly Source[]): string[] =>
      replay(inOrder(observations), sources).decisions.flatMap(({ writer, part }) =>
        writer.user === 'ann' ? [part] : [],
      )
    expect(byAnn([...thin, ...watched, ...unchanged], BOTH)).toEqual([])
    for (const known of [[], thin])
      expect(byAnn([...known, ...unchanged], ['audit'])).toEqual(unchanged.map(() => 'authored'))
  },
)

/** Before each recorded request a program patched a status of the same object, which was as it is already. */
const idle = (beforeNs: bigint): Observation[] =>
  told((line) => {
    const before = (key: string): string => shifted(textIn(line, key), -beforeNs)
    return {
      ...atMetadata(line),
      ...{ auditID: `idle-${textIn(line, 'auditID')}`, verb: 'patch', responseStatus: { code: 200 } },
      ...{ user: { username: 'system:serviceaccount:tools:idle' }, userAgent: 'idle/v1.0' },
      requestReceivedTimestamp: before('requestReceivedTimestamp'),
      stageTimestamp: before('stageTimestamp'),
      objectRef: { ...objectIn(line, 'objectRef'), subresource: 'status' },
    }
  }).map((one) => ({ ...one, seenNs: one.seenNs - beforeNs }))

test.each([0.2, 2, 4])(
  'at Metadata a program that changed nothing %d s before made no version that somebody else has signed',
  (seconds) => {
    const watched = recordedObservations(['watch'])
    const thin = told(atMetadata)
    const idling = idle(BigInt(seconds * 1_000) * 1_000_000n)
    const authors = (observations: readonly Observation[]): unknown[] =>
      decided(observations, ({ write, writer, part }) =>
        part === 'authored' || part === 'status' ? [write.object.name, write.version, writer.user] : [],
      )
    expect(idling.length).toBeGreaterThan(300)
    expect(authors([...thin, ...watched, ...idling])).toEqual(authors([...thin, ...watched]))
    expect(authors([...thin, ...watched])).toEqual(authors(recordedObservations(BOTH)))
  },
)

test.each([
  ['', undefined],
  [', though an entry of managedFields is of a day that is yet to come', '2026-11-23T19:30:53Z'],
])('at Metadata a change of a namespace is of the person who asked for it%s', (_, signed) => {
  const uid = 'uid of shop'
  const time = '2026-11-22T19:30:53.100000Z'
  const asked = readAuditEvent({
    ...{ level: 'Metadata', stage: 'ResponseComplete', auditID: 'one', verb: 'patch' },
    ...{ requestURI: '/api/v1/namespaces/shop', user: { username: 'ann' }, userAgent: 'kubectl/v1.36.3' },
    objectRef: { resource: 'namespaces', namespace: 'shop', name: 'shop', apiVersion: 'v1' },
    ...{ responseStatus: { code: 200 }, requestReceivedTimestamp: time, stageTimestamp: time },
  })
  const seen = (version: number, team: string): Observation => {
    const managedFields = signed === undefined ? [] : [{ manager: 'old', operation: 'Update', time: signed }]
    const labels = { team }
    const metadata = { name: 'shop', uid, resourceVersion: String(version), labels, managedFields }
    const object = { kind: 'Namespace', apiVersion: 'v1', metadata }
    return readWatchEvent(
      { type: 'MODIFIED', object },
      (parseRfc3339(time) ?? 0n) + BigInt(version - 2) * 5_000_000_000n,
    ) as Observation
  }
  const { decisions } = replay([seen(1, 'a'), asked as Observation, seen(2, 'b')], BOTH)
  expect(decisions.map(({ write, writer }) => [write.version, writer.user])).toContainEqual([2n, 'ann'])
})

test('a patch that changes managedFields alone is of whoever asked for it, not of whoever writes the status just after', () => {
  const at = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + ms).toISOString()
  const ns = (ms: number): bigint => parseRfc3339(at(ms)) ?? 0n
  const asked = (user: string, verb: string, subresource: string, fromMs: number): Observation => {
    const read = readAuditEvent({
      ...{ level: 'Metadata', stage: 'ResponseComplete', auditID: user, requestURI: '/', verb },
      ...{ user: { username: user }, userAgent: `${user}/v1`, responseStatus: { code: 200 } },
      objectRef: {
        ...{ apiGroup: 'apps', apiVersion: 'v1', resource: 'deployments', namespace: 'shop', name: 'web' },
        subresource,
      },
      ...{ requestReceivedTimestamp: at(fromMs), stageTimestamp: at(fromMs + 4) },
    })
    if (typeof read === 'string') throw new Error(read)
    return read
  }
  const seen = (version: number, ms: number, ready: number, managers: readonly string[]): Observation => {
    const managedFields = managers.map((manager) => ({
      ...{ manager, operation: 'Update', time: at(0), fieldsV1: {} },
      ...(manager === 'counter' && { subresource: 'status' }),
    }))
    const metadata = {
      name: 'web',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: String(version),
      managedFields,
    }
    const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, status: { readyReplicas: ready } }
    const read = readWatchEvent({ type: version === 5 ? 'ADDED' : 'MODIFIED', object }, ns(ms))
    if (typeof read === 'string') throw new Error(read)
    return read
  }
  const { decisions } = replay(
    inOrder([
      asked('bob', 'create', '', 100),
      seen(5, 105, 0, ['bob', 'helper', 'counter']),
      asked('applier', 'patch', '', 200),
      seen(6, 205, 0, ['bob', 'counter']),
      asked('counter', 'update', 'status', 215),
      seen(7, 220, 1, ['bob', 'counter']),
    ]),
    BOTH,
    undefined,
    { operators: [], controllers: ['applier', 'counter'] },
  )
  expect(decisions.map(({ version, part, writer }) => [Number(version), part, writer.user])).toEqual([
    [5, 'creation', 'bob'],
    [6, 'authored', 'applier'],
    [7, 'status', 'counter'],
  ])
})
