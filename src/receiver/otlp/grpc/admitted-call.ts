import { type Metadata, type ServerInterceptingCallInterface } from '@grpc/grpc-js'
import type { Sender } from '../../../model/senders/sender.ts'
import { holderOf } from '../../admission/holder-of.ts'
import { NO_ROOM, type Reservation } from '../../admission/in-flight.ts'
import { REQUEST_BYTES } from '../../admission/reading-turns.ts'
import type { Intake } from '../../admission/intake.ts'
import { GRPC_ACCEPT_ENCODING } from '../../codings/codings.ts'
import type { PacedBody } from '../../http/body-pace.ts'
import type { Refusal } from '../reply.ts'
import { decompressCounted } from './decompress-counted.ts'
import type { AdmissionSettings, GrpcConnection } from './grpc-admission.ts'
import { GrpcJsCall, type Ending } from './grpc-js-call.ts'
import {
  grpcStatusOf,
  readableEnding,
  refusalOfEnding,
  TOO_SLOW,
  tooManyConnectionsStatus,
  tooSlowStatus,
} from './grpc-status.ts'

export interface Admitting {
  intake: Intake
  settings: AdmissionSettings
  /** The method's. */
  path: string
  /** Undefined when it is gone. */
  connection: GrpcConnection | undefined
}

/** A call from its first byte to its end: its message is being read, is whole, or was refused. */
export class AdmittedCall {
  readonly #grpc: GrpcJsCall
  readonly #admitting: Admitting
  readonly #peer: string
  readonly #reservation: Reservation
  #state: 'reading' | 'whole' | 'refused' = 'reading'
  #timer: NodeJS.Timeout | undefined
  #paced: PacedBody | undefined
  /** Who sends it, until the first byte has been counted. */
  #sender: (() => Sender | undefined) | undefined
  /** Tells its connection that it is over. */
  #leave: () => void = () => undefined

  constructor(call: ServerInterceptingCallInterface, admitting: Admitting) {
    this.#admitting = admitting
    this.#peer = admitting.connection?.peer ?? ''
    this.#reservation = admitting.intake.inFlight.open(this.#peer)
    this.#reservation.onGiveWay(() => this.#giveWay())
    const { maxMessageBytes } = admitting.settings
    this.#grpc = new GrpcJsCall(call, {
      bytes: (chunk) => this.#count(chunk),
      // grpc-js answers with what it could undo by itself.
      head: (metadata) => metadata.set('grpc-accept-encoding', GRPC_ACCEPT_ENCODING),
      decompress: (message, encoding) =>
        decompressCounted(message, encoding, maxMessageBytes, this.#reservation),
      ending: (ending) => this.#end(ending),
      closed: () => {
        this.#awaitNoMore()
        this.#reservation[Symbol.dispose]()
        this.#leave()
      },
    })
  }

  get call(): ServerInterceptingCallInterface {
    return this.#grpc.call
  }

  /** Begins to wait for the message; false when the call is refused. */
  begin(metadata: Metadata): boolean {
    const { intake, settings } = this.#admitting
    if (!this.#hasConnection()) return false
    const { connection } = this.#grpc
    this.#took(REQUEST_BYTES)
    const refusal = intake.refusalOf(connection, this.#reservation)
    if (refusal !== undefined) {
      this.#refuse(refusal)
      return false
    }
    const giveUp = (): void => this.#giveUp()
    if (settings.requestTimeoutMs > 0) this.#timer = setTimeout(giveUp, settings.requestTimeoutMs)
    this.#paced = settings.pace.begin(giveUp)
    this.#sender = () => settings.senderOf(metadata)
    settings.onCall(metadata, connection)
    return true
  }

  /** Whether its connection may have a call under way. */
  #hasConnection(): boolean {
    const { connection, settings } = this.#admitting
    if (connection === undefined) return true
    const begun = settings.begin(connection)
    if (begun.kind === 'begun') {
      this.#leave = begun.end
      return true
    }
    this.#become('refused')
    this.#grpc.cutOff(tooManyConnectionsStatus(settings.refusalText(begun.reason)))
    return false
  }

  /** The message is there; false when the call was refused, perhaps for its last bytes. */
  becomeWhole(): boolean {
    if (this.#state === 'refused') return false
    this.#become('whole')
    this.#reservation.isRead()
    return true
  }

  #become(state: 'whole' | 'refused'): void {
    this.#state = state
    this.#awaitNoMore()
  }

  #awaitNoMore(): void {
    clearTimeout(this.#timer)
    if (this.#paced !== undefined) this.#admitting.settings.pace.end(this.#paced)
  }

  /** Others are read on when this connection has sent much. */
  #took(bytes: number): void {
    this.#reservation.came(this.#grpc.connection, bytes, this.#grpc.reading)
  }

  #count(chunk: Buffer): void {
    this.#took(chunk.length)
    if (this.#state !== 'reading') return
    if (this.#sender !== undefined) this.#reservation.belongTo(holderOf(this.#sender(), this.#peer))
    this.#sender = undefined
    if (this.#paced !== undefined) this.#paced.came += chunk.length
    if (!this.#reservation.take(chunk.length)) this.#giveWay()
  }

  #giveWay(): void {
    if (this.#state !== 'reading') return
    this.#grpc.readNoMore()
    this.#refuse(NO_ROOM)
  }

  /** Answers when the pause is over after which its sender should come again. */
  #refuse(refusal: Refusal): void {
    this.#become('refused')
    this.#tell(refusal)
    void this.#admitting.intake.ready(refusal).then((ready) => this.#grpc.cutOff(grpcStatusOf(ready)))
  }

  #giveUp(): void {
    this.#become('refused')
    this.#tell(TOO_SLOW)
    this.#grpc.cutOff(tooSlowStatus())
  }

  /** Somebody else ends it: with an answer once the message is whole, before that since it cannot be taken. */
  #end(ending: Ending): void {
    if (this.#state === 'whole') {
      this.#reservation[Symbol.dispose]()
      this.#grpc.send(ending)
    }
    if (this.#state !== 'reading') return
    this.#become('refused')
    const refusal = refusalOfEnding(ending)
    if (refusal !== undefined) this.#tell(refusal)
    this.#grpc.cutOff(readableEnding(ending))
  }

  #tell(refusal: Refusal): void {
    const { settings, path } = this.#admitting
    settings.refused(path, refusal)
  }
}
