import type {
  ComponentDeclaration,
  ConnectorDeclaration,
  ExporterDeclaration,
  ExtensionDeclaration,
  ReceiverDeclaration,
} from '../component-type.ts'
import type { Declarations } from '../declarations.ts'
import type { Findings } from '../findings.ts'
import { didYouMean } from '../schema/did-you-mean.ts'
import type { RawMap } from '../tree/raw-node.ts'
import { readComponents, type Components } from './read-components.ts'
import { readService, type ServiceLists } from './read-pipelines.ts'

/** Every section of a configuration, read on its own; what refers to what is not looked at yet. */
export interface Sections {
  readonly tree: RawMap
  readonly declarations: Declarations
  readonly receivers: Components<ReceiverDeclaration>
  readonly processors: Components<ComponentDeclaration>
  readonly exporters: Components<ExporterDeclaration>
  readonly connectors: Components<ConnectorDeclaration>
  readonly extensions: Components<ExtensionDeclaration>
  readonly service: ServiceLists
}

const SECTION_NAMES = ['receivers', 'processors', 'exporters', 'connectors', 'extensions', 'service']

export function readSections(tree: RawMap, declarations: Declarations, findings: Findings): Sections {
  const unknown = Object.keys(tree).filter((key) => !SECTION_NAMES.includes(key))
  if (unknown.length > 0) {
    const hint = didYouMean(unknown, SECTION_NAMES)
    findings.mistake('', `the top level has invalid keys: ${unknown.join(', ')}${hint}`)
  }
  const { receivers, processors, exporters, connectors, extensions, instead } = declarations
  const tables = {
    receivers: { types: receivers, instead: instead.receivers },
    processors: { types: processors, instead: instead.processors },
    exporters: { types: exporters, instead: instead.exporters },
    connectors: { types: connectors, instead: instead.connectors },
    extensions: { types: extensions, instead: instead.extensions },
  }
  return {
    tree,
    declarations,
    receivers: readComponents('receivers', tree['receivers'], tables.receivers, findings),
    processors: readComponents('processors', tree['processors'], tables.processors, findings),
    exporters: readComponents('exporters', tree['exporters'], tables.exporters, findings),
    connectors: readComponents('connectors', tree['connectors'], tables.connectors, findings),
    extensions: readComponents('extensions', tree['extensions'], tables.extensions, findings),
    service: readService(tree, declarations, findings),
  }
}

/** True when no component of any kind is configured. */
export function isEmpty({ receivers, processors, exporters, connectors, extensions }: Sections): boolean {
  return [receivers, processors, exporters, connectors, extensions].every(
    ({ typeById, isUnreadable }) => typeById.size === 0 && !isUnreadable,
  )
}
