import {
  ServerInterceptingCall,
  type Metadata,
  type ServerInterceptor,
  type StatusObject,
} from '@grpc/grpc-js'
import type { ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Endpoints } from '../../../listeners/connections.ts'
import { peerOf } from '../../../listeners/peer.ts'
import type { Sender } from '../../../model/senders/sender.ts'
import type { Checked } from '../../../trust/authenticator.ts'
import { certificateNames } from '../../../trust/certificate-names.ts'
import { bareStatus, grpcStatusOf } from './grpc-status.ts'
import type { Intake } from '../../admission/intake.ts'

type Turned = Exclude<Checked, { kind: 'known' }>

const BY_CERTIFICATE = Symbol('the sender that the certificate of this connection names')

/** A socket, or what stands for it in its HTTP/2 session, which shows what was put on the socket and is no socket itself. */
interface Marked extends Endpoints {
  [BY_CERTIFICATE]?: Sender
}

/** What is known of a connection. */
interface Known {
  byCertificate: Sender | undefined
  endpoints: Endpoints
  peer: string
  hasShownCredential: boolean
}

export interface GrpcSendersHooks {
  /** The connection that a call came on. */
  connectionOf: (metadata: Metadata) => object | undefined
  /** Told of every connection on which a credential was shown that is known. */
  onKnown: (endpoints: Endpoints) => void
}

/** Knows who makes a gRPC call: by the certificate of its connection, and by its credential. */
export class GrpcSenders {
  readonly #hooks: GrpcSendersHooks
  readonly #byConnection = new WeakMap<object, Known>()
  readonly #byMetadata = new WeakMap<Metadata, Sender>()

  constructor(hooks: GrpcSendersHooks) {
    this.#hooks = hooks
  }

  /** Notes the certificate of a connection on the connection itself, where no other can be taken for it. */
  connected(socket: Socket): void {
    if (!(socket instanceof TLSSocket) || !socket.authorized) return
    const marked: Marked = socket
    marked[BY_CERTIFICATE] = { certificate: certificateNames(socket) ?? [] }
  }

  /** Who made the call with this metadata. */
  of(metadata: Metadata): Sender | undefined {
    return this.#byMetadata.get(metadata)
  }

  /** Turns away calls whose credential is not known, before their message is read. */
  interceptor(intake: Intake): ServerInterceptor {
    return (_, call) =>
      new ServerInterceptingCall(call, {
        start: (next) => {
          next({
            onReceiveMetadata: (metadata, pass) => {
              const connection = this.#connectionOf(metadata)
              const settle = (checked: Checked): void => {
                if (checked.kind !== 'known') {
                  if (checked.kind === 'unknown') intake.turnedAway(checked)
                  call.sendStatus(statusOf(checked))
                  return
                }
                this.#byMetadata.set(metadata, { ...connection?.byCertificate, ...checked.sender })
                if (connection?.hasShownCredential === false) {
                  connection.hasShownCredential = true
                  this.#hooks.onKnown(connection.endpoints)
                }
                pass(metadata)
              }
              const checked = check(intake, metadata, connection?.peer)
              if ('then' in checked) void checked.then(settle)
              else settle(checked)
            },
          })
        },
      })
  }

  #connectionOf(metadata: Metadata): Known | undefined {
    const session = this.#hooks.connectionOf(metadata) as Partial<ServerHttp2Session> | undefined
    if (session === undefined) return undefined
    const before = this.#byConnection.get(session)
    if (before !== undefined) return before
    // A session that has lost its socket has nobody to answer.
    if (session.destroyed === true || session.socket === undefined) return undefined
    const marked: Marked = session.socket
    const { remoteAddress, remotePort, localAddress } = marked
    const known: Known = {
      byCertificate: marked[BY_CERTIFICATE],
      endpoints: { remoteAddress, remotePort, localAddress },
      peer: peerOf(remoteAddress),
      hasShownCredential: false,
    }
    this.#byConnection.set(session, known)
    return known
  }
}

function check(
  { authenticator }: Intake,
  metadata: Metadata,
  peer: string | undefined,
): Checked | Promise<Checked> {
  if (authenticator === undefined) return { kind: 'known', sender: {} }
  const [value] = metadata.get(authenticator.header)
  return authenticator.check(value?.toString(), peer)
}

function statusOf(turned: Turned): StatusObject {
  if (turned.kind === 'busy') return grpcStatusOf(turned)
  return bareStatus('unauthenticated', turned.reason)
}
