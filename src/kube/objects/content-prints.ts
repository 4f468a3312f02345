import { hash } from 'node:crypto'
import type { Json } from './object-json.ts'

/** The same for equal content, whatever the order of keys; `without` names fields that do not count. */
export function fingerprintOf(content: Json | undefined, without?: ReadonlySet<string>): string {
  return printOfText(textOf(content ?? null, without))
}

/** The print of content, and the print without the fields that do not count: the same where it has none of them. */
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

/** Objects that people write are not nested a tenth as deep; an API server takes 10,000 levels. */
const MAX_DEPTH = 200

/** JSON whose objects have their keys in order; of what is nested deeper than most is, its print. */
function textOf(content: Json, without?: ReadonlySet<string>): string {
  return JSON.stringify(inOrder(content, MAX_DEPTH, without))
}

/** A copy is written in one go, where a replacer would be asked about every value. */
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
  /** What is still to be written, the next last: values, and texts as they are. */
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
