import type { z } from 'zod'

/** The keys of a section. */
export type Shape = Record<string, z.ZodType>

/** What a value is, for people: the configuration docs and print-config are made from these. */
export type SchemaDoc =
  | {
      kind: 'field'
      type: string
      meaning: string
      /** As YAML text; without one the key may be left out, or must be written when `required`. */
      default?: string
      required?: boolean
      /** Reads text, so a substituted value is printed as the text it came from. */
      textual?: boolean
      /** The value, or every entry of the map, is never shown. */
      secret?: boolean
    }
  | { kind: 'refused'; advice: string }
  | { kind: 'section'; meaning: string; shape: Shape; absent: 'filled' | 'off'; bare: 'filled' | 'off' }
  | { kind: 'sections'; meaning: string; item: z.ZodType; default: string }

const docs = new WeakMap<z.ZodType, SchemaDoc>()

/** Ties a description to a schema. */
export function documented<S extends z.ZodType>(schema: S, doc: SchemaDoc): S {
  docs.set(schema, doc)
  return schema
}

/** What was tied to a schema. */
export function docOf(schema: z.ZodType): SchemaDoc {
  const doc = docs.get(schema)
  if (doc === undefined) throw new Error('a configuration schema has no description')
  return doc
}
