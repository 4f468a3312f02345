import { FIELD_PRINT_LENGTH } from '../../model/kubernetes-objects.ts'
import { fingerprintOf } from './content-prints.ts'
import { isObject, type Json, type JsonObject } from './object-json.ts'

/** If an object has more fields than this, the fields that a write set are not known. */
const MAX_FIELDS = 256
/** Content below this depth counts as one field. */
const MAX_DEPTH = 16
const HASH_START = 0x811c9dc5
const HASH_PRIME = 0x01000193
const DIGITS = 36

/**
 * A fingerprint of each field that an author set, by its path: five letters for the path and five for the value. Two fields in sixty
 * million collide. List entries with a name are identified by it, whatever their position. Undefined if there are too many fields.
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

/** Deeper content is replaced by its fingerprint. */
function textOfField(value: Json): string {
  return typeof value === 'object' ? fingerprintOf(value) : JSON.stringify(value)
}

/** The fields of an object, or the items of a list by their names, else by their positions. */
export function entriesOf(value: Json): [string, Json][] {
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
