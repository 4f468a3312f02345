import type { Socket } from 'node:net'
import type { Asker } from '../query/asker.ts'

const numbers = new WeakMap<Socket, number>()
let last = 0

/** Who asks over a connection, from that address: behind a trusted proxy it is not the connection's own. */
export function askerOf(socket: Socket, address: string): Asker {
  let connection = numbers.get(socket)
  if (connection === undefined) numbers.set(socket, (connection = ++last))
  return { address, connection }
}
