import type { Json, JsonObject } from '../../../src/kube/objects/object-json.ts'

interface HostileJson {
  readonly name: string
  /** A text of about so many bytes. */
  text(size: number): string
}

/** What stands in the place of a value, as text. */
const EXCESSES: Record<string, (size: number) => string> = {
  'many empty objects': (size) => `[${'{},'.repeat(size / 3)}{}]`,
  'many empty texts': (size) => `[${'"",'.repeat(size / 3)}""]`,
  'many members': (size) => {
    const members = Array.from({ length: Math.max(1, size / 12) }, (_, at) => `"m${at}":{}`)
    return `{${members.join(',')}}`
  },
  'names that differ, twenty to an object': (size) => {
    const objects = Array.from({ length: Math.max(1, size / 200) }, (_, at) => `{${namesFrom(at * 20, 20)}}`)
    return `[${objects.join(',')}]`
  },
  'short texts that differ': (size) => {
    const texts = Array.from({ length: Math.max(1, size / 7) }, (_, at) => `"${at.toString(36)}"`)
    return `[${texts.join(',')}]`
  },
  'one long text': (size) => `"${'x'.repeat(size)}"`,
  'lists in one another': (size) => '['.repeat(size / 2) + ']'.repeat(size / 2),
  'objects in one another': (size) => `${'{"a":'.repeat(size / 6)}1${'}'.repeat(size / 6)}`,
}

const namesFrom = (first: number, count: number): string =>
  Array.from({ length: count }, (_, at) => `"m${(first + at).toString(36)}":1`).join(',')

const isList = (value: Json | undefined): value is Json[] => Array.isArray(value)
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !isList(value)

/** A document, such as a watch event, with too much of something in the place of each of its values in turn. */
export function hostileJson(name: string, document: JsonObject): HostileJson[] {
  const found: HostileJson[] = []
  const visit = (value: Json | undefined, path: readonly string[]): void => {
    for (const [excess, textOf] of Object.entries(EXCESSES))
      found.push({
        name: `${name} ${path.join('.') || 'as a whole'}: ${excess}`,
        text: (size) => textWith(document, path, textOf(size)),
      })
    if (isObject(value)) for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key])
    else if (isList(value)) value.forEach((inner, at) => visit(inner, [...path, String(at)]))
  }
  visit(document, [])
  return found
}

function textWith(value: Json | undefined, [step, ...rest]: readonly string[], excess: string): string {
  if (step === undefined) return excess
  if (isList(value))
    return `[${value.map((inner, at) => (String(at) === step ? textWith(inner, rest, excess) : JSON.stringify(inner))).join(',')}]`
  const members = Object.entries(isObject(value) ? value : {}).map(
    ([key, inner]) =>
      `${JSON.stringify(key)}:${key === step ? textWith(inner, rest, excess) : JSON.stringify(inner)}`,
  )
  return `{${members.join(',')}}`
}
