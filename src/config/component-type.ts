import type { SentSignal, Signal } from '../model/otlp-requests.ts'
import type { ConnectorSettings, DeclaredListener, Destination, SendingConfig } from './causeway-config.ts'
import { type Findings, readSettings, type Schema } from './schema.ts'
import type { RawNode } from './yaml-tree.ts'

/**
 * What is known of every type of component before anything runs: how it is called, what may be written, and what that comes
 * to. Declarations are read by every command, so what they need to run is loaded by them only when it does.
 */
export interface ComponentDeclaration<Settings = unknown> {
  readonly name: string
  /** Older names of the same. */
  readonly aliases: readonly string[]
  readonly schema: Schema<unknown>
  /** Undefined when there were mistakes; all of them are in the findings, as are keys that have no effect. */
  read(node: RawNode, path: readonly string[], findings: Findings): Settings | undefined
  /** Reads every file with certificates, tokens or passwords that it names. Fails with what is wrong with one. */
  openFiles?(id: string, settings: Settings): Disposable | undefined | Promise<Disposable>
}

export interface ReceiverDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  readonly signals: readonly Signal[]
  /** The addresses that it takes; none where it goes and gets what it receives. */
  listeners?(settings: Settings): DeclaredListener[]
  /** What it sees of which cluster; there where it watches one, from whatever side. */
  observes?(settings: Settings): ObservedCluster
  /** Looks, for `doctor`, whether what it goes and asks lets itself be asked; changes nothing, and does not throw. */
  examine?(id: string, settings: Settings): AsyncIterable<Examined>
}

/** What one look at what a component depends on came to. */
export type Examined =
  | { readonly state: 'ok'; readonly message: string }
  /** `advice` is what to do. */
  | { readonly state: 'warn' | 'fail'; readonly message: string; readonly advice: string }

/** What a receiver sees of a cluster: the versions of its objects, the requests that made them or are about to, or Events. */
interface ObservedCluster {
  /** What becomes its `k8s.cluster.name`; receivers of one cluster work as one. */
  readonly cluster: string
  readonly what: 'versions' | 'requests' | 'admissions' | 'events'
}

export interface ExporterDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  readonly signals: readonly SentSignal[]
  /** Why it cannot be sent a signal as it is configured, though its type takes it; undefined where it can. */
  refuses?(settings: Settings, signal: SentSignal, pipeline: string): string | undefined
  destination(settings: Settings, signal: SentSignal): Destination
  /** It gets everything that is stored, and from a position of its own, rather than what pipelines send. */
  readonly isArchive?: true
  /** The authenticator, by id, whose credential it shows. */
  auth?(settings: Settings): string | undefined
  sending(settings: Settings): SendingConfig
}

export interface ConnectorDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  /** From which signals it makes which. */
  readonly pairs: readonly { from: Signal; to: SentSignal }[]
}

export interface ExtensionDeclaration<Settings = unknown> extends ComponentDeclaration<Settings> {
  /** There may be several that are on. */
  readonly isPlural?: boolean
  /** Its settings where none of its type is on, if it is at work all the same. */
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
  /** Is given only settings without mistakes. */
  build: (settings: Written) => Settings
  /** Names keys that are taken but have no effect, or not the one that may be hoped for. */
  warn?: (settings: NoInfer<Written>) => { key: string; message: string }[]
}

/** The part of a declaration that reads what is written. */
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
        for (const { path: where, message } of reading.mistakes) findings.mistake(where, message)
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
