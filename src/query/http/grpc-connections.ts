import type { Socket } from 'node:net'
import { errorText } from '../../model/faults.ts'
import type { Clock } from '../../model/time-and-size.ts'
import type { Endpoints, RequestAdmission } from '../../platform/connections.ts'
import type { Authenticator } from '../../platform/credentials.ts'
import type { HeldAnswer } from '../../platform/http-listener.ts'
import type { Asker, QueryService } from '../question.ts'

export interface GrpcHandlerSettings {
  readonly queries: QueryService
  readonly clock: Pick<Clock, 'wallMs'>
  /** Refuses clients without valid credentials. */
  readonly authenticator?: Authenticator | undefined
  /** How long an answer may wait for a slow client, in milliseconds; 30 s by default, 0 is forever. */
  readonly writeTimeoutMs: number | undefined
  /** The client of a connection, also behind a proxy. */
  readonly askerOf: (socket: Socket, forwardedFor: string | undefined) => Asker
  /** Called when a call begins on a connection. */
  readonly begin: (connection: Endpoints, peer: string) => RequestAdmission
  /** Called when an answer begins; `isWaiting` says whether the client has to read before more is sent. */
  readonly hold: (connection: Socket, peer: string, isWaiting: () => boolean) => HeldAnswer
  /** The error message when a limit of requests is reached. */
  readonly refusalText: (reason: 'limit' | 'address') => string
  /** Called for every connection with a valid credential. */
  readonly onKnown: (connection: Endpoints) => void
  readonly onTurnedAway: (reason: string) => void
  /** Called for every call that failed, or was answered in part, through a fault here. */
  readonly onTrouble: (reason: string) => void
}

/** Answers gRPC on the connections given to `take`. */
export interface GrpcHandler extends Disposable {
  take(socket: Socket): void
}

/** Opens the gRPC handler, and loads its code only then. */
export type OpenGrpcHandler = (settings: GrpcHandlerSettings) => Promise<GrpcHandler>

/** Opens the gRPC handler at the first HTTP/2 connection. */
export class LazyGrpcHandler implements AsyncDisposable {
  readonly #open: OpenGrpcHandler | undefined
  readonly #settings: GrpcHandlerSettings
  #handler: Promise<GrpcHandler> | undefined

  constructor(open: OpenGrpcHandler | undefined, settings: GrpcHandlerSettings) {
    this.#open = open
    this.#settings = settings
  }

  take(socket: Socket): void {
    this.#handler ??= this.#open?.(this.#settings)
    this.#handler?.then(
      (handler) => handler.take(socket),
      (error: unknown) => {
        this.#settings.onTrouble(errorText(error))
        socket.destroy()
      },
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const handler = await this.#handler?.catch(() => undefined)
    handler?.[Symbol.dispose]()
  }
}
