import { Metadata, type StatusObject } from '@grpc/grpc-js'
import { cutMessage } from '../../../otlp/read/cut-message.ts'
import { encodeRpcStatus } from '../../../otlp/write/rpc-status.ts'
import { REPLIES, rpcStatusOf, type Refusal } from '../reply.ts'

/** A refusal as gRPC trailers; the whole google.rpc.Status goes along where gRPC clients look for RetryInfo. */
export function grpcStatusOf(refusal: Refusal): StatusObject {
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(encodeRpcStatus('protobuf', rpcStatusOf(refusal))))
  return { code: REPLIES[refusal.kind].grpc, details: cutMessage(refusal.reason), metadata }
}
