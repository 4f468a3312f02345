import type { ArchiveAddress } from '../query/archive/archive-client.ts'
import type { ExtensionConfig } from '../config/causeway-config.ts'
import type { ExtensionDeclaration } from '../config/component-type.ts'
import type { StorageFault } from '../model/faults.ts'
import type { LoginGuard } from '../platform/basic-auth.ts'
import type { Authenticator, Credentials } from '../platform/credentials.ts'
import type { ListenerOptions } from '../platform/http-listener.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { QueryService } from '../query/question.ts'

/** The interval at which token and password files are read again, in milliseconds. */
export const SECRET_REFRESH_MS = 5_000

/** An extension type: it runs beside the pipelines, or provides credentials for listeners and exporters. */
export interface ExtensionType<Settings = unknown> extends ExtensionDeclaration<Settings> {
  /** Whether it starts before the database is opened. */
  readonly startsFirst?: boolean
  load?(): Promise<ExtensionModule<Settings>>
  /** Loads the code for credentials; present if `auth` may name the type. */
  loadCredentials?(): Promise<CredentialsModule<Settings>>
}

interface ExtensionModule<Settings> {
  /** Starts the extension. If it cannot start, closes everything, and rejects with an error that says what to do. */
  startExtension(extension: StartedWith<Settings>, host: ExtensionHost): Promise<RunningExtension>
}

interface CredentialsModule<Settings> {
  /** Opens the authenticator for a listener. Throws if its files are unusable. */
  openAuthenticator(id: string, settings: Settings, hooks: CredentialsHooks): Authenticator
  /** Opens the credentials for an exporter. Throws if their files are unusable. */
  openCredentials(id: string, settings: Settings, hooks: CredentialsHooks): Credentials
}

export interface CredentialsHooks {
  /** Called if changed files cannot be used. */
  onTrouble: (reason: string) => void
  /** Shared by all authenticators of the process. */
  guard?: LoginGuard
}

export type StartedWith<Settings> = Omit<ExtensionConfig, 'settings'> & { settings: Settings }

export interface RunningExtension extends AsyncDisposable {
  /** Is notified of the health of Causeway. */
  readonly watcher?: HealthWatcher
  /** Decides whether requests are refused at present. */
  readonly memory?: { readonly isRefusing: boolean }
}

export interface HealthWatcher {
  /** Called with true when all listeners are bound and migrations are done. */
  setReady(ready: boolean): void
  /** Called with a fault of a part of Causeway; with undefined when the fault is over. */
  setFault(part: string, reason: string | undefined): void
  /** Called with a warning for the operator; with undefined when the warning is over. */
  setWarning(part: string, warning: string | undefined): void
}

/** What an extension is given when it starts. */
export interface ExtensionHost {
  readonly version: string
  readonly log: Logger
  readonly metrics: Metrics
  /** The connection limits of a listener, by the path of its keys. */
  readonly listenerOptionsOf: (path: string, writeTimeoutMs?: number) => ListenerOptions
  /** The authenticator of a listener; the extension does not dispose of it. */
  readonly authenticatorOf: (listener: { auth?: string }) => { authenticator?: Authenticator }
  /** Opens query threads, which run only while there are questions. */
  openQuestions(hooks: {
    /** The archive to query as well. */
    archive?: ArchiveAddress
    onFault: (fault: StorageFault) => void
    onEnded: (reason: string) => void
  }): Questions
  /** Asks every thread to release unused memory. */
  readonly collectGarbage: () => void
  /** Whether no request is being received. */
  readonly isIdle: () => boolean
  /** Called with a warning for the operator. Repetitions are not logged. */
  readonly onTrouble: (reason: string) => void
  /** Called for every question that failed, or was answered in part, for a reason on the server's side. */
  readonly onFailedQuestion: (reason: string) => void
  /** Called when a question shows that the database is damaged. */
  readonly onStorageFault: (part: string, fault: StorageFault) => void
  /** Called for every request without a valid credential. */
  readonly onUnauthenticated: (reason: string) => void
}

type Questions = QueryService & AsyncDisposable
