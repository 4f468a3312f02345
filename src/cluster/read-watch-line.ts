import { isObject, objectIn, textIn, type Json, type JsonObject } from '../kubernetes/json-access.ts'
import { parseBounded } from '../kubernetes/parse-bounded.ts'
import { ApiError } from './api-error.ts'
import type { LongLine } from './json-lines.ts'
import type { Change } from './resource-follower.ts'

/** What a line of a watch says. */
export type WatchLine =
  | { kind: 'change'; change: Change; object: JsonObject; version: string; bytes: number }
  /** Nothing changed up to that version; `isListEnd` says that the list that the watch began with is complete. */
  | { kind: 'bookmark'; version: string; isListEnd: boolean }
  | { kind: 'error'; error: ApiError }
  | { kind: 'unreadable'; reason: string }

const CHANGES: ReadonlySet<string> = new Set<Change>(['ADDED', 'MODIFIED', 'DELETED'])
const LIST_END = 'k8s.io/initial-events-end'

export function readWatchLine(line: Buffer | LongLine): WatchLine {
  if ('passedOver' in line)
    return { kind: 'unreadable', reason: `left out an object of more than ${line.passedOver} bytes` }
  const event = parsed(line)
  const type = textIn(event, 'type')
  const object = objectIn(event, 'object')
  if (type === 'ERROR') return { kind: 'error', error: new ApiError(0, object) }
  const metadata = objectIn(object, 'metadata')
  const version = textIn(metadata, 'resourceVersion')
  if (type === 'BOOKMARK') {
    const isListEnd = textIn(objectIn(metadata, 'annotations'), LIST_END) === 'true'
    return { kind: 'bookmark', version, isListEnd }
  }
  if (!CHANGES.has(type)) return { kind: 'unreadable', reason: 'left out a line that is no watch event' }
  return { kind: 'change', change: type as Change, object, version, bytes: line.length }
}

function parsed(line: Buffer): Json | undefined {
  try {
    const event = parseBounded(line)
    return isObject(event) ? event : undefined
  } catch {
    return undefined
  }
}
