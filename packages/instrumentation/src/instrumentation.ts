import type { LoggerProvider, TracerProvider } from '@opentelemetry/api'
import type { KubernetesMetadata, KubernetesObject } from './objects/kubernetes-object.ts'
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
  /**
   * The name under which Causeway watches the cluster, if it does. What a writer without CPID did then gets the CPID that
   * Causeway itself gives it.
   */
  cluster?: string
  /**
   * Where spans go, and with which resource; whatever is registered unless given. Who works with several clusters gives each a
   * provider whose resource has its `k8s.cluster.name`.
   */
  tracerProvider?: TracerProvider
  /** The same for mergelogs. */
  loggerProvider?: LoggerProvider
}

/** What a mergelog tells beside its CPIDs. */
export interface ChangeDetail {
  /** The object that is to carry the new CPID, or a reference to it. */
  object?: KubernetesObject | string | undefined
  /** What that object does not say about itself. */
  type?: ObjectType | undefined
  /** Why, in a few words. */
  reason?: string | undefined
}

/** What is told of a deletion. */
export interface DeletionDetail extends Omit<ChangeDetail, 'object'> {
  /** What the deletion follows from; nothing unless given, as when somebody decided on it. */
  causes?: Iterable<TraceContext | undefined> | undefined
}

/** What is told of a write. */
export interface WriteDetail extends ChangeDetail {
  /** What the write follows from, the object that it overwrites included; those that are undefined count for nothing. */
  causes: Iterable<TraceContext | undefined>
  /** The name of the span: `write` unless given. */
  name?: string | undefined
}

/** An object, or part of one, with a place for annotations. */
export interface Annotated {
  readonly metadata?: KubernetesMetadata | undefined
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
   * The trace context for what follows from all of these; those that are undefined count for nothing. Sends a mergelog
   * at once when it has a new CPID (Algorithm 1), several when that has more sources than one mergelog may. Begins a change
   * when none is left. For a write that may be refused there are `write` and `plan`.
   */
  readonly merge: (traceContexts: Iterable<TraceContext | undefined>, detail?: ChangeDetail) => TraceContext

  /**
   * The same for a write that the API server has still to accept: the mergelog goes out with `accepted`. The same causes
   * and object give the same trace context again, so that a write tried again after a conflict makes no second one.
   */
  readonly plan: (causes: Iterable<TraceContext | undefined>, detail?: ChangeDetail) => TraceContext

  /**
   * Says that the API server accepted a write that was planned, and what it returned, if that is the object. Where the object
   * came back without the CPID, as from a status subresource, it has this trace context all the same, in this process.
   */
  readonly accepted: (planned: TraceContext, written?: MaybeObject, type?: ObjectType) => void

  /**
   * Does a write: plans it, hands `send` a copy of the object that carries the outcome, inside a span of it, and says that
   * it was accepted. Rejects with what `send` rejects with, which the span then tells.
   */
  readonly write: <T extends object, Written extends object>(
    object: T & Annotated,
    send: (marked: T) => Promise<Written>,
    detail: WriteDetail,
  ) => Promise<Written>

  /**
   * Begins the deletion of an object. From then on `extractFromObject` gives its trace context for this object, and for what
   * its informer tells last of it. A mergelog goes out with `accepted`.
   */
  readonly beginDeletion: (object: KubernetesObject, detail?: DeletionDetail) => TraceContext

  /**
   * The trace context of an object: what this process knows of this version, else of its deletion, else what its annotations
   * say; undefined when they have none that can be read.
   */
  readonly extractFromObject: (object: MaybeObject) => TraceContext | undefined

  /**
   * A copy of the object whose annotations carry the trace context; every other annotation stays. The object as it is
   * when there is no trace context, or when it would grow beyond the 256 KiB of annotations that the API server takes. Part
   * of an object, such as a merge patch, is as good.
   */
  readonly injectIntoObject: <T extends object>(
    traceContext: TraceContext | undefined,
    object: T & Annotated,
  ) => T

  /**
   * Notes on the active span, in `cpid.observed`, that it read these, as the API server has them. At most 128 of them, each
   * once. Where one carries the outcome of a `plan`, the write was accepted, whether its answer came or not.
   */
  readonly observed: (objects: MaybeObject | readonly MaybeObject[], type?: ObjectType) => void

  /**
   * Notes on the active span, in `cpid.wrote`, that it wrote these, as the API server returned them. At most 128 of them,
   * each once.
   */
  readonly wrote: (objects: MaybeObject | readonly MaybeObject[], type?: ObjectType) => void
}
