import { ServerInterceptingCall, status, type ServerInterceptor } from '@grpc/grpc-js'
import { grpcStatusOf } from './grpc-status.ts'
import { NO_ROOM, type InFlight } from './in-flight.ts'
import type { Refusal } from './reply.ts'

/**
 * Turns calls away before their message is read while the budget is spent, and reports these and the calls that
 * grpc-js ends by itself before their message is whole: too large, or not to be decompressed. No hook of its
 * interceptors shows the latter, so the call's own `sendStatus` is wrapped.
 */
export function admission(
  inFlight: InFlight,
  refused: (path: string, refusal: Refusal) => void,
): ServerInterceptor {
  return (method, call) => {
    let settled = false
    const send = call.sendStatus.bind(call)
    call.sendStatus = (ending) => {
      const refusal = settled ? undefined : refusalOf(ending.code, ending.details)
      settled = true
      if (refusal !== undefined) refused(method.path, refusal)
      send(refusal?.kind === 'malformed' && ending.code === status.INTERNAL ? grpcStatusOf(refusal) : ending)
    }
    return new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, pass) {
            if (inFlight.isFull) call.sendStatus(grpcStatusOf(NO_ROOM))
            else pass(metadata)
          },
          onReceiveMessage(message, pass) {
            settled = true
            pass(message)
          },
        })
      },
    })
  }
}

/** Why a call ended before its message was whole; undefined when the client gave up. */
function refusalOf(code: status, details: string): Refusal | undefined {
  if (code === status.RESOURCE_EXHAUSTED) return { kind: 'tooLarge', reason: details }
  if (code === status.UNAVAILABLE) return NO_ROOM
  const malformed = code === status.INTERNAL || code === status.UNIMPLEMENTED
  return malformed ? { kind: 'malformed', reason: details } : undefined
}
