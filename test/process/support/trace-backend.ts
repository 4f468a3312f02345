import {
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
  type status,
} from '@grpc/grpc-js'
import { EXPORT_METHODS } from '../../../src/receiver/otlp/grpc/grpc-services.ts'
import { freePorts } from './free-ports.ts'
import { receivedSpans, type ReceivedSpan } from './received-spans.ts'

export type Reply = sendUnaryData<Buffer>
/** Answers a request with these spans, or leaves it unanswered; `nth` counts requests from 1. */
export type Behaviour = (reply: Reply, spans: readonly ReceivedSpan[], nth: number) => void

export const takesAll: Behaviour = (reply) => reply(null, Buffer.alloc(0))
export const neverAnswers: Behaviour = () => undefined
export const refusing =
  (code: status): Behaviour =>
  (reply) =>
    reply({ code, details: 'as the test has it' })

/** An OTLP/gRPC backend that keeps what it took, on one port however often it goes down and comes up. */
export class TraceBackend implements AsyncDisposable {
  readonly port: number
  behaviour: Behaviour
  /** What it answered OK, in order, repeats included. */
  readonly spans: ReceivedSpan[] = []
  /** Called with how many requests have come. */
  onRequest: (count: number) => void = () => undefined
  requests = 0
  #server: Server | undefined

  private constructor(port: number, behaviour: Behaviour) {
    this.port = port
    this.behaviour = behaviour
  }

  /** A backend that is down until it is told to come up. */
  static async down(behaviour: Behaviour = takesAll): Promise<TraceBackend> {
    const [port = 0] = await freePorts(1)
    return new TraceBackend(port, behaviour)
  }

  static async up(behaviour?: Behaviour): Promise<TraceBackend> {
    const backend = await TraceBackend.down(behaviour)
    await backend.comeUp()
    return backend
  }

  async comeUp(): Promise<void> {
    const server = new Server({ 'grpc.max_receive_message_length': -1 })
    server.addService(
      { export: EXPORT_METHODS.traces },
      { export: (call: ServerUnaryCall<Buffer, Buffer>, reply: Reply) => this.#take(call.request, reply) },
    )
    const bound = Promise.withResolvers<undefined>()
    server.bindAsync(`127.0.0.1:${this.port}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) bound.resolve(undefined)
      else bound.reject(error)
    })
    await bound.promise
    this.#server = server
  }

  goDown(): void {
    this.#server?.forceShutdown()
    this.#server = undefined
  }

  /** The names of the spans it took, each once. */
  get names(): Set<string> {
    return new Set(this.spans.map((span) => span.name))
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.goDown()
    return Promise.resolve()
  }

  #take(request: Buffer, reply: Reply): void {
    const spans = receivedSpans(request)
    this.requests++
    this.behaviour(
      (error, response) => {
        if (error === null) this.spans.push(...spans)
        reply(error, response)
      },
      spans,
      this.requests,
    )
    this.onRequest(this.requests)
  }
}
