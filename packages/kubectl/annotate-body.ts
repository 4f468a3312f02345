import { isObject, type Json, type JsonObject, objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import { ownValue } from '../../src/model/untrusted-names.ts'

/** Annotations by their keys. */
export type Annotations = Readonly<Record<string, string>>

const WHOLE_OBJECT = new Set(['POST', 'PUT'])
const PATCHES = new Set([
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
])
const JSON_PATCH = 'application/json-patch+json'
/** The members of an object and of DeleteOptions that hold a resourceVersion precondition. An Eviction contains DeleteOptions. */
const LOCKED = ['metadata', 'preconditions'] as const
const OPTIONS = 'deleteOptions'
/** The paths at which a JSON patch may set all annotations of an object, with the way from there to them. */
const ABOVE: ReadonlyMap<string, readonly string[]> = new Map([
  ['', ['metadata', 'annotations']],
  ['/metadata', ['annotations']],
  ['/metadata/annotations', []],
])

/**
 * The body of a write with these annotations added, otherwise unchanged. Undefined where it has no place for them: a JSON patch cannot
 * add to annotations that may not exist.
 */
export function annotateBody(
  method: string,
  contentType: string,
  body: Json,
  annotations: Annotations,
): Json | undefined {
  const [type = ''] = contentType.split(';', 1)
  if (type.trim() === JSON_PATCH) return annotateOperations(body, annotations)
  const isWhole = WHOLE_OBJECT.has(method)
  if (!isWhole && !PATCHES.has(type.trim())) return undefined
  if (!isObject(body)) return undefined
  return withAnnotations(body, ['metadata', 'annotations'], annotations, isWhole)
}

/** Adds annotations at `way`. Undefined at a `null` of a patch, which deletes and leaves no room to add; in an object `null` is empty. */
function withAnnotations(
  value: Json | undefined,
  way: readonly string[],
  annotations: Annotations,
  nullIsNothing: boolean,
): JsonObject | undefined {
  if (value === null && !nullIsNothing) return undefined
  const there = value ?? {}
  if (!isObject(there) || isTakenAway(there)) return undefined
  const [key, ...rest] = way
  if (key === undefined) return { ...there, ...annotations }
  const inner = withAnnotations(ownValue(there, key), rest, annotations, nullIsNothing)
  return inner && { ...there, [key]: inner }
}

/** A directive of strategic merge patches. */
function isTakenAway(patch: JsonObject): boolean {
  return textIn(patch, '$patch') === 'delete'
}

function annotateOperations(body: Json, annotations: Annotations): Json | undefined {
  if (!Array.isArray(body)) return undefined
  const at = body.findLastIndex((operation) => ABOVE.has(pathOf(operation)))
  const operation = body[at]
  if (!isObject(operation) || !['add', 'replace'].includes(textIn(operation, 'op'))) return undefined
  const way = ABOVE.get(pathOf(operation)) ?? []
  const value = withAnnotations(ownValue(operation, 'value'), way, annotations, true)
  return value && body.with(at, { ...operation, value })
}

/** The path of an operation; `-` without one. */
function pathOf(operation: Json): string {
  return isObject(operation) && typeof operation['path'] === 'string' ? operation['path'] : '-'
}

/** The resourceVersion that a write requires; empty without one. */
export function lockOf(body: Json | undefined): string {
  if (Array.isArray(body)) {
    const tests = body.filter((operation) => isVersionTest(operation))
    return textIn(tests[0], 'value')
  }
  const locks = LOCKED.map((key) => textIn(objectIn(body, key), 'resourceVersion'))
  return locks.find((lock) => lock !== '') ?? (isOfOptions(body) ? lockOf(objectIn(body, OPTIONS)) : '')
}

/** The same write with another required resourceVersion. */
export function withLock(body: Json, version: string): Json {
  if (Array.isArray(body))
    return body.map((operation) =>
      isVersionTest(operation) ? { ...(operation as JsonObject), value: version } : operation,
    )
  if (!isObject(body)) return body
  const locked = LOCKED.filter((key) => textIn(objectIn(body, key), 'resourceVersion') !== '')
  const parts = locked.map((key) => [key, { ...objectIn(body, key), resourceVersion: version }] as const)
  const options = isOfOptions(body) && { [OPTIONS]: withLock(objectIn(body, OPTIONS), version) }
  return { ...body, ...options, ...Object.fromEntries(parts) }
}

function isOfOptions(body: Json | undefined): boolean {
  return textIn(objectIn(objectIn(body, OPTIONS), 'preconditions'), 'resourceVersion') !== ''
}

function isVersionTest(operation: Json): boolean {
  return textIn(operation, 'op') === 'test' && pathOf(operation) === '/metadata/resourceVersion'
}
