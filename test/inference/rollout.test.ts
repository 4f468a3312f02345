import { expect, test } from '@jest/globals'
import { replay, type Replayed, type Source } from '../../lab/harness/inference/replay.ts'
import { recordedLines, recordedObservations } from '../../lab/harness/inference/rollout-recording.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { type JsonObject, objectIn, textIn } from '../../src/kube/objects/object-json.ts'

const BOTH: readonly Source[] = ['audit', 'watch']
const rollout = replay(recordedObservations(BOTH), BOTH)

/** Writes of the namespace in which everything was done. */
const ofShop = ({ decisions }: Replayed): Decision[] =>
  decisions.filter(({ write }) => write.object.namespace === 'shop')

const at = (version: bigint): Decision => {
  const found = rollout.decisions.find(({ write }) => write.version === version)
  if (found === undefined) throw new Error(`nothing was decided about version ${version}`)
  return found
}

/** The versions of the writes that began the changes of which a write is. */
function rootsOf(decision: Decision, { decisions, changes }: Replayed = rollout): bigint[] {
  const roots = changes.rootsOf(decision.cpid)
  const begun = decisions.filter(({ cpid, sources }) => sources?.length === 0 && roots.includes(cpid))
  return begun.map(({ write }) => write.version ?? 0n)
}

const readsOf = (decision: Decision): string[] =>
  decision.reads.map(({ identity, known }) => `${identity.resource}@${known.version}`)

test('every write of a rollout is decided, and what people did begins a change', () => {
  expect(rollout.left).toBe(0)
  const begun = ofShop(rollout).filter(({ cause }) => cause === 'operator')
  expect(begun.map(({ write, part }) => `${part} ${write.object.resource}`)).toEqual([
    'creation deployments',
    'creation services',
    'scale deployments',
    'authored deployments',
    'authored deployments',
    'creation horizontalpodautoscalers',
    'authored deployments',
    'authored deployments',
    'authored deployments',
    'deletion pods',
    'deletion horizontalpodautoscalers',
    'deletion deployments',
    'deletion services',
  ])
  expect(begun.map(({ writer }) => writer.user)).toContain('alice')
})

test('a Pod comes from its ReplicaSet, that from its Deployment, and a Service joins with what its slices list', () => {
  expect(at(380n)).toMatchObject({
    part: 'creation',
    sources: undefined,
    writer: { service: 'deployment-controller' },
  })
  expect(rootsOf(at(383n))).toEqual([379n])
  expect(readsOf(at(383n))).toEqual(['replicasets@380'])
  expect(at(384n)).toMatchObject({ part: 'binding', writer: { service: 'kube-scheduler' } })
  expect(rootsOf(at(414n))).toEqual([379n, 412n])
})

test('of two changes at once, each ReplicaSet belongs to that whose template it copies', () => {
  const [earlier, later] = [at(620n), at(621n)]
  expect([earlier.writer.user, later.writer.user]).toEqual(['admin', 'alice'])
  expect(at(622n)).toMatchObject({ cpid: earlier.cpid, cause: 'exact' })
  expect(at(628n)).toMatchObject({ cpid: later.cpid, cause: 'exact' })
})

test('a Pod deleted by hand is a cause of the one that takes its place', () => {
  const replacement = at(929n)
  expect(replacement).toMatchObject({ part: 'creation', writer: { service: 'replicaset-controller' } })
  expect(readsOf(replacement)).toEqual(['replicasets@901', 'pods@927'])
  expect(rootsOf(replacement)).toContain(927n)
  expect(rootsOf(at(936n))).toEqual([927n])
})

test('a status that counts others is never exact: no request says how many of them it knew', () => {
  const counting = rollout.decisions.filter(
    ({ part, write }) => part === 'status' && ['deployments', 'replicasets'].includes(write.object.resource),
  )
  expect(counting.length).toBeGreaterThan(50)
  expect(new Set(counting.map(({ cause }) => cause))).toEqual(new Set(['inferred']))
})

test('garbage is collected for the deletion of its owner', () => {
  const pods = ofShop(rollout).filter(
    ({ writer, write }) => writer.service === 'generic-garbage-collector' && write.object.resource === 'pods',
  )
  expect(pods).toHaveLength(6)
  for (const decision of pods) expect(rootsOf(decision)).toContain(958n)
})

test('what the same sources tell again, or in another order, gives the same decisions', () => {
  const known = (replayed: Replayed): unknown =>
    replayed.decisions.map(({ key, cpid, sources, cause }) => ({ key, cpid, sources, cause }))
  expect(known(replay(recordedObservations(BOTH), BOTH))).toEqual(known(rollout))
  const twice = recordedObservations(BOTH).flatMap((observation) => [observation, observation])
  expect(known(replay(twice, BOTH))).toEqual(known(rollout))
  expect(known(replay(recordedObservations(['watch', 'audit']), BOTH))).toEqual(known(rollout))
})

test.each<{ source: Source; least: number }>([
  { source: 'watch', least: 0.98 },
  { source: 'audit', least: 1 },
])('$source alone gives the same changes', ({ source, least }) => {
  const alone = replay(recordedObservations([source]), [source])
  expect(alone.left).toBe(0)
  const named = new Map(ofShop(rollout).map((decision) => [keyOf(decision), decision]))
  const compared = ofShop(alone).flatMap((decision) => {
    const other = named.get(keyOf(decision))
    return other === undefined ? [] : [same(rootNames(decision, alone), rootNames(other, rollout))]
  })
  expect(compared.length).toBeGreaterThan(380)
  expect(compared.filter(Boolean).length / compared.length).toBeGreaterThanOrEqual(least)
})

test('what the controllers themselves said that they read is what they are taken to have read', () => {
  const said = recordedLines('watch').flatMap(readEvent)
  const right = said.filter(({ version, object, part }) =>
    rollout.decisions.some(
      (decision) =>
        decision.part === part &&
        decision.write.object.name === object &&
        decision.reads.some(({ known }) => String(known.version) === version),
    ),
  )
  expect(said.length).toBe(71)
  expect(right).toEqual(said)
})

interface Said {
  part: string
  object: string
  version: string
}

/** What an Event about a write says of the version that was read for it: an answer sheet, not a source. */
function readEvent({ type, object: event }: JsonObject): Said[] {
  if (textIn(event, 'kind') !== 'Event' || type !== 'ADDED') return []
  const about = objectIn(event, 'regarding')
  const version = textIn(about, 'resourceVersion')
  const last = textIn(event, 'note').split(' ').at(-1) ?? ''
  switch (textIn(event, 'reason')) {
    case 'SuccessfulCreate':
      return [{ part: 'creation', object: last, version }]
    case 'SuccessfulDelete':
      return [{ part: 'deletion', object: last, version }]
    case 'Scheduled':
      return [{ part: 'binding', object: textIn(about, 'name'), version }]
    default:
      return []
  }
}

function keyOf({ write }: Decision): string {
  return `${write.object.uid} ${write.version}`
}

/** Roots by the objects and kinds of the writes that began them: a deletion has no version in an audit log. */
function rootNames(decision: Decision, { decisions, changes }: Replayed): string[] {
  const roots = changes.rootsOf(decision.cpid)
  const begun = decisions.filter(({ cpid, sources }) => sources?.length === 0 && roots.includes(cpid))
  return begun
    .map(({ write, part }) => `${write.object.uid} ${part === 'deletion' ? 'gone' : write.version}`)
    .sort()
}

const same = (one: readonly string[], other: readonly string[]): boolean => one.join() === other.join()
