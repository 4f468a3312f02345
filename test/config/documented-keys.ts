import { COMPONENTS } from '../../src/app/components.ts'
import type { Schema } from '../../src/config/schema.ts'
import { pipeline, service } from '../../src/config/service-section.ts'

interface DocumentedKey {
  /** From the top, with the type in place of an id and 0 for an item of a list. */
  path: string[]
  /** What is said when it is written; undefined for keys that are taken. */
  advice?: string
}

/** Every key that the docs list, taken or refused. */
export function documentedKeys(): DocumentedKey[] {
  const sections = ['receivers', 'connectors', 'exporters', 'extensions'] as const
  return [
    ...sections.flatMap((section) =>
      COMPONENTS[section].flatMap(({ name, schema }) => keysOf(schema, [section, name])),
    ),
    ...keysOf(service, ['service']),
    ...keysOf(pipeline, ['service', 'pipelines', 'traces']),
  ]
}

function keysOf(schema: Schema<unknown>, path: string[]): DocumentedKey[] {
  const doc = schema.doc
  switch (doc.kind) {
    case 'field':
      return [{ path }]
    case 'refused':
      return [{ path, advice: doc.advice }]
    case 'section':
      return Object.entries(doc.shape).flatMap(([key, inner]) => keysOf(inner, [...path, key]))
    case 'sections':
      return keysOf(doc.item, [...path, '0'])
  }
}
