import { CPID_OBSERVED, CPID_WROTE } from '../model/attributes.ts'
import { attempt } from './attempt.ts'
import type {
  ChangeDetail,
  Instrumentation,
  InstrumentationSettings,
  MaybeObject,
} from './instrumentation.ts'
import type { KubernetesObject } from './kubernetes-object.ts'
import { checkMaxAncestors, MAX_ANCESTORS } from './max-ancestors.ts'
import { mergeTraceContexts } from './merge-trace-contexts.ts'
import { MergelogSender } from './mergelog-sender.ts'
import { noteObjects } from './noted-objects.ts'
import { ANNOTATION_KEYS, readAnnotations, writeAnnotations } from './object-annotations.ts'
import { objectReference, type ObjectType } from './object-reference.ts'
import { soundContexts, soundCpids } from './sound-input.ts'
import type { TraceContext } from './trace-context.ts'
import { linkFromTraceparent } from './traceparent-link.ts'

/** Throws a RangeError when `maxAncestors` is not a whole number from 0 on. */
export function createInstrumentation(settings: InstrumentationSettings = {}): Instrumentation {
  const maxAncestors = checkMaxAncestors(settings.maxAncestors ?? MAX_ANCESTORS)
  const keys = { ...ANNOTATION_KEYS, ...settings.annotationKeys }
  const mergeSettings = { maxAncestors, newCpid: soundCpids(settings.newCpid) }
  const sender = new MergelogSender(settings.nowMs ?? Date.now)
  const resources = new Map(Object.entries(settings.resources ?? {}))

  function referenceTo(object: MaybeObject, type: ObjectType = {}): string | undefined {
    const resource = type.resource ?? resources.get(object?.kind ?? '')
    return objectReference(object, resource === undefined ? type : { ...type, resource })
  }

  function merge(traceContexts: Iterable<TraceContext | undefined>, detail: ChangeDetail = {}): TraceContext {
    const given = attempt(() => soundContexts(traceContexts), [])
    const { context, mergelog } = mergeTraceContexts(given, mergeSettings)
    if (mergelog !== undefined) {
      const { object, reason } = detail
      const reference = typeof object === 'object' ? attempt(() => referenceTo(object), undefined) : object
      sender.send(mergelog, { object: reference, reason })
    }
    return context
  }

  function extractFromObject(object: MaybeObject): TraceContext | undefined {
    return attempt(() => {
      const traceContext = readAnnotations(object, keys, maxAncestors)
      if (traceContext === undefined || settings.keepTraceparent !== true) return traceContext
      const link = linkFromTraceparent(object)
      return link === undefined ? traceContext : { ...traceContext, link }
    }, undefined)
  }

  function injectIntoObject<T extends KubernetesObject>(traceContext: TraceContext | undefined, object: T): T {
    if (traceContext === undefined) return object
    return attempt(() => writeAnnotations(traceContext, object, keys), object)
  }

  function note(
    attribute: typeof CPID_OBSERVED | typeof CPID_WROTE,
    objects: MaybeObject | readonly MaybeObject[],
    type?: ObjectType,
  ): void {
    attempt(() => {
      const all = Array.isArray(objects) ? (objects as readonly MaybeObject[]) : [objects as MaybeObject]
      noteObjects(attribute, () => all.map((object) => referenceTo(object, type)))
    }, undefined)
  }

  return {
    get losses() {
      return sender.losses
    },
    newRoot: (detail) => merge([], detail),
    merge,
    extractFromObject,
    injectIntoObject,
    observed: (objects, type) => note(CPID_OBSERVED, objects, type),
    wrote: (objects, type) => note(CPID_WROTE, objects, type),
  }
}
