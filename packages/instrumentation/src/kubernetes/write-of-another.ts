import { ROOT_CONTEXT, type Tracer } from '@opentelemetry/api'
import { CPID_WROTE } from '../attributes.ts'
import type { TraceContext } from '../context/trace-context.ts'
import { changeAttributes } from '../telemetry/change-attributes.ts'

/**
 * Tells, as a span without length, that somebody who says nothing of changes made a version. What follows hangs below it; else it
 * would hang below the write before, which is of another change.
 */
export function tellWriteOfAnother(
  tracer: Tracer,
  verb: 'write' | 'delete',
  change: TraceContext,
  reference: string | undefined,
  atMs: number,
): void {
  if (reference === undefined) return
  // The version of the core group stands alone.
  const resource = reference.split('/', /^v\d[^./]*\//.test(reference) ? 2 : 3)
  const at = new Date(atMs)
  const attributes = { ...changeAttributes(change), [CPID_WROTE]: [reference] }
  const name = `${verb} ${resource.join('/')}`
  const span = tracer.startSpan(name, { root: true, startTime: at, attributes }, ROOT_CONTEXT)
  span.end(at)
}
