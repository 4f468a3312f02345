import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation } from '../instrumentation.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import { warnOnce } from '../warn-once.ts'
import type { ClientRequest } from './client-types.ts'
import type { RequestTarget } from './request-target.ts'

/** The object in a request, or part of one, as a merge patch is; undefined where there is none that can be read. */
export function objectIn(request: ClientRequest): KubernetesObject | undefined {
  const body = request.getBody()
  if (typeof body !== 'string' || !body.startsWith('{')) return undefined
  try {
    return JSON.parse(body) as KubernetesObject
  } catch {
    return undefined
  }
}

/** Has a request carry a trace context, where it has a place for annotations. */
export function markBody(
  request: ClientRequest,
  target: RequestTarget,
  object: KubernetesObject | undefined,
  change: TraceContext,
  { injectIntoObject }: Instrumentation,
): void {
  // A subresource takes no annotations of its object.
  if (target.verb === 'delete' || target.subresource !== undefined) return
  if (object === undefined) {
    warnOnce(
      `a patch of ${target.resource} that is a list of operations carries no CPID: only this process knows its change. ` +
        'Send a merge patch, a strategic merge patch or an apply instead.',
    )
    return
  }
  request.setBody(JSON.stringify(injectIntoObject(change, object)))
}
