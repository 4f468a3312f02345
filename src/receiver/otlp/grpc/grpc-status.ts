import { Metadata, status, type StatusObject } from '@grpc/grpc-js'
import { cutMessage } from '../../../otlp/read/cut-message.ts'
import { encodeRpcStatus, type RpcStatus } from '../../../otlp/write/rpc-status.ts'
import { NO_ROOM } from '../../admission/in-flight.ts'
import { REPLIES, rpcStatusOf, type Refusal } from '../reply.ts'
import type { Ending } from './grpc-js-call.ts'

/** What grpc-js ends a call with whose message it cannot read, which is the sender's fault and not the server's. */
const UNREADABLE = status.INTERNAL

/** A message that did not come whole in time. */
export const TOO_SLOW = {
  kind: 'busy',
  retryAfterMs: 0,
  cause: 'time',
  reason: 'the request did not come whole in time; send it again',
} as const satisfies Refusal

/** After so many milliseconds a call is sent again for which there were too many connections. */
const FEWER_CONNECTIONS_MS = 1_000

/** A refusal as gRPC trailers. */
export function grpcStatusOf(refusal: Refusal): StatusObject {
  return detailedStatus(REPLIES[refusal.kind].grpc, rpcStatusOf(refusal))
}

/** Trailers for a call on one connection too many. */
export function tooManyConnectionsStatus(reason: string): StatusObject {
  const { grpc } = REPLIES.tooManyConnections
  return detailedStatus(grpc, { code: grpc, message: reason, retryAfterMs: FEWER_CONNECTIONS_MS })
}

/** Trailers with the whole google.rpc.Status, where gRPC clients look for RetryInfo. */
function detailedStatus(code: status, rpc: RpcStatus): StatusObject {
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(encodeRpcStatus('protobuf', rpc)))
  return { code, details: cutMessage(rpc.message), metadata }
}

/** Trailers of a row of the table, with nothing for clients that look for RetryInfo. */
export function bareStatus(row: keyof typeof REPLIES, details: string): StatusObject {
  return { code: REPLIES[row].grpc, details, metadata: new Metadata() }
}

export function tooSlowStatus(): StatusObject {
  return bareStatus('tooSlow', TOO_SLOW.reason)
}

/** Why a call ended before its message was whole; undefined when the client gave up, or has no credential. */
export function refusalOfEnding({ code, details: reason }: Ending): Refusal | undefined {
  if (code === REPLIES.busy.grpc) return NO_ROOM
  if (code === REPLIES.tooLarge.grpc) return { kind: 'tooLarge', reason }
  const isMalformed = [UNREADABLE, REPLIES.malformed.grpc, REPLIES.unknownCoding.grpc].includes(code)
  return isMalformed ? { kind: 'malformed', reason } : undefined
}

/** What a call is ended with where grpc-js would say that the server has failed. */
export function readableEnding(ending: Ending): Ending {
  return ending.code === UNREADABLE ? grpcStatusOf({ kind: 'malformed', reason: ending.details }) : ending
}
