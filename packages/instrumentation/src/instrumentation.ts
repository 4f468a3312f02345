import type { LoggerProvider, TracerProvider } from '@opentelemetry/api'
import type { KubernetesMetadata, KubernetesObject } from './objects/kubernetes-object.ts'
import type { AnnotationKeys } from './objects/object-annotations.ts'
import type { ObjectType } from './objects/object-reference.ts'
import type { TraceContext } from './context/trace-context.ts'

export interface InstrumentationSettings {
  /** The most ancestors an object carries; 10 unless given. Use the same in every controller of a cluster. */
  maxAncestors?: number
  /** The most sources of one mergelog, at least 2; 1024 unless given, which is Causeway's limit. */
  maxSources?: number
  /** The annotations that carry a trace context. Use the same in every controller of a cluster. */
  annotationKeys?: Partial<AnnotationKeys>
  /** Whether a trace context keeps a link to the span that an object's `tracing.k8s.io/traceparent` names. */
  keepTraceparent?: boolean
  /** The resources of kinds whose plural cannot be guessed, such as `{ Mouse: 'mice' }`. */
  resources?: Readonly<Record<string, string>>
  /** Makes CPIDs; UUIDs of version 4 unless given. */
  newCpid?: () => string
  /** The clock for the times of mergelogs, in milliseconds since 1970. */
  nowMs?: () => number
  /**
   * The name under which Causeway watches the cluster, if it does. Changes of writers without CPIDs then get the same CPID as
   * in Causeway.
   */
  cluster?: string
  /**
   * The provider for spans; the registered one unless given. With several clusters, give each a provider whose resource has its
   * `k8s.cluster.name`.
   */
  tracerProvider?: TracerProvider
  /** The same for mergelogs. */
  loggerProvider?: LoggerProvider
}

/** Details of a mergelog besides its CPIDs. */
export interface ChangeDetail {
  /** The object that is to carry the new CPID, or a reference to it. */
  object?: KubernetesObject | string | undefined
  /** The type of that object, if it does not have it itself. */
  type?: ObjectType | undefined
  /** Why, in a few words. */
  reason?: string | undefined
}

/** Details of a deletion. */
export interface DeletionDetail extends Omit<ChangeDetail, 'object'> {
  /** The causes of the deletion; none unless given, as for a decision by a person. */
  causes?: Iterable<TraceContext | undefined> | undefined
}

/** Details of a write. */
export interface WriteDetail extends ChangeDetail {
  /** The causes of the write, including the object that it overwrites; undefined ones are ignored. */
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
 * The operations of a controller on changes (section 4.2 of the CPID paper). They do not block or throw: what fails is skipped, and
 * a mergelog that cannot be sent is counted. The functions need no `this`.
 */
export interface Instrumentation {
  /**
   * How many mergelogs neither a logger nor a sampled span took; also the metric `cpid.instrumentation.lost_mergelogs`.
   * The SDK's own metrics count what it loses later.
   */
  readonly losses: number

  /** Begins a root change, such as a person's, and sends its mergelog. */
  readonly newRoot: (detail?: ChangeDetail) => TraceContext

  /**
   * The trace context for work that follows from all of these; undefined ones are ignored. If it has a new CPID (Algorithm 1), sends its
   * mergelog at once, in several steps above `maxSources`. Without any causes it begins a root change. For a write that may be refused,
   * use `write` or `plan`.
   */
  readonly merge: (traceContexts: Iterable<TraceContext | undefined>, detail?: ChangeDetail) => TraceContext

  /**
   * The same for a write that the API server has yet to accept: the mergelog is sent by `accepted`. The same causes and object give the
   * same trace context again, so that a retry after a conflict makes no second change.
   */
  readonly plan: (causes: Iterable<TraceContext | undefined>, detail?: ChangeDetail) => TraceContext

  /**
   * Reports that the API server accepted a planned write; `written` is the returned object, if any. If that came back without the CPID, as
   * from a status subresource, this process still remembers this trace context for it.
   */
  readonly accepted: (planned: TraceContext, written?: MaybeObject, type?: ObjectType) => void

  /**
   * Does a write: plans it, calls `send` inside a span with a copy of the object that carries the change, and reports it as accepted.
   * Rejects as `send` does, with the error on the span.
   */
  readonly write: <T extends object, Written extends object>(
    object: T & Annotated,
    send: (marked: T) => Promise<Written>,
    detail: WriteDetail,
  ) => Promise<Written>

  /**
   * Begins the deletion of an object. From then on `extractFromObject` returns its trace context for this object, including the last
   * version that an informer delivers. The mergelog is sent by `accepted`.
   */
  readonly beginDeletion: (object: KubernetesObject, detail?: DeletionDetail) => TraceContext

  /**
   * The trace context of an object: the one that this process remembers for this version, else for its deletion, else the one in its
   * annotations; undefined when they have no valid one.
   */
  readonly extractFromObject: (object: MaybeObject) => TraceContext | undefined

  /**
   * A copy of the object whose annotations carry the trace context; other annotations stay. The object itself without a trace context,
   * or when its annotations would exceed the API server's limit of 256 KiB. Also works for a part of an object, such as a merge patch.
   */
  readonly injectIntoObject: <T extends object>(
    traceContext: TraceContext | undefined,
    object: T & Annotated,
  ) => T

  /**
   * Notes in `cpid.observed` of the active span that it read these objects, as the API server returned them. At most 128, each once. An
   * object that carries the change of a `plan` proves that the write was accepted, even if its answer was lost.
   */
  readonly observed: (objects: MaybeObject | readonly MaybeObject[], type?: ObjectType) => void

  /**
   * Notes in `cpid.wrote` of the active span that it wrote these objects, as the API server returned them. At most 128, each once.
   */
  readonly wrote: (objects: MaybeObject | readonly MaybeObject[], type?: ObjectType) => void
}
