import type { ComponentDeclaration, ExporterDeclaration } from '../config/component-type.ts'
import type { SentSignal } from '../model/otlp-requests.ts'
import type { Transport } from '../model/outbox.ts'
import type { Archive } from './archive.ts'
import type { Clock } from '../model/time-and-size.ts'
import type { Credentials } from '../platform/credentials.ts'

/**
 * A type of exporter. It is drained: somebody else reads the outbox, keeps its position and tries again, and it is given OTLP
 * requests, or, where it is an archive, facts.
 */
export interface ExporterType<Settings = unknown> extends ExporterDeclaration<Settings> {
  /** Loads what opens it, in the thread that sends. Of an archive it only answers whether it would take something. */
  load(): Promise<ExporterModule<Settings>>
  /** There for an archive: it gets everything that is stored, and no OTLP requests. */
  readonly archive?: {
    load(): Promise<ArchiveModule<Settings>>
    /** The pause before it looks for new data, once everything stored is written, in milliseconds. */
    intervalMs(settings: Settings): number
  }
}

export interface ArchiveModule<Settings> {
  /** Opens it, and asks nothing of it yet. Throws when a setting is unusable. */
  openArchive(settings: Settings, host: ArchiveHost): Archive
  /** What makes its tables, and a role that only reads, of some clusters or of all. */
  setupStatements(settings: Settings, reader: { role: string; clusters: readonly string[] }): string[]
  /** Makes its tables, or brings them up to date; names what was done. Rejects with what to do. */
  makeTables(settings: Settings, host: SendingHost): Promise<string[]>
}

/** What an archive is given by whoever writes. */
export interface ArchiveHost extends SendingHost {
  /** Tells the database of this Causeway from another of the same name. */
  instance: string
}

/** The exporters that there are, and what they may show to their backends (src/app/components.ts). */
export interface ExporterTypes {
  readonly exporters: readonly ExporterType[]
  readonly extensions: readonly (ComponentDeclaration & {
    loadCredentials?(): Promise<CredentialsSource>
  })[]
}

/** What opens the credential that an exporter shows. Throws what is wrong with its files. */
interface CredentialsSource {
  openCredentials(id: string, settings: unknown, hooks: { onTrouble: (reason: string) => void }): Credentials
}

export interface ExporterModule<Settings> {
  /** Opens what sends each request of a signal once. Throws when a setting is unusable. */
  openTransport(settings: Settings, signal: SentSignal, host: SendingHost): Transport
}

/** What a transport is given by whoever sends. */
export interface SendingHost {
  clock: Clock
  userAgent: string
  /** Shown with every request; the transport disposes of it once it is open. */
  credentials?: Credentials | undefined
  /** How long a request may take, whatever is configured, in milliseconds. */
  longestMs?: number | undefined
  /** Takes a line for the log. */
  show: (line: string) => void
  /** Told of what an operator should see to, such as certificates that cannot be read again; sending goes on. */
  onTrouble: (reason: string) => void
}
