import { isObject, type Json, type JsonObject, objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import { parseExactly } from './exact-json.ts'
import { KEYS } from './kubectl-change.ts'

const OURS: ReadonlySet<string> = new Set(KEYS)
/** Where operations of a JSON patch have them. */
const PATHS: ReadonlySet<string> = new Set(
  KEYS.map((key) => `/metadata/annotations/${key.replace('/', '~1')}`),
)

/**
 * An object, or a patch of one, without what the proxy puts on objects. Programs that keep what they read would take it for something that
 * somebody else did, and undo it, or write it again when it is that of another change.
 */
export function withoutChange(text: Buffer): Buffer {
  // Most have nothing of it.
  if (![...KEYS, ...PATHS].some((named) => text.includes(named))) return text
  const shown = shownOf(parseExactly(text.toString()))
  return shown === undefined ? text : Buffer.from(JSON.stringify(shown))
}

/** Undefined where there is nothing to hide. */
function shownOf(content: Json | undefined): Json | undefined {
  if (Array.isArray(content)) {
    const shown = content.filter((operation) => !isOfOurs(operation))
    return shown.length === content.length ? undefined : shown
  }
  const metadata = objectIn(content, 'metadata')
  const all = Object.entries(objectIn(metadata, 'annotations'))
  const shown = all.filter(([key]) => !OURS.has(key))
  if (!isObject(content) || shown.length === all.length) return undefined
  return { ...content, metadata: withAnnotations(metadata, shown) }
}

/** API servers leave out what is empty. */
function withAnnotations(metadata: JsonObject, shown: [string, Json][]): JsonObject {
  if (shown.length > 0) return { ...metadata, annotations: Object.fromEntries(shown) }
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== 'annotations'))
}

/** What only looks at them stays. */
function isOfOurs(operation: Json): boolean {
  return PATHS.has(textIn(operation, 'path')) && textIn(operation, 'op') !== 'test'
}
