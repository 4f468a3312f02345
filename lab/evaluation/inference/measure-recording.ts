import type { Decision } from '../../../src/kube/inference/decide.ts'
import type { Observation } from '../../../src/model/kubernetes-observations.ts'
import { replay, type Source } from '../../harness/inference/replay.ts'
import { recordedLines, recordedObservations } from '../../harness/inference/rollout-recording.ts'
import type { WritePart } from '../../../src/kube/inference/write-part.ts'
import { type JsonObject, objectIn, textIn } from '../../../src/kube/objects/object-json.ts'

/** How many of so many. */
export interface Right {
  right: number
  of: number
}

export interface RecordingData {
  writes: number
  undecided: number
  /** The version that an Event names is among those that its write is taken to have read. */
  events: Record<string, Right>
  /** Without what PUT bodies and preconditions say, the version of the object itself that is taken to have been read is theirs. */
  requests: Right
  /** The Deployment version of a new ReplicaSet has its template. */
  templates: Right
  /** Writes that a source alone gives the same changes. */
  alone: Record<string, Right>
}

const BOTH: readonly Source[] = ['audit', 'watch']

/** A rollout on a real cluster, recorded: inference beside what Events and requests say was read. */
export function measureRecording(): RecordingData {
  const observations = recordedObservations(BOTH)
  const { decisions, left } = replay(observations, BOTH)
  return {
    writes: decisions.length,
    undecided: left,
    events: eventsOf(decisions),
    requests: requestsOf(observations),
    templates: templatesOf(decisions),
    alone: Object.fromEntries(BOTH.map((source) => [source, sameAlone(source)])),
  }
}

function eventsOf(decisions: readonly Decision[]): Record<string, Right> {
  const events: Record<string, Right> = {}
  for (const { reason, parts, object, version } of recordedLines('watch').flatMap(readEvent)) {
    const about = decisions.filter(({ part, write }) => parts.includes(part) && write.object.name === object)
    const isRight = about.some(({ reads }) => reads.some(({ known }) => String(known.version) === version))
    const tally = (events[reason] ??= { right: 0, of: 0 })
    tally.of++
    if (isRight) tally.right++
  }
  return events
}

function requestsOf(observations: readonly Observation[]): Right {
  const told = new Map<string, bigint>()
  const silent = observations.map((one): Observation => {
    if (one.source !== 'audit') return one
    const { readVersion, ...request } = one.request
    if (readVersion === undefined) return one
    told.set(`${one.object.uid}@${one.version}`, readVersion)
    return { ...one, request }
  })
  const { decisions } = replay(silent, BOTH)
  const asked = decisions.flatMap(({ write, reads }) => {
    const read = told.get(`${write.object.uid}@${write.version}`)
    const own = reads.find(({ identity }) => identity.uid === write.object.uid)
    return read === undefined || own === undefined ? [] : [own.known.version === read]
  })
  return { right: asked.filter(Boolean).length, of: asked.length }
}

function templatesOf(decisions: readonly Decision[]): Right {
  const made = decisions.filter(
    ({ part, write, cause }) =>
      part === 'creation' && write.object.resource === 'replicasets' && cause !== 'operator',
  )
  const right = made.filter(({ write, reads }) =>
    reads.some(
      ({ identity, known }) =>
        identity.resource === 'deployments' &&
        known.facts.prints['template'] === write.facts?.prints['template'],
    ),
  )
  return { right: right.length, of: made.length }
}

/** Changes are compared by the writes that began them: a deletion has no version in an audit log. */
function sameAlone(source: Source): Right {
  const rootsOf = (sources: readonly Source[]): Map<string, string> => {
    const { decisions, changes } = replay(recordedObservations(sources), sources)
    const begun = new Map(
      decisions
        .filter(({ sources: merged }) => merged?.length === 0)
        .map(({ cpid, write, part }) => [
          cpid as string,
          `${write.object.uid} ${part === 'deletion' ? 'gone' : String(write.version)}`,
        ]),
    )
    return new Map(
      decisions
        .filter(({ write }) => write.version !== undefined && write.object.namespace === 'shop')
        .map(({ write, cpid }) => [
          `${write.object.uid}@${write.version}`,
          changes
            .rootsOf(cpid)
            .map((root) => begun.get(root))
            .sort()
            .join(),
        ]),
    )
  }
  const [alone, both] = [rootsOf([source]), rootsOf(BOTH)]
  const compared = [...alone].filter(([write]) => both.has(write))
  return { right: compared.filter(([write, roots]) => both.get(write) === roots).length, of: compared.length }
}

/** What an Event about a write says of the version that was read for it: an answer sheet, not a source. */
interface ReadByEvent {
  readonly reason: string
  /** What kind of write it is about. */
  readonly parts: readonly WritePart[]
  /** The name of the object that was written. */
  readonly object: string
  readonly version: string
}

/** Reads a line of a recorded watch; nothing where it is no Event that was new and names a version. */
function readEvent({ type, object: event }: JsonObject): ReadByEvent[] {
  if (textIn(event, 'kind') !== 'Event' || type !== 'ADDED') return []
  const about = objectIn(event, 'regarding')
  const [note, reason] = [textIn(event, 'note'), textIn(event, 'reason')]
  const said = { reason, version: textIn(about, 'resourceVersion') }
  const last = note.split(' ').at(-1) ?? ''
  switch (reason) {
    case 'SuccessfulCreate':
      return [{ ...said, parts: ['creation'], object: last }]
    case 'SuccessfulDelete':
      return [{ ...said, parts: ['deletion'], object: last }]
    case 'Scheduled':
      return [{ ...said, parts: ['binding'], object: textIn(about, 'name') }]
    case 'ScalingReplicaSet':
      return [
        {
          ...said,
          parts: ['creation', 'authored', 'scale'],
          object: / replica set (\S+)/.exec(note)?.[1] ?? '',
        },
      ]
    default:
      return []
  }
}
