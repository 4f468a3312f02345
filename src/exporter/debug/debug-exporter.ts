import { componentType } from '../../config/component-type.ts'
import { field, refusedKeys, section, UNSUPPORTED_COLLECTOR_KEY } from '../../config/schema.ts'
import { choice } from '../../config/value-kinds.ts'
import type { ExporterType } from '../exporter-type.ts'

export interface DebugExporterSettings {
  verbosity: 'basic' | 'normal' | 'detailed'
}

export const debugExporter: ExporterType<DebugExporterSettings> = {
  ...componentType({
    name: 'debug',
    schema: section("Writes the data that it receives to Causeway's log.", {
      verbosity: field(
        choice(['basic', 'normal', 'detailed']),
        'basic',
        'How much is written. `basic` writes one line for each batch, `normal` one line for each span, and `detailed` everything.',
      ),
      ...refusedKeys(
        UNSUPPORTED_COLLECTOR_KEY,
        'sampling_initial',
        'sampling_thereafter',
        'use_internal_logger',
      ),
      ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'output_paths', 'sending_queue'),
    }),
    build: ({ verbosity }): DebugExporterSettings => ({ verbosity }),
  }),
  signals: ['traces', 'logs', 'metrics'],
  destination: () => ({ kind: 'here', does: 'prints to the log' }),
  sending: () => ({ batchMaxItems: 512, consumers: 1 }),
  load: () => import('./debug-transport.ts'),
}
