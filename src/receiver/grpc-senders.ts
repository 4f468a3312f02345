import {
  Metadata,
  ServerInterceptingCall,
  status,
  type ServerInterceptor,
  type StatusObject,
} from '@grpc/grpc-js'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Sender } from '../model/sender.ts'
import type { Checked } from '../trust/authenticator.ts'
import { certificateNames } from '../trust/certificate-names.ts'
import { grpcStatusOf } from './grpc-status.ts'
import type { Intake } from './intake.ts'

type Turned = Exclude<Checked, { kind: 'known' }>

/** Knows who makes a gRPC call: by the certificate of its connection, and by its credential. */
export class GrpcSenders {
  readonly #byPeer = new Map<string, Sender>()
  readonly #byMetadata = new WeakMap<Metadata, Sender>()

  /** Remembers the certificate of a connection for as long as that is open. */
  connected(socket: Socket): void {
    if (!(socket instanceof TLSSocket) || !socket.authorized) return
    const peer = `${socket.remoteAddress ?? ''}:${socket.remotePort ?? ''}`
    this.#byPeer.set(peer, { certificate: certificateNames(socket) ?? [] })
    socket.once('close', () => this.#byPeer.delete(peer))
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
              const settle = (checked: Checked): void => {
                if (checked.kind !== 'known') {
                  if (checked.kind === 'unknown') intake.turnedAway(checked)
                  call.sendStatus(statusOf(checked))
                  return
                }
                this.#byMetadata.set(metadata, { ...this.#byPeer.get(call.getPeer()), ...checked.sender })
                pass(metadata)
              }
              const checked = check(intake, metadata)
              if ('then' in checked) void checked.then(settle)
              else settle(checked)
            },
          })
        },
      })
  }
}

function check({ authenticator }: Intake, metadata: Metadata): Checked | Promise<Checked> {
  if (authenticator === undefined) return { kind: 'known', sender: {} }
  const [value] = metadata.get(authenticator.header)
  return authenticator.check(value?.toString())
}

function statusOf(turned: Turned): StatusObject {
  if (turned.kind === 'busy') return grpcStatusOf(turned)
  return { code: status.UNAUTHENTICATED, details: turned.reason, metadata: new Metadata() }
}
