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
import { MergelogSender, type MergelogDetail } from './mergelog-sender.ts'
import { noteObjects } from './noted-objects.ts'
import { ANNOTATION_KEYS, readAnnotations, writeAnnotations } from './object-annotations.ts'
import { objectReference, type ObjectType } from './object-reference.ts'
import { soundContext, soundCpids } from './sound-input.ts'
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

  function mergelogDetail({ object, reason }: ChangeDetail): MergelogDetail {
    return { object: typeof object === 'object' ? referenceTo(object) : object, reason }
  }

  function merge(traceContexts: Iterable<TraceContext | undefined>, detail: ChangeDetail = {}): TraceContext {
    const given = attempt(() => Array.from(traceContexts, soundContext), [])
    const sound = given.filter((context) => context !== undefined)
    const { context, mergelog } = mergeTraceContexts(sound, mergeSettings)
    if (mergelog !== undefined)
      sender.send(
        mergelog,
        attempt(() => mergelogDetail(detail), {}),
      )
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

  function injectIntoObject<T extends KubernetesObject>(
    traceContext: TraceContext | undefined,
    object: T,
  ): T {
    return attempt(() => {
      const sound = soundContext(traceContext)
      return sound === undefined ? object : writeAnnotations(sound, object, keys)
    }, object)
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
