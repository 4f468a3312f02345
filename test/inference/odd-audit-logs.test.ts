import { expect, test } from '@jest/globals'
import { replay, type Source } from '../../lab/harness/inference/replay.ts'
import { recordedLines, recordedObservations } from '../../lab/harness/inference/rollout-recording.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { type JsonObject, objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
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
