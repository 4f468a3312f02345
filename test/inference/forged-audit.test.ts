import { expect, test } from '@jest/globals'
import { replay, type Source } from '../../lab/harness/inference/replay.ts'
import { recordedLines, recordedObservations } from '../../lab/harness/inference/rollout-recording.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { type JsonObject, textIn } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const BOTH: readonly Source[] = ['audit', 'watch']
const truth = recordedObservations(BOTH)

const inOrder = (observations: readonly Observation[]): Observation[] =>
  [...observations].sort((one, other) => (one.seenNs < other.seenNs ? -1 : 1))

/** What audit events say that somebody else made out of the recorded ones. */
const forged = (change: (line: JsonObject, at: number) => unknown): Observation[] =>
  recordedLines('audit').flatMap((line, at) => {
    const read = readAuditEvent(JSON.parse(JSON.stringify(change(line, at))) as JsonObject)
    return typeof read === 'string' ? [] : [read]
  })

/** What was decided of the objects of the namespace in which everything was done. */
const decidedOf = (observations: readonly Observation[]): unknown =>
  replay(inOrder(observations), BOTH)
    .decisions.filter(({ write }) => write.object.namespace === 'shop')
    .map(({ key, cpid, sources, cause, writer }: Decision) => ({
      key,
      cpid,
      sources,
      cause,
      user: writer.user,
    }))

test('Audit-IDs that somebody copies from others change nothing of what is decided of those', () => {
  const mine = forged((line) => {
    const metadata = { name: 'mine', namespace: 'mallory', uid: 'mallory', resourceVersion: '5' }
    return {
      ...{ ...line, verb: 'delete', user: { username: 'mallory' } },
      objectRef: { resource: 'pods', apiVersion: 'v1', namespace: 'mallory', name: 'mine', uid: 'mallory' },
      requestObject: { metadata },
      responseObject: { kind: 'Status', details: { uid: 'mallory' } },
    }
  })
  expect(mine.length).toBeGreaterThan(300)
  expect(decidedOf([...truth, ...mine])).toEqual(decidedOf(truth))
})

test('events of another cluster in the same file cannot be told apart, and leave alone what has other names there', () => {
  const others = forged((line) => {
    const text = JSON.stringify(line)
      .replaceAll(/"uid":"/g, '"uid":"other-')
      .replaceAll('"shop"', '"theirs"')
    return { ...(JSON.parse(text) as JsonObject), auditID: `other ${textIn(line, 'auditID')}` }
  })
  expect(others.length).toBeGreaterThan(300)
  expect(decidedOf([...truth, ...others])).toEqual(decidedOf(truth))
})
