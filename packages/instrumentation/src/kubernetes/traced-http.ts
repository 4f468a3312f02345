import { context, propagation } from '@opentelemetry/api'
import { attempt, attemptLater } from '../attempt.ts'
import { activeTraceContext } from '../context/active-trace-context.ts'
import type { TraceContext } from '../context/trace-context.ts'
import type { ChangeDetail, Instrumentation } from '../instrumentation.ts'
import { internalsOf } from '../internals.ts'
import { useContext } from '../known/report-on-use.ts'
import { type KubernetesObject, recordIn } from '../objects/kubernetes-object.ts'
import { shortened } from '../writes/in-span.ts'
import { sendInSpan, tellFailure, type WriteSpan } from '../writes/write-object.ts'
import { type ClientRequest, type ClientResponse, type HttpApi, promised } from './client-types.ts'
import { collectionOf, deletedCollectionsOf } from './deleted-collections.ts'
import { heldObjectsOf } from './held-objects.ts'
import { isNeverTraced, nameOf, requestTarget, type RequestTarget } from './request-target.ts'
import { isTheSame } from './version-facts.ts'
import { currentWork, type Work } from './work.ts'
import { warnOnce } from '../warn-once.ts'

interface HttpSettings {
  /** Whether requests carry the trace context of OpenTelemetry, for the spans of the API server. */
  readonly sendsTraceparent: boolean
  /** Whether an object is annotated with the change that deletes it, by one more request, so that observers know the cause. */
  readonly marksDeletions: boolean
}

/** A write in flight. */
interface Write extends Pick<WriteSpan, 'refusedAs'> {
  readonly target: RequestTarget
  readonly change: TraceContext
  /** The versions that the answer may have when the write changes nothing. */
  readonly before: readonly string[]
  /** The object to compare the answer with: another status write may have made a version that the informer lacks. */
  readonly held: KubernetesObject | undefined
  readonly begun: () => void
  /** It was accepted. */
  readonly done: () => void
  /** It was accepted, and changed nothing. */
  readonly passedOver: () => void
  /** The cluster where it was planned. */
  readonly planner: Instrumentation
}

/** An answer, and the object in it. */
interface Answered {
  readonly response: ClientResponse
  readonly object: KubernetesObject | undefined
}

/** Sends as `inner` does. A write gets a span and carries its change, which is reported once accepted. Reads in a reconcile are noted. */
export function tracedHttp(
  inner: HttpApi,
  instrumentation: Instrumentation,
  settings: HttpSettings,
): HttpApi {
  const { readCarried, known, tracer, trimmedCopy, nowMs, cpidKey, ancestorsKey } =
    internalsOf(instrumentation)
  /** The fields that a refusal of the annotations names: one of them, or all together if too long. */
  const ofAnnotations = [cpidKey, ancestorsKey, 'metadata.annotations']
  const held = heldObjectsOf(instrumentation)
  const collections = deletedCollectionsOf(instrumentation)

  function ask(request: ClientRequest): Promise<ClientResponse> {
    if (settings.sendsTraceparent) {
      const set = (to: ClientRequest, key: string, value: string): void => to.setHeaderParam(key, value)
      attempt(() => propagation.inject(context.active(), request, { set }), undefined)
    }
    return inner.send(request).toPromise()
  }

  /** Sends a write; if it is refused because of the annotations, sends the original body `plain`. */
  async function askOnce(request: ClientRequest, plain: unknown): Promise<Answered> {
    const response = await ask(request)
    const object = await answered(response)
    const isRefused = response.httpStatusCode >= 400 && response.httpStatusCode < 500
    if (!isRefused || typeof plain !== 'string' || request.getBody() === plain) return { response, object }
    const { message } = recordIn(object)
    if (!ofAnnotations.some((named) => String(message).includes(named))) return { response, object }
    request.setBody(plain)
    const again = await ask(request)
    return { response: again, object: await answered(again) }
  }

  async function read(request: ClientRequest, target: RequestTarget): Promise<ClientResponse> {
    const response = await ask(request)
    const work = currentWork()
    if (work === undefined || target.name === undefined) return response
    const object = await answered(response)
    if (object !== undefined && response.httpStatusCode < 300)
      attempt(() => work.read(object, target, instrumentation), undefined)
    return response
  }

  /** The changes of the version that a write overwrites: the one that it names, or else the last known one. */
  function ownCauses(target: RequestTarget, body: KubernetesObject | undefined): TraceContext[] {
    const changeOf = (object: KubernetesObject | undefined): TraceContext | undefined =>
      known.of(object) ?? instrumentation.extractFromObject(object)
    const isOfVersion = body?.metadata?.resourceVersion !== undefined
    const own = [isOfVersion ? changeOf(body) : readCarried(body)]
    if (!isOfVersion && target.verb === 'patch') own.push(changeOf(held.overwritten(target)))
    return own.filter((one) => one !== undefined)
  }

  function versionsBefore(target: RequestTarget, body: KubernetesObject | undefined): readonly string[] {
    if (target.verb !== 'update' && target.verb !== 'patch') return []
    const version = body?.metadata?.resourceVersion
    return version === undefined ? held.versionsOf(target) : [version]
  }

  /** Plans a write. Writes of a reconcile with the same causes belong to one change. */
  function begin(target: RequestTarget, body: KubernetesObject | undefined, detail: ChangeDetail): Write {
    const work = currentWork()
    const own = ownCauses(target, body)
    for (const one of own) work?.follow(one)
    // Outside of a reconcile, the active trace context is the cause.
    const active = [activeTraceContext()].filter((one) => one !== undefined)
    const causes = work?.causes() ?? [...active, ...own]
    const decide = (): TraceContext => instrumentation.plan(causes, detail)
    const plan = work?.planned(causes, instrumentation, decide)
    const change = plan?.change ?? decide()
    const planner = plan?.by ?? instrumentation
    const cause = activeTraceContext() ?? causes.at(-1)
    let noted: ReturnType<Work['noteReads']> | undefined
    return {
      target,
      change,
      before: versionsBefore(target, body),
      held: isOfContent(target, body) ? held.newest(target) : undefined,
      refusedAs: () => (internalsOf(planner).isUnreported(change) ? cause : undefined),
      begun: () => {
        noted = work?.noteReads(instrumentation)
        if (work === undefined) for (const one of own) useContext(one)
        else work.useCauses()
      },
      done: () => plan && work?.wrote(plan),
      passedOver: () => noted && work?.noteAgain(noted, instrumentation),
      planner,
    }
  }

  /** The mergelog is sent by the cluster that planned it; the version is noted for this cluster. */
  function accept({ change, planner, target }: Write, written?: KubernetesObject): void {
    planner.accepted(change)
    instrumentation.accepted(change, written, target)
  }

  function write(
    request: ClientRequest,
    target: RequestTarget,
    body?: KubernetesObject,
  ): Promise<ClientResponse> {
    const object = { ...body, metadata: { ...body?.metadata, ...placeOf(target, body) } }
    const one = begin(target, body, { object, type: target, reason: nameOf(target) })
    return sendWrite(request, one, () =>
      attempt(() => markBody(request, target, body, one.change, instrumentation), undefined),
    )
  }

  async function remove(
    request: ClientRequest,
    target: RequestTarget,
    body?: KubernetesObject,
  ): Promise<ClientResponse> {
    const { namespace, name } = target
    const detail = { object: { metadata: { namespace, name } }, type: target, reason: nameOf(target) }
    const one = begin(target, undefined, detail)
    if (name === undefined) return removeAll(request, one)
    let uid: string | undefined
    // Informers may deliver the deletion before the answer.
    const goes = (of: string | undefined): void => {
      if (of !== undefined) known.noteDeletion((uid = of), one.change)
    }
    try {
      const response = await sendWrite(request, one, async () => {
        if (target.subresource !== undefined) return
        goes(uidOf(body) ?? held.overwritten(target)?.metadata?.uid)
        if (!settings.marksDeletions) return
        const marked = await ask(annotationPatch(request, body, one.change, instrumentation))
        const object = await answered(marked)
        if (marked.httpStatusCode >= 300 || object === undefined) return
        accept(one, object)
        lockAnew(request, body, object)
        goes(object.metadata?.uid)
      })
      if (response.httpStatusCode < 300) uid = undefined
      return response
    } finally {
      // The object stays, and later changes are others'. If it was deleted all the same, it carries the annotations.
      if (uid !== undefined) known.forgetDeletion(uid)
    }
  }

  /** Sends a deletecollection. Its objects cannot be annotated, and informers may deliver their deletions before the answer. */
  async function removeAll(request: ClientRequest, one: Write): Promise<ClientResponse> {
    const collection = attempt(() => collectionOf(one.target, request.getUrl()), undefined)
    if (collection === undefined) return sendWrite(request, one, () => undefined)
    collections.begin(collection, one.change)
    let isRefused = true
    try {
      const response = await sendWrite(request, one, () => undefined)
      isRefused = response.httpStatusCode >= 300
      return response
    } finally {
      collections.end(collection, isRefused, nowMs())
    }
  }

  function sendWrite(
    request: ClientRequest,
    one: Write,
    prepare: () => void | Promise<void>,
  ): Promise<ClientResponse> {
    const { target, begun, done, refusedAs, passedOver } = one
    let isNothing = false
    return sendInSpan({ ...one, tracer, name: nameOf(target), isNothing: () => isNothing }, async (span) => {
      attempt(begun, undefined)
      span.setAttributes({ 'http.request.method': request.getHttpMethod() })
      const plain = request.getBody()
      await attemptLater(prepare)
      // A deletion carries no annotations itself, so there is no other body to retry with.
      const { response, object } = await askOnce(request, target.verb === 'delete' ? undefined : plain)
      isNothing = response.httpStatusCode < 300 && attempt(() => isUnchanged(one, object, cpidKey), false)
      if (response.httpStatusCode >= 300)
        tellFailure(span, response.httpStatusCode, refusalIn(object), refusedAs())
      else if (isNothing) attempt(passedOver, undefined)
      else
        attempt(() => {
          span.setAttribute('http.response.status_code', response.httpStatusCode)
          tellSuccess(one, object)
          done()
        }, undefined)
      return response
    })
  }

  function tellSuccess(one: Write, object: KubernetesObject | undefined): void {
    const { target, change } = one
    const isObject = object?.metadata?.uid !== undefined
    // The answer of a subresource, such as an eviction, may not be the object.
    if (target.verb !== 'delete') {
      if (isObject && isEnded(object)) tellEnd(one, object.metadata.uid)
      else accept(one, isObject ? object : undefined)
      if (isObject) held.noteWritten(target, trimmedCopy(object))
      return
    }
    if (target.name === undefined) {
      accept(one)
      return
    }
    const uid = uidIn(object)
    held.forgetWritten(target)
    tellEnd(one, uid)
    if (uid !== undefined && target.subresource === undefined) known.noteDeletion(uid, change)
  }

  /** Reports a final deletion, which makes no version: the answer has the last version, which may be another writer's. */
  function tellEnd(one: Write, uid: string | undefined): void {
    const { namespace, name } = one.target
    accept(one)
    instrumentation.wrote({ metadata: { namespace, name, uid } }, one.target)
  }

  return {
    send(request) {
      const target = attempt(() => targetOf(request), undefined)
      if (target === undefined || target.isDryRun || isNeverTraced(target)) return promised(ask(request))
      if (target.verb === 'get') return promised(read(request, target))
      const body = objectIn(request)
      if (isDryRun(target, body)) return promised(ask(request))
      return promised((target.verb === 'delete' ? remove : write)(request, target, body))
    },
  }
}

function targetOf(request: ClientRequest): RequestTarget | undefined {
  const types = Object.entries(request.getHeaders()).filter(([name]) => name.toLowerCase() === 'content-type')
  return requestTarget(request.getHttpMethod(), request.getUrl(), types[0]?.[1])
}

/** Whether a write changed nothing: its answer is the previous version of an object that still exists. */
function isUnchanged(
  { before, held }: Write,
  answer: KubernetesObject | undefined,
  cpidKey: string,
): boolean {
  const version = answer?.metadata?.resourceVersion
  if (answer === undefined || version === undefined || isEnded(answer)) return false
  return before.includes(version) || (held !== undefined && isTheSame(held, answer, cpidKey))
}

/** Whether the effect of a patch can be compared by content: not if it writes the status or requires a version. */
function isOfContent({ verb, subresource }: RequestTarget, body: KubernetesObject | undefined): boolean {
  if (verb !== 'patch' || subresource !== undefined || body === undefined) return false
  return body.metadata?.resourceVersion === undefined && !Object.hasOwn(body, 'status')
}

/** Whether a deleted object is gone with this answer: it has no finalizers and no grace period. */
function isEnded({ metadata }: KubernetesObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = recordIn(metadata)
  if (deletionTimestamp === undefined || deletionTimestamp === null) return false
  const isHeld = Array.isArray(finalizers) && finalizers.length > 0
  return !isHeld && !(typeof deletionGracePeriodSeconds === 'number' && deletionGracePeriodSeconds > 0)
}

/** The namespace and name of an object whose body lacks them, such as a patch. */
function placeOf({ namespace, name }: RequestTarget, body: KubernetesObject | undefined): object {
  const own = body?.metadata
  return { ...(own?.namespace === undefined && { namespace }), ...(own?.name === undefined && { name }) }
}

/** Reads the object in an answer; its body can be read again afterwards. */
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

/** The reason of a refusal. For an invalid object it names only the fields, since the message contains values. */
function refusalIn(status: object | undefined): string {
  const { message, reason, details } = recordIn(status)
  const { causes } = recordIn(details)
  if (reason !== 'Invalid') return typeof message === 'string' ? shortened(message) : 'the API server refused'
  const fields = Array.isArray(causes) ? causes.map((cause) => recordIn(cause)['field']) : []
  const named = fields.filter((field) => typeof field === 'string').join(', ')
  return shortened(named === '' ? 'the object is invalid' : `the object is invalid: ${named}`)
}

/** The uid precondition of a deletion, if any. */
function uidOf(options: object | undefined): string | undefined {
  const { uid } = recordIn(recordIn(options)['preconditions'])
  return typeof uid === 'string' ? uid : undefined
}

/** The uid in the answer to a deletion, which is the object or a Status that names it. */
function uidIn(answer: KubernetesObject | undefined): string | undefined {
  const { details } = recordIn(answer)
  const uid = answer?.metadata?.uid ?? recordIn(details)['uid']
  return typeof uid === 'string' ? uid : undefined
}

/** The object in a request, or a part of one, such as a merge patch; undefined if there is none or it cannot be read. */
function objectIn(request: ClientRequest): KubernetesObject | undefined {
  const body = request.getBody()
  if (typeof body !== 'string' || !body.startsWith('{')) return undefined
  try {
    return JSON.parse(body) as KubernetesObject
  } catch {
    return undefined
  }
}

/** Whether the body of a deletion or an eviction asks for a dry run. */
function isDryRun({ verb, subresource }: RequestTarget, body: object | undefined): boolean {
  const { dryRun, deleteOptions } = recordIn(body)
  const asked = subresource === 'eviction' ? recordIn(deleteOptions)['dryRun'] : verb === 'delete' && dryRun
  return Array.isArray(asked) && asked.length > 0
}

/** Adds a trace context to the body of a request, if it has a place for annotations. */
function markBody(
  request: ClientRequest,
  target: RequestTarget,
  object: KubernetesObject | undefined,
  change: TraceContext,
  { injectIntoObject }: Instrumentation,
): void {
  // A subresource does not write the annotations of its object.
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

/** Whether a patch removes annotations, by `null` or a `$patch` directive: additions would be lost or stop the removal. */
function takesAnnotationsAway(patch: KubernetesObject): boolean {
  const { metadata } = patch
  const { annotations } = recordIn(metadata)
  const isAway = (part: unknown): boolean => part === null || recordIn(part)['$patch'] === 'delete'
  return [patch, metadata, annotations].some(isAway)
}

type RequestClass = new (url: string, method: string) => ClientRequest

/**
 * A merge patch of the annotations of the object that a request deletes. `options` is the body of the deletion, whose preconditions
 * apply to the patch too.
 */
function annotationPatch(
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

/** Changes the version precondition of a deletion to the version that the annotating patch made. */
function lockAnew(request: ClientRequest, options: object | undefined, marked: KubernetesObject): void {
  const preconditions = recordIn(recordIn(options)['preconditions'])
  const version = marked.metadata?.resourceVersion
  if (preconditions['resourceVersion'] === undefined || version === undefined) return
  request.setBody(
    JSON.stringify({ ...options, preconditions: { ...preconditions, resourceVersion: version } }),
  )
}
