import { context, propagation, type Span } from '@opentelemetry/api'
import { attempt, attemptLater } from '../attempt.ts'
import { activeTraceContext } from '../context/active-trace-context.ts'
import type { TraceContext } from '../context/trace-context.ts'
import type { ChangeDetail, Instrumentation } from '../instrumentation.ts'
import { internalsOf } from '../internals.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import { recordIn } from '../objects/kubernetes-object.ts'
import { sendInSpan, tellFailure, type WriteSpan } from '../writes/write-object.ts'
import { promised, type ClientRequest, type ClientResponse, type HttpApi } from './client-types.ts'
import { annotationPatch } from './deletion-mark.ts'
import { markBody, objectIn } from './marked-body.ts'
import { isAside, nameOf, requestTarget, type RequestTarget } from './request-target.ts'
import { workHere } from './work.ts'

export interface HttpSettings {
  /** Whether requests carry the trace context of OpenTelemetry, for the spans of the API server. */
  readonly sendsTraceparent: boolean
  /** Whether an object is made to carry the change that deletes it, with one more request, so that all who see it go know why. */
  readonly marksDeletions: boolean
}

type Planned = Pick<WriteSpan, 'refusedAs'> & { readonly change: TraceContext }

/** Sends as `inner` does. A write is a span, carries its change, and is told once it was accepted; a read in a reconcile is noted. */
export function tracedHttp(
  inner: HttpApi,
  instrumentation: Instrumentation,
  settings: HttpSettings,
): HttpApi {
  const { readCarried, tracer, isUntold } = internalsOf(instrumentation)

  function ask(request: ClientRequest): Promise<ClientResponse> {
    if (settings.sendsTraceparent) {
      propagation.inject(context.active(), request, {
        set: (to, key, value) => to.setHeaderParam(key, value),
      })
    }
    return inner.send(request).toPromise()
  }

  async function read(request: ClientRequest, target: RequestTarget): Promise<ClientResponse> {
    const response = await ask(request)
    const work = workHere()
    if (work === undefined || target.name === undefined || isAside(target)) return response
    const object = await answered(response)
    if (object !== undefined && response.httpStatusCode < 300) work.read(object, target, instrumentation)
    return response
  }

  function causesOf(body: KubernetesObject | undefined): readonly (TraceContext | undefined)[] {
    const work = workHere()
    const isVersion = body?.metadata?.resourceVersion !== undefined
    const own = isVersion ? instrumentation.extractFromObject(body) : readCarried(body)
    work?.follow(own, instrumentation)
    // Outside of a reconcile a write follows from the change that is being worked on.
    return work?.causes() ?? [activeTraceContext(), own]
  }

  /** Writes of a reconcile that follow from the same things are of one change. */
  function plan(body: KubernetesObject | undefined, detail: ChangeDetail): Planned {
    const causes = causesOf(body)
    const work = workHere()
    const decide = (): TraceContext => instrumentation.plan(causes, detail)
    const change = work?.planned(causes, instrumentation, decide) ?? decide()
    const cause = activeTraceContext() ?? causes.findLast((one) => one !== undefined)
    const refusedAs = (): TraceContext | undefined =>
      (work?.isUntold(change) ?? isUntold(change)) ? cause : undefined
    return { change, refusedAs }
  }

  function write(request: ClientRequest, target: RequestTarget): Promise<ClientResponse> {
    const body = target.verb === 'delete' ? undefined : objectIn(request)
    const object = { ...body, metadata: { ...body?.metadata, ...placeOf(target, body) } }
    const planned = plan(body, { object, type: target, reason: nameOf(target) })
    return sendWrite(request, target, planned, () =>
      attempt(() => markBody(request, target, body, planned.change, instrumentation), undefined),
    )
  }

  function remove(request: ClientRequest, target: RequestTarget): Promise<ClientResponse> {
    const { namespace, name } = target
    const detail = { object: { metadata: { namespace, name } }, type: target, reason: nameOf(target) }
    const planned = plan(undefined, detail)
    const { change } = planned
    return sendWrite(request, target, planned, async () => {
      const isMarked = settings.marksDeletions && name !== undefined
      const patch = isMarked ? annotationPatch(request, change, instrumentation) : undefined
      if (patch === undefined) return
      const marked = await ask(patch)
      const object = await answered(marked)
      if (marked.httpStatusCode >= 300 || object === undefined) return
      accepted(change, object, target)
      const uid = object.metadata?.uid
      if (uid !== undefined) internalsOf(instrumentation).known.noteDeletion(uid, change)
    })
  }

  function sendWrite(
    request: ClientRequest,
    target: RequestTarget,
    { change, refusedAs }: Planned,
    prepare: () => void | Promise<void>,
  ): Promise<ClientResponse> {
    return sendInSpan({ tracer: tracer(), name: nameOf(target), change, refusedAs }, async (span) => {
      workHere()?.noteReads(instrumentation)
      workHere()?.useCauses()
      span.setAttributes({ 'http.request.method': request.getHttpMethod() })
      await attemptLater(prepare)
      const response = await ask(request)
      const object = await answered(response)
      if (response.httpStatusCode >= 300)
        tellFailure(span, response.httpStatusCode, messageIn(object), refusedAs())
      else attempt(() => tellSuccess(span, response, target, change, object), undefined)
      return response
    })
  }

  function accepted(
    change: TraceContext,
    ...written: [KubernetesObject | undefined, RequestTarget] | []
  ): void {
    workHere()?.accepted(change)
    instrumentation.accepted(change, ...written)
  }

  function tellSuccess(
    span: Span,
    response: ClientResponse,
    target: RequestTarget,
    change: TraceContext,
    object: KubernetesObject | undefined,
  ): void {
    span.setAttribute('http.response.status_code', response.httpStatusCode)
    const isObject = object?.metadata?.uid !== undefined
    if (target.verb !== 'delete') accepted(change, isObject ? object : undefined, target)
    else {
      const deleted = { metadata: { namespace: target.namespace, name: target.name, uid: uidIn(object) } }
      accepted(change)
      instrumentation.wrote(deleted, target)
      if (deleted.metadata.uid !== undefined)
        internalsOf(instrumentation).known.noteDeletion(deleted.metadata.uid, change)
    }
    const work = workHere()
    if (work === undefined) return
    work.change = change
    work.hasWritten = true
    work.follow(change, instrumentation)
  }

  return {
    send(request) {
      const target = attempt(() => requestTarget(request.getHttpMethod(), request.getUrl()), undefined)
      if (target === undefined || target.isDryRun || isAside(target)) return promised(ask(request))
      if (target.verb === 'get') return promised(read(request, target))
      if (target.verb === 'delete') return promised(remove(request, target))
      return promised(write(request, target))
    },
  }
}

/** Where an object is that does not say so itself, as a patch of it. */
function placeOf({ namespace, name }: RequestTarget, body: KubernetesObject | undefined): object {
  const own = body?.metadata
  return { ...(own?.namespace === undefined && { namespace }), ...(own?.name === undefined && { name }) }
}

/** What an answer holds; it can be read once more after that. */
async function answered(response: ClientResponse): Promise<KubernetesObject | undefined> {
  const text = await response.body.text()
  response.body = {
    text: () => Promise.resolve(text),
    binary: () => Promise.resolve(Buffer.from(text)),
    stream: () => new Blob([text]).stream(),
  }
  try {
    return recordIn(JSON.parse(text))
  } catch {
    return undefined
  }
}

function messageIn(status: object | undefined): string {
  const { message } = recordIn(status)
  return typeof message === 'string' ? message : 'the API server refused'
}

/** Of a deletion the API server answers the object, or a Status that names it. */
function uidIn(answer: KubernetesObject | undefined): string | undefined {
  const { details } = recordIn(answer)
  const uid = answer?.metadata?.uid ?? recordIn(details)['uid']
  return typeof uid === 'string' ? uid : undefined
}
