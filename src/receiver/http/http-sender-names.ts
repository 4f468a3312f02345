import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Sender } from '../../model/senders/sender.ts'
import { certificateNames } from '../../trust/certificate-names.ts'

const senders = new WeakMap<TLSSocket, Sender>()

/** The sender that the certificate of a connection names; undefined where none was asked for. */
export function senderOver(socket: Socket): Sender | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  let sender = senders.get(socket)
  if (sender === undefined) {
    sender = { certificate: certificateNames(socket) ?? [] }
    senders.set(socket, sender)
  }
  return sender
}
