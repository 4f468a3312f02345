import type { DropReason } from '../../listeners/connections.ts'
import type { DroppedConnection } from '../../receiver/observer.ts'

const WHY: Readonly<Record<DropReason, string>> = {
  limit: 'there are as many as max_connections allows',
  address: 'one address has as many requests under way as max_connections_per_address allows',
  stranger: 'no credential was shown within ten seconds',
}

/** A sentence about a connection that was closed, the same for all that were closed for the same reason. */
export function dropReasonText({ receiver, transport, reason }: DroppedConnection): string {
  return `${receiver} closes connections or refuses requests over ${transport}: ${WHY[reason]}`
}
