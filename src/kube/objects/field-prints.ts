import { FIELD_PRINT_LENGTH } from '../../model/kubernetes-objects.ts'
import { fingerprintOf } from './content-prints.ts'
import { isObject, type Json, type JsonObject } from './object-json.ts'

/** Of an object with more fields than these, nobody can say which of them a write set. */
const MAX_FIELDS = 256
/** Values below this are one field. */
const MAX_DEPTH = 16
const HASH_START = 0x811c9dc5
const HASH_PRIME = 0x01000193
const DIGITS = 36

/**
 * A print of each field that an author set, by its path: five letters of the path and five of the value. Two fields in sixty million fall
 * together. Entries of a list that have a name are found by it, whatever stands before them. Undefined where there are too many.
 */
export function fieldPrints(authored: JsonObject): string | undefined {
  const prints: string[] = []
  return addFields(authored, { hash: HASH_START, depth: 0 }, prints) ? prints.join('') : undefined
}

interface Place {
  readonly hash: number
  readonly depth: number
}

function addFields(value: Json, { hash, depth }: Place, to: string[]): boolean {
  const entries = depth < MAX_DEPTH ? entriesOf(value) : []
  if (entries.length === 0) {
    if (to.length === MAX_FIELDS) return false
    to.push(printOf(hash) + printOf(hashed(HASH_START, textOfField(value))))
    return true
  }
  return entries.every(([key, one]) =>
    addFields(one, { hash: hashed(hash, `/${key}`), depth: depth + 1 }, to),
  )
}

/** Of what is nested deeper than fields are, its print. */
function textOfField(value: Json): string {
  return typeof value === 'object' ? fingerprintOf(value) : JSON.stringify(value)
}

function entriesOf(value: Json): [string, Json][] {
  if (Array.isArray(value))
    return value.map((one, at) => [
      isObject(one) && typeof one.name === 'string' ? one.name : String(at),
      one,
    ])
  return isObject(value) ? Object.entries(value) : []
}

function hashed(from: number, text: string): number {
  let hash = from
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), HASH_PRIME)
  return hash ^ (hash >>> 15)
}

function printOf(hash: number): string {
  return (hash >>> 0).toString(DIGITS).slice(-FIELD_PRINT_LENGTH).padStart(FIELD_PRINT_LENGTH, '0')
}
