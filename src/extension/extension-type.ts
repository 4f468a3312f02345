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

/** How often token and password files are read again, in milliseconds. */
export const SECRET_REFRESH_MS = 5_000

/** A type of extension: it runs beside the pipelines, or supplies credentials to listeners and exporters. */
export interface ExtensionType<Settings = unknown> extends ExtensionDeclaration<Settings> {
  /** Whether it starts before the database is opened. */
  readonly startsFirst?: boolean
  load?(): Promise<ExtensionModule<Settings>>
  /** Loads its credentials; present if `auth` may name it. */
  loadCredentials?(): Promise<CredentialsModule<Settings>>
}

interface ExtensionModule<Settings> {
  /** Rejects with what to do when it cannot start, and then leaves nothing open. */
  startExtension(extension: StartedWith<Settings>, host: ExtensionHost): Promise<RunningExtension>
}

interface CredentialsModule<Settings> {
  /** Opens it for a listener. Throws if its files are unusable. */
  openAuthenticator(id: string, settings: Settings, hooks: CredentialsHooks): Authenticator
  /** Opens the credential of an exporter. Throws if its files are unusable. */
  openCredentials(id: string, settings: Settings, hooks: CredentialsHooks): Credentials
}

export interface CredentialsHooks {
  /** Called when changed files cannot be used. */
  onTrouble: (reason: string) => void
  /** Shared by all authenticators of the process. */
  guard?: LoginGuard
}

export type StartedWith<Settings> = Omit<ExtensionConfig, 'settings'> & { settings: Settings }

export interface RunningExtension extends AsyncDisposable {
  /** Gets the health of Causeway. */
  readonly watcher?: HealthWatcher
  /** Decides whether requests are refused for now. */
  readonly memory?: { readonly isRefusing: boolean }
}

export interface HealthWatcher {
  /** Called with true once all listeners are bound and migrations are done. */
  setReady(ready: boolean): void
  /** Called with a fault of a part of Causeway; with undefined once it is over. */
  setFault(part: string, reason: string | undefined): void
  /** Called with a warning for the operator; with undefined once it is over. */
  setWarning(part: string, warning: string | undefined): void
}

/** What an extension gets at its start. */
export interface ExtensionHost {
  readonly version: string
  readonly log: Logger
  readonly metrics: Metrics
  /** The connection limits of the listener at this path. */
  readonly listenerOptionsOf: (path: string, writeTimeoutMs?: number) => ListenerOptions
  /** The authenticator of a listener; the extension does not dispose of it. */
  readonly authenticatorOf: (listener: { auth?: string }) => { authenticator?: Authenticator }
  /** Answers questions in a thread that exists while people ask. */
  openQuestions(hooks: {
    /** The archive to ask too. */
    archive?: ArchiveAddress
    onFault: (fault: StorageFault) => void
    onEnded: (reason: string) => void
  }): Questions
  /** Makes every thread release unused memory. */
  readonly collectGarbage: () => void
  /** Whether no request is being received. */
  readonly isIdle: () => boolean
  /** Called with a warning for the operator; repetitions are not logged. */
  readonly onTrouble: (reason: string) => void
  /** Called for every question that failed, or was answered in part, through a fault here. */
  readonly onFailedQuestion: (reason: string) => void
  /** Called when a question shows that the database is damaged. */
  readonly onStorageFault: (part: string, fault: StorageFault) => void
  /** Called for every request without a valid credential. */
  readonly onUnauthenticated: (reason: string) => void
}

type Questions = QueryService & AsyncDisposable
