import { type FieldValues, HIDDEN_VALUE } from '../../model/kubernetes-objects.ts'
import { fingerprintOf } from './content-prints.ts'
import { entriesOf } from './field-prints.ts'
import { isObject, type Json, type JsonObject } from './object-json.ts'

/** If an object has more fields than this, or too much text in total, its changes are not shown. */
const MAX_FIELDS = 256
const MAX_LENGTH = 8_192
const MAX_DEPTH = 16
/** A longer value is cut, and its fingerprint is appended. */
const MAX_VALUE = 80
const PRINT_LENGTH = 6

/** Secrets are never shown. The other resources are written too often, or not by people. */
const NOT_SHOWN = new Set([
  ...['secrets', 'pods', 'nodes', 'endpoints', 'endpointslices'],
  ...['controllerrevisions', 'customresourcedefinitions'],
])
const NO_FIELDS = new Set(['apiVersion', 'kind', 'status', 'metadata'])
const OF_METADATA = new Set(['labels', 'annotations', 'finalizers'])
/** Annotations that trace changes, and the one that repeats the whole object. */
const NO_ANNOTATION =
  /^(?:causeway\.io\/|tracing\.k8s\.io\/|kubectl\.kubernetes\.io\/last-applied-configuration$)/
const SECRET = /passw|secret|token|credential|private|api_?key|auth/i
/** Fields whose values are one of a few choices, or are public names. */
const PLAIN = new Set([
  ...['image', 'imagePullPolicy', 'restartPolicy', 'type', 'schedule', 'timeZone', 'concurrencyPolicy'],
  ...['port', 'targetPort', 'protocol', 'maxSurge', 'maxUnavailable', 'minAvailable', 'nodeName'],
  ...['storageClassName', 'ingressClassName', 'serviceAccountName', 'serviceName', 'version', 'revision'],
])
const PLAIN_WITHIN = new Set(['resources', 'labels', 'matchLabels', 'selector', 'hard'])

/**
 * The fields that an author set in an object, as a short text for each field path (`spec.replicas`), to be compared with other versions.
 * A value that may be secret is replaced by a fingerprint, depending on `values`. An owned object repeats its owner's template, which is
 * left out.
 */
export function shownFields(
  object: JsonObject,
  { resource, values, isOwned }: { resource: string; values: FieldValues; isOwned: boolean },
): Readonly<Record<string, string>> | undefined {
  if (values === 'none' || NOT_SHOWN.has(resource)) return undefined
  const fields = new FieldTexts(values === 'all')
  const { metadata } = object
  for (const [key, value] of entriesOf(metadata ?? null))
    if (OF_METADATA.has(key)) fields.add(value, { path: `metadata.${key}`, keys: [key] })
  for (const [key, value] of Object.entries(object)) {
    if (NO_FIELDS.has(key)) continue
    if (key === 'spec' && isOwned && isObject(value)) {
      const { template, ...rest } = value
      fields.add(template === undefined ? value : rest, { path: key, keys: [key] })
    } else fields.add(value, { path: key, keys: [key] })
  }
  return fields.isWhole ? Object.fromEntries(fields.texts) : undefined
}

interface Place {
  readonly path: string
  readonly keys: readonly string[]
}

class FieldTexts {
  readonly texts: [path: string, text: string][] = []
  readonly #showsAll: boolean
  #length = 0

  constructor(showsAll: boolean) {
    this.#showsAll = showsAll
  }

  get isWhole(): boolean {
    return this.texts.length <= MAX_FIELDS && this.#length <= MAX_LENGTH
  }

  add(value: Json, { path, keys }: Place): void {
    if (!this.isWhole) return
    const entries = keys.length < MAX_DEPTH ? entriesOf(value) : []
    for (const [key, one] of entries) {
      if (keys[0] === 'annotations' && NO_ANNOTATION.test(key)) continue
      this.add(one, { path: path + stepOf(key, value), keys: [...keys, key] })
    }
    if (entries.length > 0) return
    const text = this.#textOf(value, keys)
    this.#length += path.length + text.length
    this.texts.push([path, text])
  }

  #textOf(value: Json, keys: readonly string[]): string {
    if (typeof value === 'object' && value !== null && entriesOf(value).length === 0)
      return Array.isArray(value) ? '[]' : '{}'
    const isShown =
      typeof value !== 'object' && !keys.some((key) => SECRET.test(key)) && this.#isShown(value, keys)
    if (!isShown) return HIDDEN_VALUE + printOf(value)
    const text = String(value)
    return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…${HIDDEN_VALUE}${printOf(value)}`
  }

  #isShown(value: string | number | boolean, keys: readonly string[]): boolean {
    if (this.#showsAll || typeof value !== 'string') return true
    return PLAIN.has(keys.at(-1) ?? '') || keys.some((key) => PLAIN_WITHIN.has(key))
  }
}

function stepOf(key: string, within: Json): string {
  return !Array.isArray(within) && /^[A-Za-z0-9_-]+$/.test(key) ? `.${key}` : `[${key}]`
}

function printOf(value: Json): string {
  return fingerprintOf(value).slice(0, PRINT_LENGTH)
}
