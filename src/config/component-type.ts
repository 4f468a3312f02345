import type { Signal } from '../model/otlp-requests.ts'
import type { ConnectorSettings, DeclaredListener, Destination, SendingConfig } from './causeway-config.ts'
import { type Findings, readSettings, type Schema } from './schema.ts'
import type { RawNode } from './yaml-tree.ts'

/**
 * The declaration of a component type: its name and the schema of its settings. All commands load all declarations, so the code that runs a
 * component is loaded separately.
 */
export interface ComponentDeclaration<Settings = unknown> {
  readonly name: string
  /** Older names of the type. */
  readonly aliases: readonly string[]
  readonly schema: Schema<unknown>
  /** Reads the settings; undefined if they contain a mistake. `findings` gets all mistakes, and warnings about keys without effect. */
  read(node: RawNode, path: readonly string[], findings: Findings): Settings | undefined
  /**
   * Reads all certificate, token and password files in the settings. Throws if one is unusable; `onTrouble` gets faults of files that can
   * be used.
   */
  openFiles?(
    id: string,
    settings: Settings,
    onTrouble: (reason: string) => void,
  ): Disposable | undefined | Promise<Disposable>
}

export interface ReceiverDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  readonly signals: readonly Signal[]
  /** The addresses on which it listens; none if it pulls its data. */
  listeners?(settings: Settings): DeclaredListener[]
  /** The cluster that it watches, and what it observes of it; absent if it watches none. */
  observes?(settings: Settings): ObservedCluster
  /** For `doctor`: checks whether it can read its source. Changes nothing, and does not throw. */
  examine?(id: string, settings: Settings): AsyncIterable<Examination>
}

/** The result of checking what a component depends on. */
export type Examination =
  | { readonly state: 'ok'; readonly message: string }
  /** `advice` says what to do. */
  | { readonly state: 'warn' | 'fail'; readonly message: string; readonly advice: string }

/** What a receiver observes of a cluster: versions of objects, requests that made them, requests at admission, or Events. */
interface ObservedCluster {
  /** The `k8s.cluster.name`; receivers of the same cluster work together. */
  readonly cluster: string
  readonly what: 'versions' | 'requests' | 'admissions' | 'events'
}

export interface ExporterDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  readonly signals: readonly Signal[]
  /** Why these settings do not allow a signal that the type supports; undefined if they do. */
  refuses?(settings: Settings, signal: Signal, pipeline: string): string | undefined
  destination(settings: Settings, signal: Signal): Destination
  /** Whether it is an archive: it gets everything that is stored, from a position of its own. */
  readonly isArchive?: true
  /** The id of the authenticator whose credentials it sends. */
  auth?(settings: Settings): string | undefined
  sending(settings: Settings): SendingConfig
}

export interface ConnectorDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  /** Which output signals it can make from which input signals. */
  readonly pairs: readonly { from: Signal; to: Signal }[]
}

export interface ExtensionDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  /** Whether several extensions of the type may be on. */
  readonly isPlural?: boolean
  /** If the type is on by default: its settings when none is configured. */
  unnamed?(): Settings
  listeners?(settings: Settings): DeclaredListener[]
  /** Present if `auth` may name it. Returns the type to name instead if it cannot serve a listener or an exporter; undefined if it can. */
  insteadFor?(settings: Settings, user: 'listener' | 'exporter'): string | undefined
}

interface Described<Written, Settings> {
  name: string
  aliases?: readonly string[]
  schema: Schema<Written>
  /** Builds the settings; called only if there are no mistakes. */
  build: (settings: Written) => Settings
  /** Warns of accepted keys that have no effect, or an unexpected one. */
  warn?: (settings: NoInfer<Written>) => { key: string; message: string }[]
}

/** Makes the part of a declaration that reads settings. */
export function componentType<Written, Settings>({
  name,
  aliases = [],
  schema,
  build,
  warn = () => [],
}: Described<Written, Settings>): ComponentDeclaration<Settings> {
  return {
    name,
    aliases,
    schema,
    read(node, path, findings) {
      const reading = readSettings(schema, node, path)
      if (reading.kind === 'faulty') {
        for (const mistake of reading.mistakes) findings.mistakes.push(mistake)
        return undefined
      }
      for (const { key, message } of warn(reading.settings)) findings.warn([...path, key].join('::'), message)
      return build(reading.settings)
    },
  }
}

export type ComponentSection = 'receivers' | 'processors' | 'exporters' | 'connectors' | 'extensions'

/** All component types that may be configured. */
export interface Declarations {
  readonly receivers: readonly ReceiverDeclaration[]
  /** None yet. The section is read so that each component in it is reported. */
  readonly processors: readonly ComponentDeclaration[]
  readonly exporters: readonly ExporterDeclaration[]
  /** Exactly one: the merge graph, through which all incoming data goes. */
  readonly connectors: readonly [ConnectorDeclaration<ConnectorSettings>]
  readonly extensions: readonly ExtensionDeclaration[]
  /** What to configure instead of the Collector's types that Causeway lacks. */
  readonly instead: Readonly<Record<ComponentSection, Readonly<Record<string, string>>>>
}

/** Finds a type by its current or an older name. */
export function typeNamed<Type extends ComponentDeclaration>(
  types: readonly Type[],
  name: string,
): Type | undefined {
  return types.find((type) => type.name === name || type.aliases.includes(name))
}

/** The destination for an HTTP server. */
export function httpBackend(url: URL, where: string, speaks: string): Destination {
  const isPlain = url.protocol !== 'https:'
  const host = url.hostname.replaceAll(/[[\]]/g, '')
  return { kind: 'backend', host, port: Number(url.port) || (isPlain ? 80 : 443), where, speaks, isPlain }
}
