import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation } from '../instrumentation.ts'
import type { ClientRequest } from './client-types.ts'

type RequestClass = new (url: string, method: string) => ClientRequest

/**
 * A merge patch of nothing but the annotations, to the object that a request deletes; undefined where the request is none of
 * the client's own class.
 */
export function annotationPatch(
  request: ClientRequest,
  change: TraceContext,
  { injectIntoObject }: Instrumentation,
): ClientRequest | undefined {
  const { constructor } = request
  const url = new URL(request.getUrl())
  url.search = ''
  const patch = new (constructor as unknown as RequestClass)(url.href, 'PATCH')
  for (const [name, value] of Object.entries(request.getHeaders())) {
    if (name.toLowerCase() !== 'content-type') patch.setHeaderParam(name, value)
  }
  patch.setHeaderParam('Content-Type', 'application/merge-patch+json')
  patch.setBody(JSON.stringify(injectIntoObject(change, {})))
  const signal = request.getSignal?.()
  if (signal !== undefined) patch.setSignal?.(signal as never)
  const dispatcher = request.getDispatcher?.()
  if (dispatcher !== undefined) patch.setDispatcher?.(dispatcher as never)
  return patch
}
