import type { CpidConfig, ExporterConfig } from '../causeway-config.ts'
import { CONNECTORS, EXPORTERS, EXTENSIONS, PROCESSORS, RECEIVERS } from '../components/catalog.ts'
import type { ExtensionConfig } from '../components/extensions.ts'
import type { ReceiverWithoutSignals } from '../components/otlp-receiver.ts'
import type { Findings } from '../findings.ts'
import { didYouMean } from '../schema/did-you-mean.ts'
import type { RawMap } from '../tree/raw-node.ts'
import { readComponents, type Components } from './read-components.ts'
import { readService, type ServiceLists } from './read-pipelines.ts'

/** Every section of a configuration, read on its own; what refers to what is not looked at yet. */
export interface Sections {
  readonly tree: RawMap
  readonly receivers: Components<ReceiverWithoutSignals>
  readonly processors: Components<never>
  readonly exporters: Components<ExporterConfig>
  readonly connectors: Components<CpidConfig>
  readonly extensions: Components<ExtensionConfig>
  readonly service: ServiceLists
}

const SECTION_NAMES = ['receivers', 'processors', 'exporters', 'connectors', 'extensions', 'service']

export function readSections(tree: RawMap, findings: Findings): Sections {
  const unknown = Object.keys(tree).filter((key) => !SECTION_NAMES.includes(key))
  if (unknown.length > 0) {
    const hint = didYouMean(unknown, SECTION_NAMES)
    findings.mistake('', `the top level has invalid keys: ${unknown.join(', ')}${hint}`)
  }
  return {
    tree,
    receivers: readComponents('receivers', tree['receivers'], RECEIVERS, findings),
    processors: readComponents('processors', tree['processors'], PROCESSORS, findings),
    exporters: readComponents('exporters', tree['exporters'], EXPORTERS, findings),
    connectors: readComponents('connectors', tree['connectors'], CONNECTORS, findings),
    extensions: readComponents('extensions', tree['extensions'], EXTENSIONS, findings),
    service: readService(tree, findings),
  }
}

/** True when no component of any kind is configured. */
export function isEmpty({ receivers, processors, exporters, connectors, extensions }: Sections): boolean {
  return [receivers, processors, exporters, connectors, extensions].every(
    ({ typeById, isUnreadable }) => typeById.size === 0 && !isUnreadable,
  )
}
