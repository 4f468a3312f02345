import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { peerOf } from '../../listeners/peer.ts'
import { ownValue } from '../../model/own-value.ts'
import type { Sender } from '../../model/senders/sender.ts'
import type { Authenticator } from '../../trust/authenticator.ts'
import { isDnsRebinding } from '../../trust/own-site.ts'
import { senderOver } from './http-sender-names.ts'

/** Whom a webhook listens to. */
export interface CallerRules {
  /** Where it listens. */
  readonly host: string
  readonly authenticator: Authenticator | undefined
  readonly onKnown: (connection: Socket) => void
}

/** A request whose form is as asked for, or how it is answered otherwise. */
export type CheckedCaller =
  | { kind: 'known'; sender: Sender | undefined }
  /** Nobody can be asked now who it is. */
  | { kind: 'busy'; retryAfterMs: number }
  | { kind: 'refused'; status: number; reason: string; header?: readonly [string, string] }

const JSON_TYPE = /^application\/json\s*(?:;|$)/i

/** Checks who calls a webhook, and that it is a program that posts JSON; nothing of the body is read. */
export async function checkCaller(
  request: IncomingMessage,
  { host, authenticator, onKnown }: CallerRules,
): Promise<CheckedCaller> {
  if (isDnsRebinding(host, request.headers, undefined))
    return {
      kind: 'refused',
      status: 403,
      reason: 'a page in a browser sent this to a name that is not known here',
    }
  let sender = senderOver(request.socket)
  if (authenticator !== undefined) {
    const value = ownValue(request.headers, authenticator.header)
    const credential = typeof value === 'string' ? value : undefined
    const checked = await authenticator.check(credential, peerOf(request.socket.remoteAddress))
    if (checked.kind === 'busy') return checked
    if (checked.kind === 'unknown') {
      const header = ['WWW-Authenticate', authenticator.challenge] as const
      return { kind: 'refused', status: 401, reason: checked.reason, header }
    }
    onKnown(request.socket)
    sender = { ...sender, ...checked.sender }
  }
  if (request.method !== 'POST')
    return { kind: 'refused', status: 405, reason: 'use POST', header: ['Allow', 'POST'] }
  // Pages of browsers may post anything else to anybody.
  if (!JSON_TYPE.test(request.headers['content-type'] ?? ''))
    return { kind: 'refused', status: 415, reason: 'unsupported Content-Type; use application/json' }
  return { kind: 'known', sender }
}
