import { componentType } from '../../../src/config/component-type.ts'
import { requiredField, section } from '../../../src/config/schema.ts'
import { TEXT } from '../../../src/config/value-kinds.ts'
import type { ExporterType } from '../../../src/exporter/exporter-type.ts'

export interface ShelfExporterSettings {
  file: string
}

/** Needs no backend: it writes into a file. */
export const shelfExporter: ExporterType<ShelfExporterSettings> = {
  ...componentType({
    name: 'shelf_filler',
    schema: section('Lays linked spans into a file.', {
      file: requiredField(TEXT, 'file: linked.json', 'One OTLP/JSON request a line.'),
    }),
    build: ({ file }): ShelfExporterSettings => ({ file }),
  }),
  signals: ['traces'],
  destination: ({ file }) => ({ kind: 'here', does: `fills ${file}` }),
  sending: () => ({ batchMaxItems: 10, consumers: 1 }),
  load: () => import('./fill-shelf.ts'),
}
