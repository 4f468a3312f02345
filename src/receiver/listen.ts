import { lookup } from 'node:dns/promises'
import type { ReceiverTransport } from './observer.ts'
import type { ReceiverSettings } from './receiver-settings.ts'

const WHAT_TO_DO: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is already in use; stop the program that holds it or choose another port',
  EADDRNOTAVAIL: 'this machine has no such address; choose one that it has, or 0.0.0.0 for all',
  EACCES: 'this user may not bind that port; choose one above 1023',
  ENOTFOUND: 'the host name is unknown; write an address or a name that resolves',
  EAI_AGAIN: 'the host name cannot be looked up now; write an address or try again',
}

/** The address to bind for a host: the first IPv4 one of a name, else its first. Rejects when it has none. */
export async function addressOf(host: string): Promise<string> {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  return (await lookup(bare, { order: 'ipv4first' })).address
}

/** The error of a receiver that cannot listen: which one, on which address, and what to do about it. */
export function cannotListen(
  settings: ReceiverSettings,
  transport: ReceiverTransport,
  cause: unknown,
): Error {
  const message = cause instanceof Error ? cause.message : String(cause)
  const code = Object.keys(WHAT_TO_DO).find((known) => message.includes(known))
  const advice = (code === undefined ? undefined : WHAT_TO_DO[code]) ?? message
  const where = `receivers::${settings.receiver}::protocols::${transport}::endpoint`
  return new Error(
    `receiver ${settings.receiver} cannot listen for OTLP/${transport} on ${settings.host}:${settings.port}: ` +
      `${advice} (${where})`,
    { cause },
  )
}
