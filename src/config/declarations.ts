import type { ConnectorSettings } from './causeway-config.ts'
import type {
  ComponentDeclaration,
  ConnectorDeclaration,
  ExporterDeclaration,
  ExtensionDeclaration,
  ReceiverDeclaration,
} from './component-type.ts'

export type ComponentSection = 'receivers' | 'processors' | 'exporters' | 'connectors' | 'extensions'

/** Every type of component that may be configured. */
export interface Declarations {
  readonly receivers: readonly ReceiverDeclaration[]
  /** None yet; the section is read so that each one in it can be named. */
  readonly processors: readonly ComponentDeclaration[]
  readonly exporters: readonly ExporterDeclaration[]
  /** One, which is the merge graph: everything that comes in goes through it. */
  readonly connectors: readonly [ConnectorDeclaration<ConnectorSettings>]
  readonly extensions: readonly ExtensionDeclaration[]
  /** What to write instead of types that the Collector has and Causeway does not. */
  readonly instead: Readonly<Record<ComponentSection, Readonly<Record<string, string>>>>
}

/** The type that a name or an older name stands for. */
export function typeNamed<Type extends ComponentDeclaration>(
  types: readonly Type[],
  name: string,
): Type | undefined {
  return types.find((type) => type.name === name || type.aliases.includes(name))
}
