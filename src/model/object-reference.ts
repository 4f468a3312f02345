/** An object as a span names it: `<apiVersion>/<resource>/[<namespace>/]<name>?uid=<uid>&rv=<resourceVersion>`. */
export interface ObjectReference {
  /** The part before the question mark. */
  object: string
  uid: string | undefined
  /** The resourceVersion as the integer it is; undefined when absent or no integer of 63 bits. */
  version: bigint | undefined
}

/** `v1`: a version of the core group. Names of groups may begin like it: `v2.edp.epam.com`. */
export const CORE_API_VERSION = /^v\d+(?:(?:alpha|beta)\d+)?$/
const INTEGER = /^\d{1,18}$/
const MAX_LENGTH = 1_024

/** `<apiVersion>/<resource>` of an object reference, with or without what follows a question mark. */
export function kindOfObject(reference: string): string | undefined {
  const parts = reference.split('?', 1).join().split('/')
  const length = CORE_API_VERSION.test(parts[0] ?? '') ? 2 : 3
  const kind = parts.slice(0, length)
  return parts.length > length && kind.every((part) => part !== '') ? kind.join('/') : undefined
}

/** The namespace of an object, given without uid and resourceVersion; a namespace lies in itself. Undefined where it has none. */
export function namespaceOfObject(object: string): string | undefined {
  const parts = object.split('/')
  const within = parts.slice(CORE_API_VERSION.test(parts[0] ?? '') ? 1 : 2)
  if (within.length === 3) return within[1]
  return within.length === 2 && object.startsWith('v1/namespaces/') ? within[1] : undefined
}

/** Reads an object reference; undefined when it does not name a resource and an object of it. */
export function parseObjectReference(text: string): ObjectReference | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const [object = '', query = ''] = text.split('?', 2)
  const parts = object.split('/')
  const least = CORE_API_VERSION.test(parts[0] ?? '') ? 3 : 4
  if (parts.length < least || parts.length > least + 1 || parts.includes('')) return undefined
  const values = new URLSearchParams(query)
  const version = values.get('rv') ?? ''
  return {
    object,
    uid: values.get('uid') ?? undefined,
    version: INTEGER.test(version) ? BigInt(version) : undefined,
  }
}

/** An object reference without uid and resourceVersion. */
export function objectOfReference(reference: string): string {
  return reference.split('?', 1)[0] ?? ''
}
