import { hash } from 'node:crypto'
import type { Json } from './json-access.ts'

/** The same for equal content, whatever the order of keys; `without` names fields that do not count. */
export function printOf(content: Json | undefined, without?: ReadonlySet<string>): string {
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
  return { whole, counted: hasSome ? printOf(content, without) : whole }
}

function printOfText(text: string): string {
  return hash('sha1', text, 'base64url').slice(0, 14)
}

/** JSON whose objects have their keys in order. */
function textOf(content: Json, without?: ReadonlySet<string>): string {
  return JSON.stringify(inOrder(content, without))
}

/** A copy is written in one go, where a replacer would be asked about every value. */
function inOrder(value: Json, without?: ReadonlySet<string>): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => inOrder(one, without))
  const ordered: [string, Json][] = []
  for (const [key, one] of Object.entries(value).sort(byKey))
    if (without?.has(key) !== true) ordered.push([key, inOrder(one, without)])
  return Object.fromEntries(ordered)
}

function byKey([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1
}
