import type { Signal } from '../model/otlp-requests.ts'
import type { ConnectorSettings, DeclaredListener, Destination, SendingConfig } from './causeway-config.ts'
import { type Findings, readSettings, type Schema } from './schema.ts'
import type { RawNode } from './yaml-tree.ts'

/**
 * The declaration of a component type: its name, its keys, and what they mean. Every command loads the declarations, so each
 * loads the code that it runs only when it runs.
 */
export interface ComponentDeclaration<Settings = unknown> {
  readonly name: string
  /** Older names of the type. */
  readonly aliases: readonly string[]
  readonly schema: Schema<unknown>
  /** Undefined after a mistake; the findings have all mistakes and all keys without effect. */
  read(node: RawNode, path: readonly string[], findings: Findings): Settings | undefined
  /**
   * Reads every certificate, token or password file that it names. Fails with what is wrong with one, and tells `onTrouble` what
   * is wrong with one that can be used.
   */
  openFiles?(
    id: string,
    settings: Settings,
    onTrouble: (reason: string) => void,
  ): Disposable | undefined | Promise<Disposable>
}

export interface ReceiverDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  readonly signals: readonly Signal[]
  /** The addresses that it listens at; none if it fetches what it receives. */
  listeners?(settings: Settings): DeclaredListener[]
  /** Which cluster it watches, and what it sees of it; absent if it watches none. */
  observes?(settings: Settings): ObservedCluster
  /** For `doctor`: checks whether it can read from what it watches. Changes nothing, does not throw. */
  examine?(id: string, settings: Settings): AsyncIterable<Examination>
}

/** The result of checking what a component depends on. */
export type Examination =
  | { readonly state: 'ok'; readonly message: string }
  /** `advice` is what to do. */
  | { readonly state: 'warn' | 'fail'; readonly message: string; readonly advice: string }

/** What a receiver sees of a cluster: the versions of its objects, the requests that made them or are about to, or Events. */
interface ObservedCluster {
  /** Its `k8s.cluster.name`; receivers of one cluster work together. */
  readonly cluster: string
  readonly what: 'versions' | 'requests' | 'admissions' | 'events'
}

export interface ExporterDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  readonly signals: readonly Signal[]
  /** Why it cannot take a signal as configured, though its type does; undefined if it can. */
  refuses?(settings: Settings, signal: Signal, pipeline: string): string | undefined
  destination(settings: Settings, signal: Signal): Destination
  /** An archive: it gets everything that is stored, from a position of its own. */
  readonly isArchive?: true
  /** The id of the authenticator whose credential it shows. */
  auth?(settings: Settings): string | undefined
  sending(settings: Settings): SendingConfig
}

export interface ConnectorDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  /** From which signals it makes which. */
  readonly pairs: readonly { from: Signal; to: Signal }[]
}

export interface ExtensionDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  /** Several may be on. */
  readonly isPlural?: boolean
  /** Its settings when none of its type is configured, if it is on by default. */
  unnamed?(): Settings
  listeners?(settings: Settings): DeclaredListener[]
  /**
   * There when listeners and exporters may name it under `auth`: which type to name instead where it cannot serve one of them,
   * undefined where it can.
   */
  insteadFor?(settings: Settings, user: 'listener' | 'exporter'): string | undefined
}

interface Described<Written, Settings> {
  name: string
  aliases?: readonly string[]
  schema: Schema<Written>
  /** Gets only settings without mistakes. */
  build: (settings: Written) => Settings
  /** Names accepted keys that have no effect, or an unexpected one. */
  warn?: (settings: NoInfer<Written>) => { key: string; message: string }[]
}

/** The part of a declaration that reads settings. */
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

/** Every type of component that may be configured. */
export interface Declarations {
  readonly receivers: readonly ReceiverDeclaration[]
  /** None yet; the section is read to report each component in it. */
  readonly processors: readonly ComponentDeclaration[]
  readonly exporters: readonly ExporterDeclaration[]
  /** One: the merge graph, through which all incoming data goes. */
  readonly connectors: readonly [ConnectorDeclaration<ConnectorSettings>]
  readonly extensions: readonly ExtensionDeclaration[]
  /** What to write instead of types that the Collector has and Causeway does not. */
  readonly instead: Readonly<Record<ComponentSection, Readonly<Record<string, string>>>>
}

/** The type with a current or older name. */
export function typeNamed<Type extends ComponentDeclaration>(
  types: readonly Type[],
  name: string,
): Type | undefined {
  return types.find((type) => type.name === name || type.aliases.includes(name))
}

/** A server behind HTTP, as `destination` names it. */
export function httpBackend(url: URL, where: string, speaks: string): Destination {
  const isPlain = url.protocol !== 'https:'
  const host = url.hostname.replaceAll(/[[\]]/g, '')
  return { kind: 'backend', host, port: Number(url.port) || (isPlain ? 80 : 443), where, speaks, isPlain }
}
