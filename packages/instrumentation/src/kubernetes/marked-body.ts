import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation } from '../instrumentation.ts'
import { recordIn, type KubernetesObject } from '../objects/kubernetes-object.ts'
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

/** Whether nothing is to be stored by what the body says of a deletion, or of an eviction. */
export function isDryRun({ verb, subresource }: RequestTarget, body: object | undefined): boolean {
  const { dryRun, deleteOptions } = recordIn(body)
  const asked = subresource === 'eviction' ? recordIn(deleteOptions)['dryRun'] : verb === 'delete' && dryRun
  return Array.isArray(asked) && asked.length > 0
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
  if (target.subresource !== undefined) return
  if (object === undefined || (target.verb === 'patch' && takesAnnotationsAway(object))) {
    warnOnce(
      `a patch of ${target.resource} that is a list of operations, or takes annotations away, carries no CPID: only this process ` +
        'knows its change. Send a merge patch, a strategic merge patch or an apply instead, with annotations as they are.',
    )
    return
  }
  request.setBody(JSON.stringify(injectIntoObject(change, object)))
}

/** `null`, and directives of strategic merge patches: what is added beside them would be lost, or keep others from going. */
function takesAnnotationsAway(patch: KubernetesObject): boolean {
  const { metadata } = patch
  const { annotations } = recordIn(metadata)
  const isAway = (part: unknown): boolean => part === null || recordIn(part)['$patch'] === 'delete'
  return [patch, metadata, annotations].some(isAway)
}
