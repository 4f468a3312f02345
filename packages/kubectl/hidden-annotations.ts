import { isObject, type Json, type JsonObject, objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import type { Annotations } from './annotate-body.ts'
import { parseExactly } from './exact-json.ts'
import { KEYS } from './kubectl-change.ts'

const NONE: Annotations = {}
const OURS: ReadonlySet<string> = new Set(KEYS)
/** The paths of the keys in a JSON patch. */
const PATHS: ReadonlySet<string> = new Set(
  KEYS.map((key) => `/metadata/annotations/${key.replace('/', '~1')}`),
)

/**
 * An object or patch without the annotations of the proxy. Programs that store what they read, such as Terraform, would see them as drift
 * and remove them, or write them again with a later change. A program that sent such annotations, read without the proxy, is shown its
 * `own`: some check that an object became what they planned.
 */
export function withoutChange(text: Buffer, own: Annotations = NONE): Buffer {
  // Most bodies have none of the keys.
  if (own === NONE && !hasKeys(text)) return text
  const shown = shownOf(parseExactly(text.toString()), own)
  return shown === undefined ? text : Buffer.from(JSON.stringify(shown))
}

/** The annotations under these keys in an object that a program sends. */
export function changeIn(text: Buffer): Annotations {
  if (!hasKeys(text)) return NONE
  const annotations = objectIn(objectIn(parseExactly(text.toString()), 'metadata'), 'annotations')
  const own = KEYS.flatMap((key) => (key in annotations ? [[key, textIn(annotations, key)] as const] : []))
  return own.length === 0 ? NONE : Object.fromEntries(own)
}

function hasKeys(text: Buffer): boolean {
  return [...KEYS, ...PATHS].some((named) => text.includes(named))
}

/** Undefined where there is nothing to hide. */
function shownOf(content: Json | undefined, own: Annotations): Json | undefined {
  if (Array.isArray(content)) {
    const shown = content.filter((operation) => !isOfOurs(operation))
    return shown.length === content.length ? undefined : shown
  }
  const metadata = objectIn(content, 'metadata')
  const all = Object.entries(objectIn(metadata, 'annotations'))
  const others = all.filter(([key]) => !OURS.has(key))
  // A Status has no name, and gets none.
  const mine = textIn(metadata, 'name') === '' ? [] : Object.entries(own)
  if (!isObject(content) || (mine.length === 0 && others.length === all.length)) return undefined
  return { ...content, metadata: withAnnotations(metadata, [...others, ...mine]) }
}

/** Leaves out empty annotations, as API servers do. */
function withAnnotations(metadata: JsonObject, shown: [string, Json][]): JsonObject {
  if (shown.length > 0) return { ...metadata, annotations: Object.fromEntries(shown) }
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== 'annotations'))
}

/** Whether a JSON patch operation writes one of the keys; `test` operations stay. */
function isOfOurs(operation: Json): boolean {
  return PATHS.has(textIn(operation, 'path')) && textIn(operation, 'op') !== 'test'
}
