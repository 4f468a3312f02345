import type { Json } from '../../src/kube/objects/object-json.ts'

/** What TypeScript does not know of yet: a number as it is written, which `stringify` writes again as it was. */
interface RawJson {
  readonly rawJSON: (text: string) => Json
}

const { rawJSON } = JSON as unknown as RawJson

/** JSON whose numbers `stringify` writes as they were, however large or exact they are; undefined where the text is none. */
export function parseExactly(text: string): Json | undefined {
  const keep = (_key: string, value: Json, context?: { source?: string }): Json => {
    const source = context?.source
    return typeof value === 'number' && source !== undefined && String(value) !== source
      ? rawJSON(source)
      : value
  }
  try {
    return JSON.parse(text, keep as (key: string, value: unknown) => unknown) as Json
  } catch {
    return undefined
  }
}
