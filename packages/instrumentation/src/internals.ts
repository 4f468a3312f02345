import type { Tracer } from '@opentelemetry/api'
import type { TraceContext } from './context/trace-context.ts'
import type { Instrumentation, MaybeObject } from './instrumentation.ts'
import type { KnownContexts } from './known/known-contexts.ts'
import type { Mergelog } from './merge/merge-trace-contexts.ts'
import type { MergelogDetail } from './merge/mergelog-sender.ts'
import type { KubernetesObject } from './objects/kubernetes-object.ts'
import type { ObjectType } from './objects/object-reference.ts'

/** What other parts of this package need of an instrumentation, and no controller. */
interface Internals {
  readonly known: KnownContexts
  readonly tell: (mergelog: Mergelog, detail: MergelogDetail, atMs?: number) => void
  /** Whether a change was planned here, and nothing of it was accepted so far. */
  readonly isUnreported: (change: TraceContext) => boolean
  readonly referenceTo: (object: MaybeObject, type?: ObjectType) => string | undefined
  /** What is looked at of an object, in a copy. */
  readonly trimmedCopy: (object: KubernetesObject) => KubernetesObject
  /** Says that the API server gives out an object as it is. */
  readonly acceptCarried: (object: MaybeObject) => void
  /** What an object's annotations say, whatever else is known of it. */
  readonly readCarried: (object: MaybeObject) => TraceContext | undefined
  /** The annotation of the CPID, and that of its ancestors. */
  readonly cpidKey: string
  readonly ancestorsKey: string
  readonly cluster: string
  /** That of whichever provider is registered by now, unless there is one of its own. */
  readonly tracer: () => Tracer
  readonly nowMs: () => number
}

const internals = new WeakMap<Instrumentation, Internals>()

export function shareInternals(of: Instrumentation, what: Internals): void {
  internals.set(of, what)
}

/** Throws where an instrumentation was not made by `createInstrumentation`. */
export function internalsOf(instrumentation: Instrumentation): Internals {
  const found = internals.get(instrumentation)
  if (found === undefined) throw new Error('Give an instrumentation that createInstrumentation made.')
  return found
}
