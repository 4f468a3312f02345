import { COMPONENTS as ALL, type Components } from '../../../src/app/components.ts'
import { knockExtension } from './knock-extension.ts'
import { shelfExporter } from './shelf-exporter.ts'
import { shelfReceiver } from './shelf-receiver.ts'

/** Causeway's, and three more. */
export const COMPONENTS: Components = {
  ...ALL,
  module: import.meta.url,
  receivers: [...ALL.receivers, shelfReceiver],
  exporters: [...ALL.exporters, shelfExporter],
  extensions: [...ALL.extensions, knockExtension],
}
