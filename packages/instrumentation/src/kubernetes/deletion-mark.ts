import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation } from '../instrumentation.ts'
import { recordIn, type KubernetesObject } from '../objects/kubernetes-object.ts'
import type { ClientRequest } from './client-types.ts'

type RequestClass = new (url: string, method: string) => ClientRequest

/**
 * A merge patch of nothing but the annotations, to the object that a request deletes. `options` is the request's body: a
 * deletion that is for one version alone has the patch be for that too.
 */
export function annotationPatch(
  request: ClientRequest,
  options: object | undefined,
  change: TraceContext,
  { injectIntoObject }: Instrumentation,
): ClientRequest {
  const { constructor } = request
  const url = new URL(request.getUrl())
  url.search = ''
  const patch = new (constructor as unknown as RequestClass)(url.href, 'PATCH')
  for (const [name, value] of Object.entries(request.getHeaders())) {
    if (name.toLowerCase() !== 'content-type') patch.setHeaderParam(name, value)
  }
  patch.setHeaderParam('Content-Type', 'application/merge-patch+json')
  const { uid, resourceVersion } = recordIn(recordIn(options)['preconditions'])
  patch.setBody(JSON.stringify(injectIntoObject(change, { metadata: { uid, resourceVersion } as object })))
  const signal = request.getSignal?.()
  if (signal !== undefined) patch.setSignal?.(signal as never)
  const dispatcher = request.getDispatcher?.()
  if (dispatcher !== undefined) patch.setDispatcher?.(dispatcher as never)
  return patch
}

/** A deletion for the version before the mark is for the one that came of it. */
export function lockAnew(
  request: ClientRequest,
  options: object | undefined,
  marked: KubernetesObject,
): void {
  const preconditions = recordIn(recordIn(options)['preconditions'])
  const version = marked.metadata?.resourceVersion
  if (preconditions['resourceVersion'] === undefined || version === undefined) return
  request.setBody(
    JSON.stringify({ ...options, preconditions: { ...preconditions, resourceVersion: version } }),
  )
}
