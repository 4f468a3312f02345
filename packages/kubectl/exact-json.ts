import type { Json } from '../../src/kube/objects/object-json.ts'

/** JSON.rawJSON, which TypeScript does not declare yet: a number that `stringify` writes as it was in the source. */
interface RawJson {
  readonly rawJSON: (text: string) => Json
}

const { rawJSON } = JSON as unknown as RawJson

/** Parses JSON so that `stringify` writes every number as in the source, of any size or precision; undefined if it is not JSON. */
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
