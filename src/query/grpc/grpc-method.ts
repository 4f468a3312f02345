import type { JsonObject } from '../../model/otlp/protobuf-to-json.ts'
import type { GrpcShape } from '../grpc-answers.ts'
import { bytesOfMessage, type MessageName, readMessage } from '../grpc-messages.ts'
import { BadParameter, type TraceRequest } from '../http/trace-requests.ts'
import type { Question, TraceQuestion } from '../question.ts'

/** What a request becomes: questions whose answers are concatenated, or a finished message. */
export type GrpcAsked = { readonly questions: readonly Question[] } | { readonly answer: Buffer }

export interface GrpcMethod {
  readonly path: string
  /** Reads a request. Throws BadParameter. */
  read(request: Buffer, nowMs: number): GrpcAsked
}

/** A method whose requests are these messages. */
export function grpcMethod(
  path: string,
  message: MessageName,
  read: (request: JsonObject, nowMs: number) => GrpcAsked,
): GrpcMethod {
  return {
    path,
    read: (bytes, nowMs) => {
      let request: JsonObject
      try {
        request = readMessage(message, bytes)
      } catch {
        throw new BadParameter(`the request is no ${message}`)
      }
      return read(request, nowMs)
    },
  }
}

/** Asks one question, and has the answer written in this shape. */
export const asked = (question: TraceQuestion, as: GrpcShape): GrpcAsked => ({
  questions: [{ kind: 'grpc', question, as }],
})

/** The question of the equivalent HTTP request, with the answer in this shape. Throws BadParameter where HTTP refuses the request. */
export function askedAsHttp(request: TraceRequest | undefined, as: GrpcShape): GrpcAsked {
  if (request?.kind === 'question') return asked(request.question, as)
  throw new BadParameter(request?.kind === 'refused' ? request.message : 'nothing is known by this name')
}

export const answered = (message: MessageName, object: JsonObject): GrpcAsked => ({
  answer: bytesOfMessage(message, object),
})
