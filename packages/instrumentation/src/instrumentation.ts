import type { KubernetesObject } from './objects/kubernetes-object.ts'
import type { AnnotationKeys } from './objects/object-annotations.ts'
import type { ObjectType } from './objects/object-reference.ts'
import type { TraceContext } from './context/trace-context.ts'

export interface InstrumentationSettings {
  /** The most ancestors an object carries: 10 unless said otherwise. The same in every controller of a cluster. */
  maxAncestors?: number
  /** The most sources of one mergelog, from 2: 1024 unless said otherwise, which is what Causeway takes. */
  maxSources?: number
  /** The annotations that carry a trace context. The same in every controller of a cluster. */
  annotationKeys?: Partial<AnnotationKeys>
  /** Whether a trace context keeps a link to the span that an object's `tracing.k8s.io/traceparent` names. */
  keepTraceparent?: boolean
  /** The resources of kinds whose plural cannot be guessed, such as `{ Mouse: 'mice' }`. */
  resources?: Readonly<Record<string, string>>
  /** Makes CPIDs: UUIDs of version 4 unless said otherwise. */
  newCpid?: () => string
  /** The clock that mergelogs are dated by, in milliseconds since 1970. */
  nowMs?: () => number
}

/** What a mergelog tells beside its CPIDs. */
export interface ChangeDetail {
  /** The object that is to carry the new CPID, or a reference to it. */
  object?: KubernetesObject | string | undefined
  /** Why, in a few words. */
  reason?: string | undefined
}

export type MaybeObject = KubernetesObject | null | undefined

/**
 * What a controller does about changes (section 4.2 of the CPID paper). Nothing here waits or throws: what cannot be done
 * is left undone, and a mergelog that nobody takes is counted. The functions need no `this`.
 */
export interface Instrumentation {
  /**
   * How many mergelogs neither a logger nor a sampled span took; also the metric `cpid.instrumentation.lost_mergelogs`.
   * What the SDK loses after it took them, its own metrics tell.
   */
  readonly losses: number

  /** Begins a change that follows from nothing, such as an operator's, and sends its mergelog. */
  readonly newRoot: (detail?: ChangeDetail) => TraceContext

  /**
   * The trace context for a write that follows from all of these; those that are undefined count for nothing. Sends a
   * mergelog when it has a new CPID (Algorithm 1), several when that has more sources than one mergelog may. Begins a
   * change when none is left.
   */
  readonly merge: (traceContexts: Iterable<TraceContext | undefined>, detail?: ChangeDetail) => TraceContext

  /** The trace context in an object's annotations; undefined when they have none that can be read. */
  readonly extractFromObject: (object: MaybeObject) => TraceContext | undefined

  /**
   * A copy of the object whose annotations carry the trace context; every other annotation stays. The object as it is
   * when there is no trace context, or when it would grow beyond the 256 KiB of annotations that the API server takes.
   */
  readonly injectIntoObject: <T extends KubernetesObject>(
    traceContext: TraceContext | undefined,
    object: T,
  ) => T

  /** Notes on the active span, in `cpid.observed`, that it read these. At most 128 of them, each once. */
  readonly observed: (objects: MaybeObject | readonly MaybeObject[], type?: ObjectType) => void

  /**
   * Notes on the active span, in `cpid.wrote`, that it wrote these, as the API server returned them. At most 128 of them,
   * each once.
   */
  readonly wrote: (objects: MaybeObject | readonly MaybeObject[], type?: ObjectType) => void
}
