import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import type { JsonObject } from '../../../src/model/otlp/protobuf-to-json.ts'
import { bytesOfMessage, type MessageName, readMessage } from '../../../src/query/grpc-messages.ts'

export interface GrpcAnswer<Message = JsonObject> {
  readonly messages: readonly Message[]
  readonly code: status
  readonly details: string
  readonly trailers: Metadata
}

interface How {
  readonly metadata?: Metadata
  readonly secure?: ReturnType<typeof credentials.createSsl>
}

/** Calls a method with a message, and has all messages of the answer. */
export async function callGrpc(
  url: string,
  path: string,
  request: [MessageName, JsonObject],
  response: MessageName,
  how: How = {},
): Promise<GrpcAnswer> {
  const answer = await callGrpcForBytes(url, path, request, how)
  return { ...answer, messages: answer.messages.map((bytes) => readMessage(response, bytes)) }
}

/** The same, each message as it came. */
export async function callGrpcForBytes(
  url: string,
  path: string,
  [request, fields]: [MessageName, JsonObject],
  { metadata = new Metadata(), secure = credentials.createInsecure() }: How = {},
): Promise<GrpcAnswer<Buffer>> {
  const client = new Client(new URL(url).host, secure)
  const same = (bytes: Buffer): Buffer => bytes
  const call = client.makeServerStreamRequest(path, same, same, bytesOfMessage(request, fields), metadata)
  const messages: Buffer[] = []
  const { promise, resolve } = Promise.withResolvers<GrpcAnswer<Buffer>>()
  call.on('data', (message: Buffer) => messages.push(message))
  call.on('error', ({ code, details, metadata: trailers }: ServiceError) =>
    resolve({ messages, code, details, trailers }),
  )
  call.on('status', ({ code, details, metadata: trailers }) => {
    if (code === status.OK) resolve({ messages, code, details, trailers })
  })
  try {
    return await promise
  } finally {
    client.close()
  }
}
