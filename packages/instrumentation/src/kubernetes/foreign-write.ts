import { ROOT_CONTEXT, type Tracer } from '@opentelemetry/api'
import { CPID_OBSERVED, CPID_WROTE } from '../attributes.ts'
import type { TraceContext } from '../context/trace-context.ts'
import { changeAttributes } from '../telemetry/change-attributes.ts'

/**
 * Tells, as a span without length, that somebody who says nothing of changes made a version. What follows hangs below it; else it
 * would hang below the write before, which is of another change. With `status`, of the status alone, `after` the version that it follows from.
 */
export function reportForeignWrite(
  tracer: Tracer,
  verb: 'write' | 'delete',
  change: TraceContext,
  reference: string | undefined,
  atMs: number,
  status?: { readonly after: string | undefined },
): void {
  if (reference === undefined) return
  // The version of the core group stands alone.
  const resource = reference.split('/', /^v\d[^./]*\//.test(reference) ? 2 : 3)
  const at = new Date(atMs)
  const attributes = {
    ...changeAttributes(change),
    [CPID_WROTE]: [reference],
    ...(status?.after !== undefined && { [CPID_OBSERVED]: [status.after] }),
  }
  const name = `${verb} ${resource.join('/')}${status === undefined ? '' : '/status'}`
  const span = tracer.startSpan(name, { root: true, startTime: at, attributes }, ROOT_CONTEXT)
  span.end(at)
}
