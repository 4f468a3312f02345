import { hash } from 'node:crypto'
import type { Json } from './object-json.ts'

/** Equal for equal content, whatever the order of keys. `without` names fields that do not count. */
export function fingerprintOf(content: Json | undefined, without?: ReadonlySet<string>): string {
  return printOfText(textOf(content ?? null, without))
}

/** The fingerprint of content, and the one without the fields that do not count. Both are equal if it has none of those. */
export function printsOf(
  content: Json | undefined,
  without: ReadonlySet<string>,
): { whole: string; counted: string } {
  const text = textOf(content ?? null)
  const whole = printOfText(text)
  const hasSome = [...without].some((key) => text.includes(key))
  return { whole, counted: hasSome ? fingerprintOf(content, without) : whole }
}

function printOfText(text: string): string {
  return hash('sha1', text, 'base64url').slice(0, 14)
}

/** Objects that people write are nested less than a tenth as deep; an API server accepts 10,000 levels. */
const MAX_DEPTH = 200

/** JSON with sorted keys. Unusually deep content is replaced by its fingerprint. */
function textOf(content: Json, without?: ReadonlySet<string>): string {
  return JSON.stringify(inOrder(content, MAX_DEPTH, without))
}

/** Copies first and stringifies the copy in one call: a replacer function would be called for every value. */
function inOrder(value: Json, depth: number, without?: ReadonlySet<string>): Json {
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return printOfText(deepText(value))
  if (Array.isArray(value)) return value.map((one) => inOrder(one, depth - 1, without))
  const ordered: [string, Json][] = []
  for (const [key, one] of Object.entries(value).sort(byKey))
    if (without?.has(key) !== true) ordered.push([key, inOrder(one, depth - 1, without)])
  return Object.fromEntries(ordered)
}

/** The same text for the same content, however deep it is. */
function deepText(content: Json): string {
  const texts: string[] = []
  /** What is still to be written, the next item last: values, and literal texts. */
  const left: ({ text: string } | { value: Json })[] = [{ value: content }]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if ('text' in next) texts.push(next.text)
    else if (typeof next.value !== 'object' || next.value === null) texts.push(JSON.stringify(next.value))
    else if (Array.isArray(next.value)) {
      left.push({ text: ']' })
      for (const value of next.value.toReversed()) left.push({ value })
      left.push({ text: '[' })
    } else {
      left.push({ text: '}' })
      for (const [key, value] of Object.entries(next.value).sort(byKey).toReversed())
        left.push({ value }, { text: JSON.stringify(key) })
      left.push({ text: '{' })
    }
  }
  return texts.join(' ')
}

function byKey([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1
}
