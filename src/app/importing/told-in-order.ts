import { readAuditEvent } from '../../kubernetes/read-audit-event.ts'
import { readWatchEvent } from '../../kubernetes/read-watch-event.ts'
import { arrayIn, objectIn, textIn, type JsonObject } from '../../kubernetes/json-access.ts'
import type { UnixNanos } from '../../model/clock.ts'
import type { Observation, Skipped } from '../../model/kubernetes/observation.ts'
import type { CustomReference } from '../../model/kubernetes/custom-reference.ts'
import { parseRfc3339 } from '../../model/rfc3339.ts'
import type { Place, Recording } from './recording.ts'

export type RecordedSource = 'audit' | 'watch'

/** What a line of a recording tells, and when. */
export interface ToldLine {
  readonly source: RecordedSource
  readonly path: string
  /** Never before that of a line before it in the same recording. */
  readonly atNs: UnixNanos
  readonly told: Observation | Skipped | { readonly fault: string }
  /** How far its recording is read with it. */
  readonly place: Place
}

/** A recording of which some lines may have been read. */
export interface BegunRecording {
  readonly source: RecordedSource
  readonly recording: Recording
  /** The lines that were read before. */
  readonly after: number
}

/** What every event has, and what is said of a line without it. */
const MARK = {
  audit: { key: 'stage', lacking: 'is no event of an audit log' },
  watch: { key: 'type', lacking: 'is no event of a watch' },
} as const

/** The lines of recordings of one cluster, together in the order of their times. */
export async function* toldInOrder(
  recordings: readonly BegunRecording[],
  references: readonly CustomReference[],
): AsyncGenerator<ToldLine> {
  const streams = recordings.map(({ source, recording, after }) =>
    timed(source, recording, after, references),
  )
  const heads = await Promise.all(streams.map((stream) => stream.next()))
  for (;;) {
    let first: ToldLine | undefined
    let from = -1
    for (const [at, { done, value }] of heads.entries()) {
      if (done === true || (first !== undefined && value.atNs >= first.atNs)) continue
      first = value
      from = at
    }
    const stream = streams[from]
    if (first === undefined || stream === undefined) return
    yield first
    heads[from] = await stream.next()
  }
}

async function* timed(
  source: RecordedSource,
  recording: Recording,
  after: number,
  references: readonly CustomReference[],
): AsyncGenerator<ToldLine, undefined> {
  const { path } = recording
  let atNs = 0n
  for await (const { event, place, fault = '' } of recording.lines(after)) {
    if (event === undefined || textIn(event, MARK[source].key) === '') {
      yield { source, path, atNs, told: { fault: event === undefined ? fault : MARK[source].lacking }, place }
      continue
    }
    const told =
      source === 'audit'
        ? readAuditEvent(event, references)
        : readWatchEvent(event, timeOf(event), undefined, references)
    if (typeof told !== 'string' && told.seenNs > atNs) atNs = told.seenNs
    yield { source, path, atNs, told, place }
  }
  return undefined
}

/** When a watch delivered a version: where the recording does not say, not before anything that the object says itself. */
function timeOf(event: JsonObject): UnixNanos {
  const told = parseRfc3339(textIn(event, 'time'))
  if (told !== undefined) return told
  const metadata = objectIn(objectIn(event, 'object'), 'metadata')
  const times = [
    textIn(metadata, 'creationTimestamp'),
    textIn(metadata, 'deletionTimestamp'),
    ...arrayIn(metadata, 'managedFields').map((entry) => textIn(entry, 'time')),
  ]
  return times.reduce((latest, text) => {
    const time = parseRfc3339(text) ?? 0n
    return time > latest ? time : latest
  }, 0n)
}
