import type { ContentReference, LabelSelector } from '../../model/kubernetes-objects.ts'
import { parseRfc3339 } from '../../model/time-and-size.ts'
import { ownValue } from '../../model/untrusted-names.ts'
import { arrayIn, isObject, type Json, type JsonObject, objectIn, textIn } from './object-json.ts'

/** The references of an object to others, and the fingerprints that identify copies of its content. */
export interface Content {
  readonly references: readonly ContentReference[]
  readonly prints: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly selects?: readonly LabelSelector[]
}

export const NOTHING: Content = { references: [], prints: {} }

export function references(...all: readonly ContentReference[]): Content {
  return { references: all.filter(({ name }) => name !== ''), prints: {} }
}

/** The most names that are kept per place. */
export const MAX_NAMES = 64

/** Further labels are not kept. */
export const MAX_LABELS = 64

/** A prefix of 253 characters, a slash, a name of 63 and a value of 63. */
const MAX_LABEL_LENGTH = 380

export function labelsOf(object: JsonObject): Record<string, string> {
  return textsOf(objectIn(objectIn(object, 'metadata'), 'labels'))
}

export function annotationsOf(object: JsonObject): JsonObject {
  return objectIn(objectIn(object, 'metadata'), 'annotations')
}

export function textsOf(object: JsonObject): Record<string, string> {
  const texts = Object.entries(object).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' && key.length + value.length <= MAX_LABEL_LENGTH ? [[key, value]] : [],
  )
  return Object.fromEntries(texts.slice(0, MAX_LABELS))
}

export function selectorOf(selector: Json): LabelSelector {
  return {
    labels: textsOf(objectIn(selector, 'matchLabels')),
    rules: arrayIn(selector, 'matchExpressions')
      .slice(0, MAX_LABELS)
      .map((rule) => ({
        ...{ key: textIn(rule, 'key'), operator: textIn(rule, 'operator') },
        values: arrayIn(rule, 'values')
          .filter((one) => typeof one === 'string' && one.length <= MAX_LABEL_LENGTH)
          .slice(0, MAX_LABELS) as string[],
      })),
  }
}

export function hasCondition(object: JsonObject, type: string): boolean {
  return conditionOf(object, type) !== undefined
}

const TERM = /([^\s,()!=]+)\s*(?:(==?|!=)\s*([^\s,()]*)|\b(in|notin)\s*\(([^)]*)\))?/g
const MAX_SELECTOR_LENGTH = 1_024
const OPERATORS: Readonly<Record<string, string>> = { '!=': 'NotIn', notin: 'NotIn' }

/** A selector as kubectl takes it: `app=web,tier in (a,b),!old`. */
export function selectorOfText(text: string): LabelSelector {
  const terms = text.length > MAX_SELECTOR_LENGTH ? [] : [...text.matchAll(TERM)].slice(0, MAX_LABELS)
  return {
    labels: {},
    rules: terms.map((term) => {
      const [, key = '', compared, value = '', within, values = ''] = term
      const operator = compared ?? within
      if (operator !== undefined)
        return {
          ...{ key, operator: ownValue(OPERATORS, operator) ?? 'In' },
          values: (within === undefined ? value : values).split(',').map((one) => one.trim()),
        }
      return { key, operator: text[term.index - 1] === '!' ? 'DoesNotExist' : 'Exists', values: [] }
    }),
  }
}

/** A condition with status True. */
export function conditionOf(object: JsonObject, type: string): JsonObject | undefined {
  const conditions = arrayIn(objectIn(object, 'status'), 'conditions').filter(isObject)
  return conditions.find(
    (condition) => textIn(condition, 'type') === type && textIn(condition, 'status') === 'True',
  )
}

/** Conditions of finished objects that run to completion, such as Jobs and JobSets. */
const FINISHED = ['Complete', 'Completed', 'Succeeded', 'Failed', 'Finished']

/** `expiresAt`: when the TTL of a finished object ends and its controller deletes it, in nanoseconds since 1970. */
export function expiryOf(object: JsonObject): { expiresAt?: string } {
  const spec = objectIn(object, 'spec')
  const seconds = spec.ttlSecondsAfterFinished ?? objectIn(spec, 'runPolicy').ttlSecondsAfterFinished
  const finished = FINISHED.find((type) => hasCondition(object, type))
  if (finished === undefined || typeof seconds !== 'number' || !Number.isSafeInteger(seconds)) return {}
  const endNs = parseRfc3339(textIn(conditionOf(object, finished), 'lastTransitionTime'))
  return endNs === undefined ? {} : { expiresAt: String(endNs + BigInt(seconds) * 1_000_000_000n) }
}

/** Names of fields, labels and annotations with a lifetime: of the object itself, or of what is made for it. */
const LIVES =
  /^(?:[^/]*\/)?(?:(ttl|time-?to-?live|expires?-?after)|lifetime|retention|keeps?(?:-?for)?|max-?age|delete-?after)(?:period|duration)?(seconds|minutes|hours|days)?$/i
/** Names of those with the time at which an object is to be deleted. */
const ENDS = /^(?:[^/]*\/)?(?:expires?|expiry|expiration|delete)-?(?:at|on|time|timestamp|date)?$/i
/** A TTL of DNS records is no lifetime of the object. */
const OF_NAMES = /dns/i
const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ...{ s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 },
  ...{ seconds: 1, minutes: 60, hours: 3_600, days: 86_400 },
}
const DURATION = /^(?:\d{1,9}[smhdw]){1,5}$/
const NANOS_PER_SECOND = 1_000_000_000n

/** `keepsFor`: the lifetime of the object and of what is made for it, in nanoseconds. `endsAt`: when its own ends, since 1970. */
export function lifetimeOf(object: JsonObject): { keepsFor?: string; endsAt?: string } {
  const metadata = objectIn(object, 'metadata')
  const places = [objectIn(metadata, 'annotations'), objectIn(metadata, 'labels'), objectIn(object, 'spec')]
  for (const [key, value] of places.flatMap((place) => Object.entries(place))) {
    if (typeof value !== 'string' && typeof value !== 'number') continue
    const lives = OF_NAMES.test(key) ? null : LIVES.exec(key)
    // Without a unit, `retention: 3` may count objects.
    const unit = lives?.[2] ?? (lives?.[1] === undefined ? '' : 'seconds')
    const seconds = lives && secondsOf(value, unit.toLowerCase())
    const madeNs = parseRfc3339(textIn(metadata, 'creationTimestamp'))
    if (seconds !== null && seconds !== undefined) {
      const keepsNs = BigInt(seconds) * NANOS_PER_SECOND
      return { keepsFor: String(keepsNs), ...(madeNs !== undefined && { endsAt: String(madeNs + keepsNs) }) }
    }
    const endNs = ENDS.test(key) ? parseRfc3339(String(value)) : undefined
    if (endNs !== undefined) return { endsAt: String(endNs) }
  }
  return {}
}

/** The seconds of `90`, `1h30m` or `7d`. */
function secondsOf(value: string | number, unit: string): number | undefined {
  const text = String(value)
  const parts = DURATION.test(text) ? [...text.matchAll(/(\d+)([smhdw])/g)] : []
  const seconds =
    parts.length === 0 && /^\d{1,9}$/.test(text)
      ? Number(text) * (ownValue(UNIT_SECONDS, unit) ?? 0)
      : parts.reduce((sum, [, count, of = '']) => sum + Number(count) * (ownValue(UNIT_SECONDS, of) ?? 0), 0)
  return seconds > 0 && Number.isSafeInteger(seconds) ? seconds : undefined
}

/** Names of status fields whose value is a phase. */
const PHASE = /(?:phase|state|status|health|stage)$/i
const UNDER_WAY =
  /^(?:new|queued|waiting|paused|unknown|in.?progress|(?!(?:running|serving|existing|working|listening)$)\w*ing)$/i
/** Conditions that are True when all work is done, and the ending of those that are True while work goes on (`Progressing`). */
const DONE = new Set(['Ready', 'Available', 'Healthy', 'Synced', 'Reconciled'])
const DOING = /ing$/

/** `underWay`: by its status, the controller of a custom resource is still at work. */
export function progressOf(object: JsonObject): { underWay?: 'true' } {
  const status = objectIn(object, 'status')
  const { observedGeneration } = status
  const { generation } = objectIn(object, 'metadata')
  const isUnseen = typeof observedGeneration === 'number' && observedGeneration < Number(generation ?? 0)
  const says = Object.entries(status).some(
    ([key, value]) => typeof value === 'string' && PHASE.test(key) && UNDER_WAY.test(value),
  )
  const isConditioned = arrayIn(status, 'conditions').some((condition) => {
    const [type, is] = [textIn(condition, 'type'), textIn(condition, 'status')]
    return (DONE.has(type) && is !== 'True') || (DOING.test(type) && is === 'True')
  })
  return isUnseen || says || isConditioned ? { underWay: 'true' } : {}
}
