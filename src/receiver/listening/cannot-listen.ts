import type { ListenerSettings } from './receiver-settings.ts'
import { ownValue } from '../../model/own-value.ts'

const WHAT_TO_DO: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is already in use; stop the program that holds it or choose another port',
  EADDRNOTAVAIL: 'this machine has no such address; choose one that it has, or 0.0.0.0 for all',
  EACCES: 'this user may not bind that port; choose one above 1023',
  ENOTFOUND: 'the host name is unknown; write an address or a name that resolves',
  EAI_AGAIN: 'the host name cannot be looked up now; write an address or try again',
}

/** What a receiver listens for. */
export interface ListenPurpose {
  /** `OTLP/http`. */
  readonly what: string
  /** The setting of the receiver by which it listens elsewhere: `protocols::http::endpoint`. */
  readonly setting: string
}

/** The error of a receiver that cannot listen: which one, on which address, and what to do about the system error. */
export function cannotListen(
  { receiver, host, port }: ListenerSettings,
  { what, setting }: ListenPurpose,
  cause: unknown,
): Error {
  const { code = '', message } = cause as NodeJS.ErrnoException
  return new Error(
    `receiver ${receiver} cannot listen for ${what} on ${host}:${port}: ${ownValue(WHAT_TO_DO, code) ?? message} ` +
      `(receivers::${receiver}::${setting})`,
    { cause },
  )
}
