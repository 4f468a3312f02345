import { hash } from 'node:crypto'
import type { LongLine } from '../../cluster/json-lines.ts'
import {
  arrayIn,
  isObject,
  objectIn,
  textIn,
  type Json,
  type JsonObject,
} from '../../kubernetes/json-access.ts'
import { readAuditEvent } from '../../kubernetes/read-audit-event.ts'
import { readWatchEvent } from '../../kubernetes/read-watch-event.ts'
import type { UnixNanos } from '../../model/clock.ts'
import type { CustomReference } from '../../model/kubernetes/custom-reference.ts'
import { bytesOfTold } from '../../model/kubernetes/telling-bytes.ts'
import { isOutOfMemory, reasonOf } from '../../model/set-aside.ts'
import { parseRfc3339 } from '../../model/rfc3339.ts'
import type { OrderedLine } from '../../sqlite/importing/ordered-lines.ts'
import { MAX_LINE_BYTES } from './recording.ts'

export type RecordedSource = 'audit' | 'watch'

/** A line of a recording: what it tells and when, or why it cannot be read. */
export type ReadLine = { readonly line: OrderedLine; readonly isTimed: boolean } | { readonly fault: string }

/** What every event has, and what is said of a line without it. */
const MARK = {
  audit: { key: 'stage', lacking: 'is no event of an audit log' },
  watch: { key: 'type', lacking: 'is no event of a watch' },
} as const
/** Some programs begin a file with it, and end lines with a carriage return. */
const NOT_CONTENT = /^\uFEFF|\r$/g
const HASH_BYTES = 16

/** Reads a line; undefined where nothing stands in it. */
export function readLine(
  source: RecordedSource,
  line: Buffer | LongLine,
  references: readonly CustomReference[],
): ReadLine | undefined {
  if (!Buffer.isBuffer(line)) return { fault: `has more than ${MAX_LINE_BYTES >> 20} MiB` }
  const text = line.toString('utf8').replaceAll(NOT_CONTENT, '')
  if (text === '') return undefined
  const event = eventOf(text)
  if ('fault' in event) return event
  if (textIn(event.event, MARK[source].key) === '') return { fault: MARK[source].lacking }
  try {
    return lineOf(source, event.event, hash('sha256', `${source} ${text}`, 'buffer'), references)
  } catch (error) {
    if (isOutOfMemory(error)) throw error
    return { fault: `cannot be read: ${reasonOf(error)}` }
  }
}

function lineOf(
  source: RecordedSource,
  event: JsonObject,
  digest: Buffer,
  references: readonly CustomReference[],
): ReadLine {
  const { atNs, isTimed } = source === 'audit' ? timeOfAudit(event) : timeOfWatch(event)
  const told =
    source === 'audit'
      ? readAuditEvent(event, references)
      : readWatchEvent(event, atNs, undefined, references)
  const key = { atNs, hash: digest.subarray(0, HASH_BYTES) }
  if (typeof told === 'string')
    return { line: { ...key, version: 0n, told: bytesOfTold([]), skipped: told }, isTimed: true }
  const line = { ...key, version: told.version ?? 0n, told: bytesOfTold([told]), skipped: undefined }
  return { line, isTimed }
}

function eventOf(text: string): { readonly event: JsonObject } | { readonly fault: string } {
  try {
    const event = JSON.parse(text) as Json
    return isObject(event) ? { event } : { fault: 'is no JSON object' }
  } catch {
    return { fault: 'is no JSON, or was cut off' }
  }
}

interface TimeOfLine {
  readonly atNs: UnixNanos
  /** It is known when the line was told; else it is only known before when it was not. */
  readonly isTimed: boolean
}

function timeOfAudit(event: JsonObject): TimeOfLine {
  return { atNs: parseRfc3339(textIn(event, 'stageTimestamp')) ?? 0n, isTimed: true }
}

/** When a watch delivered a version: where the recording does not say, not before anything that the object says itself. */
function timeOfWatch(event: JsonObject): TimeOfLine {
  const told = parseRfc3339(textIn(event, 'time'))
  if (told !== undefined) return { atNs: told, isTimed: true }
  const metadata = objectIn(objectIn(event, 'object'), 'metadata')
  const times = [
    textIn(metadata, 'creationTimestamp'),
    textIn(metadata, 'deletionTimestamp'),
    ...arrayIn(metadata, 'managedFields').map((entry) => textIn(entry, 'time')),
  ]
  const atNs = times.reduce((latest, text) => {
    const time = parseRfc3339(text) ?? 0n
    return time > latest ? time : latest
  }, 0n)
  return { atNs, isTimed: false }
}
