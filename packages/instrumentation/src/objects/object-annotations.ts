import { readAncestors, writeAncestors } from '../context/ancestor-list.ts'
import { annotationOf, annotationsOf, recordIn, type KubernetesObject } from './kubernetes-object.ts'
import { readCpid } from '../context/read-cpid.ts'
import type { TraceContext } from '../context/trace-context.ts'
import { ownValue } from '../own-value.ts'

export interface AnnotationKeys {
  readonly cpid: string
  readonly ancestors: string
}

export const ANNOTATION_KEYS: AnnotationKeys = {
  cpid: 'causeway.io/cpid',
  ancestors: 'causeway.io/ancestor-cpids',
}

/** The API server's limit for the keys and values of all annotations of an object. */
const MAX_ANNOTATION_BYTES = 256 * 1024
const MAX_BYTES_PER_UNIT = 3

/** The trace context in an object's annotations; undefined when they have no CPID that is a UUID. */
export function readAnnotations(
  object: KubernetesObject | null | undefined,
  keys: AnnotationKeys,
  maxAncestors: number,
): TraceContext | undefined {
  const cpid = readCpid(annotationOf(object, keys.cpid) ?? '')
  if (cpid === undefined) return undefined
  return { cpid, ancestors: readAncestors(annotationOf(object, keys.ancestors) ?? '', cpid, maxAncestors) }
}

/**
 * A copy of the object that carries the trace context; other annotations stay. The list of nearest ancestors is always written, even
 * empty, so that it replaces an earlier list, also in a patch. If the annotations would exceed the API server's limit, the ancestors
 * are left out, or else the object is returned unchanged.
 */
export function writeAnnotations<T extends KubernetesObject>(
  { cpid, ancestors }: TraceContext,
  object: T,
  keys: AnnotationKeys,
  maxAncestors: number,
): T {
  const list = writeAncestors(ancestors.slice(0, maxAncestors))
  const full = { ...annotationsOf(object), [keys.cpid]: cpid, [keys.ancestors]: list }
  if (fits(full)) return withAnnotations(object, full)
  const short = { ...full, [keys.ancestors]: '' }
  return fits(short) ? withAnnotations(object, short) : object
}

/** A copy of the same class with these annotations. */
function withAnnotations<T extends KubernetesObject>(object: T, annotations: Record<string, unknown>): T {
  const metadata = { ...recordIn(object.metadata), annotations }
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype === Object.prototype) return { ...object, metadata }
  return Object.assign(Object.create(prototype as object | null) as T, object, { metadata })
}

function fits(annotations: Readonly<Record<string, unknown>>): boolean {
  let units = 0
  for (const key in annotations) {
    const value = ownValue(annotations, key)
    units += key.length + (typeof value === 'string' ? value.length : 0)
  }
  return units * MAX_BYTES_PER_UNIT <= MAX_ANNOTATION_BYTES || bytesOf(annotations) <= MAX_ANNOTATION_BYTES
}

function bytesOf(annotations: Readonly<Record<string, unknown>>): number {
  let bytes = 0
  for (const key in annotations) {
    const value = ownValue(annotations, key)
    bytes += Buffer.byteLength(key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0)
  }
  return bytes
}
