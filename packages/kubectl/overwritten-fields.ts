import {
  arrayIn,
  isObject,
  type Json,
  type JsonObject,
  objectIn,
  textIn,
} from '../../src/kube/objects/object-json.ts'
import { ownValue } from '../../src/model/untrusted-names.ts'
import { parseExactly } from './exact-json.ts'
import type { WriteTarget } from './write-target.ts'

/** A step of a field path in managedFields; in lists `k:{"name":"c"}`, `v:"a"` or `i:0`. */
type Step =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'entry'; readonly fits: JsonObject }
  | { readonly kind: 'value'; readonly value: Json }

/** A field that a change may have set, with its value. */
export interface HeldField {
  readonly steps: readonly Step[]
  /** As JSON. */
  readonly value: string
}

/** With more fields than this, `heldFields` is undefined. */
const MOST_FIELDS = 2_000
const SETS_NOTHING = new Set([
  'tracing.k8s.io/traceparent',
  'kubectl.kubernetes.io/last-applied-configuration',
  'deployment.kubernetes.io/revision',
])
const DOMAIN = 'causeway.io/'

/**
 * The fields that the change on an object may have set: those of the manager that wrote its CPID; if it wrote nothing else, as before a
 * scale, those of all managers that wrote in that second or later, without status. Undefined when managedFields do not tell.
 */
export function heldFields(object: Json | undefined, cpidKey: string): readonly HeldField[] | undefined {
  const entries = arrayIn(objectIn(object, 'metadata'), 'managedFields')
  const marks = (entry: Json): boolean =>
    ownValue(
      objectIn(objectIn(objectIn(entry, 'fieldsV1'), 'f:metadata'), 'f:annotations'),
      `f:${cpidKey}`,
    ) !== undefined
  const [first, ...others] = entries.filter(marks)
  if (first === undefined) return undefined
  const mark = others.reduce((last, one) => (textIn(one, 'time') > textIn(last, 'time') ? one : last), first)
  const own = waysIn(objectIn(mark, 'fieldsV1'))
  const later = entries.filter(
    (entry) => textIn(entry, 'time') >= textIn(mark, 'time') && textIn(entry, 'subresource') !== 'status',
  )
  const ways = own.length > 0 ? own : later.flatMap((entry) => waysIn(objectIn(entry, 'fieldsV1')))
  if (ways.length > MOST_FIELDS) return undefined
  const held = ways.flatMap((steps): HeldField[] => {
    const value = steps.reduce<Json | undefined>(stepInto, object)
    return value === undefined ? [] : [{ steps, value: JSON.stringify(value) }]
  })
  return held.length === 0 ? undefined : held
}

/** The paths of the fields in an entry of managedFields, except those that do not describe a change. */
function waysIn(fields: JsonObject): Step[][] {
  const ways: Step[][] = []
  const open: { readonly of: JsonObject; readonly steps: Step[] }[] = [{ of: fields, steps: [] }]
  for (let next = open.pop(); next !== undefined && ways.length <= MOST_FIELDS; next = open.pop()) {
    const below = Object.entries(next.of).filter(([name]) => name !== '.')
    if (below.length === 0 && !saysNothing(next.steps)) ways.push(next.steps)
    for (const [name, of] of below) {
      const step = stepOf(name)
      if (step !== undefined && isObject(of)) open.push({ of, steps: [...next.steps, step] })
    }
  }
  return ways
}

function saysNothing([first, second, third]: readonly Step[]): boolean {
  if (first === undefined) return true
  if (keyOf(first) !== 'metadata' || keyOf(second) !== 'annotations') return false
  const name = keyOf(third)
  return name === undefined || name.startsWith(DOMAIN) || SETS_NOTHING.has(name)
}

const keyOf = (step: Step | undefined): string | undefined => (step?.kind === 'key' ? step.key : undefined)

function stepOf(name: string): Step | undefined {
  const [kind, rest] = [name.slice(0, 2), name.slice(2)]
  if (kind === 'f:') return { kind: 'key', key: rest }
  const said = parseExactly(rest)
  if (kind === 'k:' && isObject(said)) return { kind: 'entry', fits: said }
  return kind === 'v:' && said !== undefined ? { kind: 'value', value: said } : undefined
}

function stepInto(value: Json | undefined, step: Step): Json | undefined {
  if (step.kind === 'key') return isObject(value) ? ownValue(value, step.key) : undefined
  if (!Array.isArray(value)) return undefined
  if (step.kind === 'value') return value.find((one) => JSON.stringify(one) === JSON.stringify(step.value))
  return value.find((one) => fits(one, step.fits))
}

function fits(one: Json, key: JsonObject): boolean {
  return Object.entries(key).every(
    ([name, value]) => isObject(one) && JSON.stringify(ownValue(one, name)) === JSON.stringify(value),
  )
}

interface Overwriting {
  readonly method: string
  readonly type: string
  readonly target: WriteTarget
  readonly body: Json | undefined
}

/** Whether a write certainly changes all of these fields. */
export function overwritesAll(
  held: readonly HeldField[],
  { method, type, target, body }: Overwriting,
): boolean {
  const { subresource } = target
  if (method === 'DELETE') return subresource === ''
  if (subresource === 'scale') return held.every((field) => isScale(field) && isSetAnew(field, body, false))
  if (subresource !== '' || !isObject(body)) return false
  if (method === 'PUT')
    return held.every(({ steps, value }) => JSON.stringify(steps.reduce(stepInto, body)) !== value)
  const isMerge = type.startsWith('application/merge-patch')
  const isPatch = isMerge || /^application\/(?:strategic-merge|apply)-patch/.test(type)
  return isPatch && held.every((field) => isSetAnew(field, body, isMerge))
}

function isScale({ steps }: HeldField): boolean {
  return steps.map(keyOf).join('.') === 'spec.replicas'
}

/** Whether a patch changes or removes a field. `replacesLists`: a merge patch replaces whole lists. */
function isSetAnew({ steps, value }: HeldField, patch: Json | undefined, replacesLists: boolean): boolean {
  let at = patch
  let isWhole = false
  for (const step of steps) {
    if (at === null) return true
    if (isObject(at) && textIn(at, '$patch') !== '') return false
    isWhole ||= replacesLists && Array.isArray(at)
    at = stepInto(at, step)
    if (at === undefined) return isWhole
  }
  // A patch of a map that is one field may change a part of it only.
  return at === null || (!isObject(at) && JSON.stringify(at) !== value)
}
