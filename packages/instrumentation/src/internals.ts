import type { Tracer } from '@opentelemetry/api'
import type { TraceContext } from './context/trace-context.ts'
import type { Instrumentation, MaybeObject } from './instrumentation.ts'
import type { KnownContexts } from './known/known-contexts.ts'
import type { Mergelog } from './merge/merge-trace-contexts.ts'
import type { MergelogDetail } from './merge/mergelog-sender.ts'
import type { KubernetesObject } from './objects/kubernetes-object.ts'
import type { ObjectType } from './objects/object-reference.ts'

/** The parts of an instrumentation that only this package uses. */
interface Internals {
  readonly known: KnownContexts
  readonly tell: (mergelog: Mergelog, detail: MergelogDetail, atMs?: number) => void
  /** Whether a change was planned here and no write of it was accepted yet. */
  readonly isUnreported: (change: TraceContext) => boolean
  readonly referenceTo: (object: MaybeObject, type?: ObjectType) => string | undefined
  /** A copy of the members of an object that this package reads. */
  readonly trimmedCopy: (object: KubernetesObject) => KubernetesObject
  /** Reports that the API server returned this object. */
  readonly acceptCarried: (object: MaybeObject) => void
  /** The trace context in an object's annotations, regardless of what is remembered for it. */
  readonly readCarried: (object: MaybeObject) => TraceContext | undefined
  /** The annotation of the CPID, and that of its ancestors. */
  readonly cpidKey: string
  readonly ancestorsKey: string
  readonly cluster: string
  /** A tracer of the given provider, or else of the currently registered one. */
  readonly tracer: () => Tracer
  readonly nowMs: () => number
}

const internals = new WeakMap<Instrumentation, Internals>()

export function shareInternals(of: Instrumentation, what: Internals): void {
  internals.set(of, what)
}

/** Throws when the instrumentation was not made by `createInstrumentation`. */
export function internalsOf(instrumentation: Instrumentation): Internals {
  const found = internals.get(instrumentation)
  if (found === undefined) throw new Error('Give an instrumentation that createInstrumentation made.')
  return found
}
