import type { ExtensionConfig } from '../config/causeway-config.ts'
import type { ExtensionDeclaration } from '../config/component-type.ts'
import type { StorageFault } from '../model/faults.ts'
import type { LoginGuard } from '../platform/basic-auth.ts'
import type { Authenticator, Credentials } from '../platform/credentials.ts'
import type { ListenerOptions } from '../platform/http-listener.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { QueryService } from '../query/question.ts'

/** How often files with tokens and passwords are looked at, in milliseconds. */
export const SECRET_REFRESH_MS = 5_000

/** A type of extension: it runs beside the pipelines, or is asked by listeners and exporters for credentials. */
export interface ExtensionType<Settings = unknown> extends ExtensionDeclaration<Settings> {
  /** Starts before the database is opened, which others wait for. */
  readonly startsFirst?: boolean
  /** Loads what starts it. */
  load?(): Promise<ExtensionModule<Settings>>
  /** Loads what opens its credentials; there when `auth` may name it. */
  loadCredentials?(): Promise<CredentialsModule<Settings>>
}

export interface ExtensionModule<Settings> {
  /** Rejects with what to do when it cannot start, nothing left open. */
  startExtension(extension: StartedWith<Settings>, host: ExtensionHost): Promise<RunningExtension>
}

export interface CredentialsModule<Settings> {
  /** Opens it for a listener. Throws what is wrong with its files. */
  openAuthenticator(id: string, settings: Settings, hooks: CredentialsHooks): Authenticator
  /** Opens what an exporter shows to its backend. Throws what is wrong with its files. */
  openCredentials(id: string, settings: Settings, hooks: CredentialsHooks): Credentials
}

export interface CredentialsHooks {
  /** Told of a change of its files that could not be used. */
  onTrouble: (reason: string) => void
  /** Shared by all authenticators of the process. */
  guard?: LoginGuard
}

export type StartedWith<Settings> = Omit<ExtensionConfig, 'settings'> & { settings: Settings }

export interface RunningExtension extends AsyncDisposable {
  /** Is told how Causeway is. */
  readonly watcher?: HealthWatcher
  /** Says whether requests are to be refused for now. */
  readonly memory?: { readonly isRefusing: boolean }
}

export interface HealthWatcher {
  /** Whether all listeners are bound and migrations are done; false until said otherwise. */
  setReady(ready: boolean): void
  /** What is wrong with a part of Causeway, for as long as it is; undefined when that part is well. */
  setFault(part: string, reason: string | undefined): void
  /** What somebody should look at, while everything goes on; undefined when there is nothing any more. */
  setWarning(part: string, warning: string | undefined): void
}

/** What an extension is given by whoever starts it. */
export interface ExtensionHost {
  readonly version: string
  readonly log: Logger
  readonly metrics: Metrics
  /** Who may be connected to the listener of this path. */
  readonly doorOf: (path: string, writeTimeoutMs?: number) => ListenerOptions
  /** What a listener that names an authenticator is given; the extension does not dispose of it. */
  readonly authenticatorOf: (listener: { auth?: string }) => { authenticator?: Authenticator }
  /** Answers questions about what is kept, by a thread that is there while people ask. */
  openQuestions(hooks: {
    onFault: (fault: StorageFault) => void
    onEnded: (reason: string) => void
  }): Questions
  /** Has every thread give unused memory back. */
  readonly collectGarbage: () => void
  /** Whether nothing is being taken in. */
  readonly isIdle: () => boolean
  /** Told of what an operator should see to; the same again is not repeated. */
  readonly onTrouble: (reason: string) => void
  /** Told of every question that could not be answered, or only in part, by a fault here. */
  readonly onFailedQuestion: (reason: string) => void
  /** Told when what is asked for shows that the database is damaged. */
  readonly onStorageFault: (part: string, fault: StorageFault) => void
  /** Told of every request to it without a credential that is known. */
  readonly onTurnedAway: (reason: string) => void
}

export type Questions = QueryService & AsyncDisposable
