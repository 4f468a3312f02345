import type { ComponentDeclaration, ExporterDeclaration } from '../config/component-type.ts'
import type { Signal } from '../model/otlp-requests.ts'
import type { Transport } from '../model/outbox.ts'
import type { Archive } from './archive.ts'
import type { Clock } from '../model/time-and-size.ts'
import type { Credentials } from '../platform/credentials.ts'

/**
 * A type of exporter. The drain reads the outbox, keeps the position and retries; the exporter gets OTLP requests or, if it is an
 * archive, facts.
 */
export interface ExporterType<Settings = unknown> extends ExporterDeclaration<Settings> {
  /** Loads its transport, in the export thread. The transport of an archive only answers whether it would take data. */
  load(): Promise<ExporterModule<Settings>>
  /** Present for an archive: it gets everything that is stored, and no OTLP requests. */
  readonly archive?: {
    load(): Promise<ArchiveModule<Settings>>
    /** The pause before it looks for new data once it has caught up, in milliseconds. */
    intervalMs(settings: Settings): number
  }
}

export interface ArchiveModule<Settings> {
  /** Opens it without connecting. Throws when a setting is unusable. */
  openArchive(settings: Settings, host: ArchiveHost): Archive
  /** The SQL for its tables, and for a read-only role for some or all clusters. */
  setupStatements(settings: Settings, reader: { role: string; clusters: readonly string[] }): string[]
  /** Creates or migrates its tables; returns what was done. Rejects with what to do. */
  makeTables(settings: Settings, host: SendingHost): Promise<string[]>
}

/** What an archive gets from its drain. */
export interface ArchiveHost extends SendingHost {
  /** Tells the database of this Causeway from another of the same name. */
  instance: string
  /** Called when the archive lacks data that was written to it before; writing goes on. */
  onLoss: (reason: string) => void
}

/** The exporter types, and the authenticators they may use (src/app/components.ts). */
export interface ExporterTypes {
  readonly exporters: readonly ExporterType[]
  readonly extensions: readonly (ComponentDeclaration & {
    loadCredentials?(): Promise<CredentialsSource>
  })[]
}

/** Opens the credential of an exporter. Throws if its files are unusable. */
interface CredentialsSource {
  openCredentials(id: string, settings: unknown, hooks: { onTrouble: (reason: string) => void }): Credentials
}

interface ExporterModule<Settings> {
  /** Opens a transport, which sends each request once. Throws when a setting is unusable. */
  openTransport(settings: Settings, signal: Signal, host: SendingHost): Transport
}

/** What a transport gets from its drain. */
export interface SendingHost {
  clock: Clock
  userAgent: string
  /** Shown with every request; the transport disposes of it once it is open. */
  credentials?: Credentials | undefined
  /** How long a request may take, whatever is configured, in milliseconds. */
  longestMs?: number | undefined
  writeLine: (line: string) => void
  /** Called with a warning for the operator, such as unreadable certificates; sending goes on. */
  onTrouble: (reason: string) => void
}
