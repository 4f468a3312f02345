import type { Attributes } from '@opentelemetry/api'
import { CPID_ANCESTORS, CPID_ID } from '../attributes.ts'
import type { TraceContext } from '../context/trace-context.ts'

/** The attributes of a span or log record for the change that caused it; for spans that began before it was known. */
export function changeAttributes(traceContext: TraceContext | undefined): Attributes {
  if (traceContext === undefined) return {}
  const { cpid, ancestors } = traceContext
  return ancestors.length === 0 ? { [CPID_ID]: cpid } : { [CPID_ID]: cpid, [CPID_ANCESTORS]: [...ancestors] }
}
