import { CPID_OBSERVED, CPID_WROTE } from './attributes.ts'
import { attempt } from './attempt.ts'
import type {
  ChangeDetail,
  Instrumentation,
  InstrumentationSettings,
  MaybeObject,
} from './instrumentation.ts'
import type { KubernetesObject } from './objects/kubernetes-object.ts'
import { checkLimit, MAX_ANCESTORS, MAX_SOURCES } from './limits.ts'
import { mergeInSteps } from './merge/merge-in-steps.ts'
import { mergeTraceContexts } from './merge/merge-trace-contexts.ts'
import { MergelogSender, type MergelogDetail } from './merge/mergelog-sender.ts'
import { noteObjects } from './objects/noted-objects.ts'
import { ANNOTATION_KEYS, readAnnotations, writeAnnotations } from './objects/object-annotations.ts'
import { objectReference, type ObjectType } from './objects/object-reference.ts'
import { soundContext, soundCpids } from './sound-input.ts'
import type { TraceContext } from './context/trace-context.ts'
import { linkFromTraceparent } from './context/traceparent-link.ts'

/** Throws a RangeError when a limit in the settings makes no sense. */
export function createInstrumentation(settings: InstrumentationSettings = {}): Instrumentation {
  const maxAncestors = checkLimit('maxAncestors', settings.maxAncestors ?? MAX_ANCESTORS, 0)
  const maxSources = checkLimit('maxSources', settings.maxSources ?? MAX_SOURCES, 2)
  const keys = { ...ANNOTATION_KEYS, ...settings.annotationKeys }
  const newCpid = soundCpids(settings.newCpid)
  const sender = new MergelogSender(settings.nowMs ?? Date.now)
  const resources = new Map(Object.entries(settings.resources ?? {}))

  function referenceTo(object: MaybeObject, type: ObjectType = {}): string | undefined {
    const resource = type.resource ?? resources.get(object?.kind ?? '')
    return objectReference(object, resource === undefined ? type : { ...type, resource })
  }

  /** The version of the object that carries the new CPID is not known until it is written. */
  function mergelogDetail({ object, reason }: ChangeDetail): MergelogDetail {
    if (typeof object !== 'object') return { object, reason }
    const unversioned = { ...object, metadata: { ...object.metadata, resourceVersion: undefined } }
    return { object: referenceTo(unversioned), reason }
  }

  function merge(traceContexts: Iterable<TraceContext | undefined>, detail: ChangeDetail = {}): TraceContext {
    const given = attempt(() => Array.from(traceContexts, soundContext), [])
    const sound = given.filter((context) => context !== undefined)
    const merged = attempt(() => mergeTraceContexts(sound, { maxAncestors, newCpid }), undefined)
    const { context, mergelog } = merged ?? mergeTraceContexts([], { maxAncestors, newCpid })
    if (mergelog === undefined) return context
    const told = attempt(() => mergelogDetail(detail), {})
    for (const step of mergeInSteps(mergelog, maxSources, newCpid)) {
      sender.send(step, step.cpid === context.cpid ? told : {})
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

  function injectIntoObject<T extends KubernetesObject>(
    traceContext: TraceContext | undefined,
    object: T,
  ): T {
    return attempt(() => {
      const sound = soundContext(traceContext)
      return sound === undefined ? object : writeAnnotations(sound, object, keys, maxAncestors)
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
