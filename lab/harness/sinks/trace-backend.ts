import type { status } from '@grpc/grpc-js'
import { freePort } from '../free-ports.ts'
import { type GrpcAnswer, tookAll } from './grpc-backend.ts'
import { receivedSpans, type ReceivedSpan } from './received-spans.ts'
import { SteadyBackend } from './steady-backend.ts'

/** Answers a request with these spans, or leaves it unanswered; `nth` counts requests from 1. */
export type Behaviour = (reply: GrpcAnswer, spans: readonly ReceivedSpan[], nth: number) => void

export const takesAll: Behaviour = tookAll
export const neverAnswers: Behaviour = () => undefined
export const refusing =
  (code: status): Behaviour =>
  (reply) =>
    reply({ code, details: 'as the test has it' })

/** An OTLP/gRPC backend that keeps the spans it took, on one port however often it goes down and comes up. */
export class TraceBackend extends SteadyBackend {
  behaviour: Behaviour
  /** What it answered OK, in order, repeats included. */
  readonly spans: ReceivedSpan[] = []

  private constructor(port: number, behaviour: Behaviour) {
    super(port)
    this.behaviour = behaviour
  }

  /** A backend that is down until it is told to come up. */
  static async down(behaviour: Behaviour = takesAll): Promise<TraceBackend> {
    return new TraceBackend(await freePort(), behaviour)
  }

  static async up(behaviour?: Behaviour): Promise<TraceBackend> {
    const backend = await TraceBackend.down(behaviour)
    await backend.comeUp()
    return backend
  }

  /** The names of the spans it took, each once. */
  get names(): Set<string> {
    return new Set(this.spans.map((span) => span.name))
  }

  protected override answer(request: Buffer, reply: GrpcAnswer): void {
    const spans = receivedSpans(request)
    this.behaviour(
      (error, response) => {
        if (error === null) this.spans.push(...spans)
        reply(error, response)
      },
      spans,
      this.requests,
    )
  }
}
