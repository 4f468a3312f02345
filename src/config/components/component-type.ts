import type { Schema } from '../schema/schema.ts'
import type { Findings } from '../findings.ts'
import { readSettings } from '../schema/read-settings.ts'
import type { RawNode } from '../tree/raw-node.ts'

/** One type of receiver, connector, exporter or extension: what may be written and what becomes of it. */
export interface ComponentType<Built> {
  readonly schema: Schema<unknown>
  /** Undefined when there were mistakes; all of them are in the findings. */
  read(id: string, node: RawNode, path: readonly string[], findings: Findings): Built | undefined
}

/** `build` is given only settings without mistakes. `warn` names keys that are taken but have no effect. */
export function componentType<Settings, Built>(
  schema: Schema<Settings>,
  build: (id: string, settings: Settings) => Built,
  warn: (settings: NoInfer<Settings>) => { key: string; message: string }[] = () => [],
): ComponentType<Built> {
  return {
    schema,
    read: (id, node, path, findings) => {
      const reading = readSettings(schema, node, path)
      if (reading.kind === 'faulty') {
        for (const { path: where, message } of reading.mistakes) findings.mistake(where, message)
        return undefined
      }
      for (const { key, message } of warn(reading.settings)) findings.warn([...path, key].join('::'), message)
      return build(id, reading.settings)
    },
  }
}
