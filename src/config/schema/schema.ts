import type { RawNode } from '../tree/raw-node.ts'
import type { Mistakes } from './mistakes.ts'

/** What may be written somewhere, and how it is read. */
export interface Schema<T> {
  readonly doc: SchemaDoc
  /** Reads what stands under `path`. With a mistake in it the value is `FAULTY`, or has that somewhere in it. */
  read(node: RawNode | undefined, path: readonly string[], mistakes: Mistakes): T
}

/** What is read with a schema. */
export type SettingsOf<S> = S extends Schema<infer T> ? T : never

/** The keys of a section. */
export type Shape = Readonly<Record<string, Schema<unknown>>>

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
  | { kind: 'sections'; meaning: string; item: Schema<unknown>; default: string }
