import type { CustomReference } from '../model/kubernetes/custom-reference.ts'
import type { ContentReference } from '../model/kubernetes/object-facts.ts'
import { ownValue } from '../model/own-value.ts'
import { isObject, type Json, type JsonObject } from './json-access.ts'

/** How many names of one place are kept. */
const MAX_NAMES = 64

/** What an object names in the places that configuration tells of. */
export function customContent(
  object: JsonObject,
  resource: string,
  custom: readonly CustomReference[],
): ContentReference[] {
  return custom.flatMap((one) => {
    if (one.resource !== resource) return []
    const [namespace = ''] = one.namespacePath === undefined ? [] : textsAt(object, one.namespacePath)
    const names = textsAt(object, one.path).slice(0, MAX_NAMES)
    return names.map((name) => ({ field: one.field, resource: one.of, namespace, name }))
  })
}

function textsAt(value: Json | undefined, [key, ...rest]: readonly string[]): string[] {
  if (key === undefined) return typeof value === 'string' && value !== '' ? [value] : []
  if (key === '*') return Array.isArray(value) ? value.flatMap((one) => textsAt(one, rest)) : []
  return isObject(value) ? textsAt(ownValue(value, key), rest) : []
}
