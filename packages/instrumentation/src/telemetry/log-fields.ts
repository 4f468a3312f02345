import { CPID_ID } from '../attributes.ts'
import { activeTraceContext } from '../context/active-trace-context.ts'

/**
 * The fields that a structured log line gets from the active trace context (section 3.4.4 of the CPID paper): `cpid.id`,
 * or none outside of one. A new object each time, so that it can serve as the `mixin` of pino.
 */
export function cpidLogFields(): Record<string, string> {
  const traceContext = activeTraceContext()
  return traceContext === undefined ? {} : { [CPID_ID]: traceContext.cpid }
}

/** A winston format that adds `cpid.id` to log entries without one; put it before the printing format. */
export function cpidWinstonFormat(): { readonly transform: <T extends object>(info: T) => T } {
  return {
    transform: (info) => (Object.hasOwn(info, CPID_ID) ? info : Object.assign(info, cpidLogFields())),
  }
}
