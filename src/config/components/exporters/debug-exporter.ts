import type { DebugExporterConfig } from '../../causeway-config.ts'
import { field, NOT_HERE, refusedKeys } from '../../schema/field.ts'
import { choice } from '../../schema/scalar-kinds.ts'
import { section } from '../../schema/section.ts'
import { componentType } from '../component-type.ts'

export const debugExporter = componentType(
  section('Writes what it is given to the log.', {
    verbosity: field(
      choice(['basic', 'normal', 'detailed']),
      'basic',
      '`basic`: one line a batch. `normal`: one line a span. `detailed`: everything.',
    ),
    ...refusedKeys(NOT_HERE, 'sampling_initial', 'sampling_thereafter', 'use_internal_logger'),
    ...refusedKeys(NOT_HERE, 'output_paths', 'sending_queue'),
  }),
  (id, settings): DebugExporterConfig => ({ id, kind: 'debug', verbosity: settings.verbosity }),
)
