import { trace, type Tracer } from '@opentelemetry/api'
import { CPID_OBSERVED, CPID_WROTE } from './attributes.ts'
import { attempt } from './attempt.ts'
import type {
  Annotated,
  ChangeDetail,
  Instrumentation,
  InstrumentationSettings,
  MaybeObject,
  WriteDetail,
} from './instrumentation.ts'
import { activeTraceContext } from './context/active-trace-context.ts'
import { linkFromTraceparent, TRACEPARENT_ANNOTATION } from './context/traceparent-link.ts'
import type { TraceContext } from './context/trace-context.ts'
import { KnownContexts } from './known/known-contexts.ts'
import { useContext } from './known/report-on-use.ts'
import { checkLimit, MAX_ANCESTORS, MAX_SOURCES } from './limits.ts'
import { mergeInSteps } from './merge/merge-in-steps.ts'
import { type Merged, type Mergelog, mergeTraceContexts } from './merge/merge-trace-contexts.ts'
import { type MergelogDetail, MergelogSender } from './merge/mergelog-sender.ts'
import { PlannedMerges } from './merge/planned-merges.ts'
import { trimmedCopy, type KubernetesObject } from './objects/kubernetes-object.ts'
import { noteObjects } from './objects/noted-objects.ts'
import { ANNOTATION_KEYS, readAnnotations, writeAnnotations } from './objects/object-annotations.ts'
import { kindOf, missingPart, objectReference, type ObjectType } from './objects/object-reference.ts'
import { shareInternals } from './internals.ts'
import { SCOPE } from './scope.ts'
import { soundContext, soundCpids } from './sound-input.ts'
import { warnOnce } from './warn-once.ts'
import { sendInSpan } from './writes/write-object.ts'

/** Throws a RangeError when a limit in the settings makes no sense. */
export function createInstrumentation(settings: InstrumentationSettings = {}): Instrumentation {
  const maxAncestors = checkLimit('maxAncestors', settings.maxAncestors ?? MAX_ANCESTORS, 0)
  const maxSources = checkLimit('maxSources', settings.maxSources ?? MAX_SOURCES, 2)
  const keys = { ...ANNOTATION_KEYS, ...settings.annotationKeys }
  const newCpid = soundCpids(settings.newCpid)
  const nowMs = settings.nowMs ?? Date.now
  const sender = new MergelogSender(nowMs, settings.loggerProvider)
  const tracer = (): Tracer => (settings.tracerProvider ?? trace).getTracer(SCOPE)
  const resources = new Map(Object.entries(settings.resources ?? {}))
  const known = new KnownContexts()
  const planned = new PlannedMerges(tell, nowMs)

  function referenceTo(object: MaybeObject, type: ObjectType = {}): string | undefined {
    const resource = type.resource ?? resources.get(kindOf(object, type) ?? '')
    return objectReference(object, resource === undefined ? type : { ...type, resource })
  }

  /** The version of the object that carries the new CPID is not known until it is written. */
  function mergelogDetail({ object, type, reason }: ChangeDetail): MergelogDetail {
    if (typeof object !== 'object') return { object, reason }
    const unversioned = { ...object, metadata: { ...object.metadata, resourceVersion: undefined } }
    return { object: referenceTo(unversioned, type), reason }
  }

  function tell(mergelog: Mergelog, detail: MergelogDetail, atMs?: number): void {
    for (const step of mergeInSteps(mergelog, maxSources, newCpid)) {
      sender.send(step, step.cpid === mergelog.cpid ? detail : {}, atMs)
    }
  }

  function decide(sound: readonly TraceContext[]): Merged {
    const merged = attempt(() => mergeTraceContexts(sound, { maxAncestors, newCpid }), undefined)
    return merged ?? mergeTraceContexts([], { maxAncestors, newCpid })
  }

  function merge(traceContexts: Iterable<TraceContext | undefined>, detail: ChangeDetail = {}): TraceContext {
    const { context, mergelog } = decide(soundOnes(traceContexts))
    if (mergelog !== undefined) {
      tell(
        mergelog,
        attempt(() => mergelogDetail(detail), {}),
      )
    }
    return context
  }

  function plan(causes: Iterable<TraceContext | undefined>, detail: ChangeDetail = {}): TraceContext {
    const sound = soundOnes(causes)
    const told = attempt(() => mergelogDetail(detail), {})
    return planned.plan(sound, told.object?.replace(/\?.*$/, ''), told, () => decide(sound))
  }

  function accepted(change: TraceContext, written?: MaybeObject, type?: ObjectType): void {
    attempt(() => {
      planned.accept(change.cpid)
      if (written === undefined || written === null) return
      note(CPID_WROTE, written, type)
      keepWhatWasDropped(change, written)
    }, undefined)
  }

  /** Remembers the change of a version that came back without it: writes of status and scale leave annotations unchanged. */
  function keepWhatWasDropped(change: TraceContext, written: KubernetesObject): void {
    const carried = readAnnotations(written, keys, maxAncestors)
    if (carried?.cpid === change.cpid) return
    if (!known.noteVersion(written, change)) return
    const kind = written.kind ?? 'an object'
    warnOnce(
      `${kind} came back from a write without the CPID that was given it, as from a status subresource; ` +
        'only this process knows what that version came from. To tell others, write the annotations to the object itself.',
    )
  }

  function beginDeletion(
    object: KubernetesObject,
    detail: Parameters<Instrumentation['beginDeletion']>[1] = {},
  ) {
    const causes = attempt(() => soundOnes(detail.causes ?? []), [])
    const own = causes.length === 0 ? [] : [extractFromObject(object)]
    const change = plan([...causes, ...own], { ...detail, object })
    attempt(() => {
      const uid = object.metadata?.uid
      if (uid !== undefined) known.noteDeletion(uid, change)
      else warnOnce('beginDeletion was given an object without uid, so that nobody can tell which one goes.')
    }, undefined)
    return change
  }

  function write<T extends object, Written extends object>(
    object: T & Annotated,
    send: (marked: T) => Promise<Written>,
    { causes, name = 'write', ...detail }: WriteDetail,
  ): Promise<Written> {
    const sound = soundOnes(causes)
    const change = plan(sound, { object, ...detail })
    const cause = activeTraceContext() ?? sound.at(-1)
    const refusedAs = (): TraceContext | undefined => (planned.isUnreported(change.cpid) ? cause : undefined)
    return sendInSpan({ tracer, name, change, refusedAs }, async () => {
      const written = await send(injectIntoObject<T>(change, object))
      accepted(change, written, detail.type)
      return written
    })
  }

  function extractFromObject(object: MaybeObject): TraceContext | undefined {
    return attempt(() => {
      const traceContext = useContext(known.of(object)) ?? readAnnotations(object, keys, maxAncestors)
      if (traceContext === undefined || settings.keepTraceparent !== true) return traceContext
      const link = linkFromTraceparent(object)
      return link === undefined ? traceContext : { ...traceContext, link }
    }, undefined)
  }

  function injectIntoObject<T extends object>(
    traceContext: TraceContext | undefined,
    object: T & Annotated,
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
      noteObjects(attribute, () => all.map((object) => referenceOrWarning(attribute, object, type)))
    }, undefined)
  }

  function referenceOrWarning(attribute: string, object: MaybeObject, type?: ObjectType): string | undefined {
    const reference = referenceTo(object, type)
    if (reference === undefined && object !== undefined && object !== null) {
      warnOnce(
        `an object without ${missingPart(object, type)} is not noted in ${attribute}. Items of typed lists do not say ` +
          "what they are: give their type, as in observed(items, { apiVersion: 'v1', kind: 'Pod' }), or the list itself.",
      )
    }
    return reference
  }

  /** Accepts planned writes whose answer was lost: an object that carries their CPID proves that they were accepted. */
  function acceptCarried(objects: MaybeObject | readonly MaybeObject[]): void {
    if (planned.size === 0) return
    const all = Array.isArray(objects) ? (objects as readonly MaybeObject[]) : [objects as MaybeObject]
    for (const object of all) {
      const carried = readAnnotations(object, keys, 0)
      if (carried !== undefined) planned.accept(carried.cpid)
    }
  }

  function observed(objects: MaybeObject | readonly MaybeObject[], type?: ObjectType): void {
    note(CPID_OBSERVED, objects, type)
    attempt(() => acceptCarried(objects), undefined)
  }

  function wrote(objects: MaybeObject | readonly MaybeObject[], type?: ObjectType): void {
    note(CPID_WROTE, objects, type)
    attempt(() => {
      const active = activeTraceContext()
      if (active !== undefined) planned.accept(active.cpid)
      acceptCarried(objects)
    }, undefined)
  }

  const instrumentation: Instrumentation = {
    get losses() {
      return sender.losses
    },
    newRoot: (detail) => merge([], detail),
    merge,
    plan,
    accepted,
    write,
    beginDeletion,
    extractFromObject,
    injectIntoObject,
    observed,
    wrote,
  }
  shareInternals(instrumentation, {
    known,
    tell,
    isUnreported: ({ cpid }) => planned.isUnreported(cpid),
    referenceTo,
    acceptCarried,
    trimmedCopy: (object) => trimmedCopy(object, [keys.cpid, keys.ancestors, TRACEPARENT_ANNOTATION]),
    readCarried: (object) => readAnnotations(object, keys, maxAncestors),
    cpidKey: keys.cpid,
    ancestorsKey: keys.ancestors,
    cluster: settings.cluster ?? clusterName(),
    tracer,
    nowMs,
  })
  return instrumentation
}

function soundOnes(given: Iterable<TraceContext | undefined>): TraceContext[] {
  return attempt(() => Array.from(given, soundContext), []).filter((context) => context !== undefined)
}

/** `k8s.cluster.name` of OTEL_RESOURCE_ATTRIBUTES, read as OpenTelemetry SDKs do; empty without one. */
export function clusterName(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  for (const attribute of environment['OTEL_RESOURCE_ATTRIBUTES']?.split(',') ?? []) {
    const [name = '', ...value] = attribute.split('=')
    if (name.trim() === 'k8s.cluster.name')
      return attempt(() => decodeURIComponent(value.join('=').trim()), '')
  }
  return ''
}
