import { componentType } from '../../../src/config/component-type.ts'
import { requiredField, section } from '../../../src/config/schema.ts'
import { TEXT } from '../../../src/config/value-kinds.ts'
import type { ReceiverType } from '../../../src/receiver/receiver-type.ts'

export interface ShelfReceiverSettings {
  file: string
}

/** Takes no address: it reads the spans of a file. */
export const shelfReceiver: ReceiverType<ShelfReceiverSettings> = {
  ...componentType({
    name: 'shelf_reader',
    aliases: ['shelfreader'],
    schema: section('Takes the spans that lie in a file.', {
      file: requiredField(TEXT, 'file: spans.json', 'One OTLP/JSON request a line.'),
    }),
    build: ({ file }): ShelfReceiverSettings => ({ file }),
  }),
  signals: ['traces'],
  load: () => import('./read-shelf.ts'),
}
