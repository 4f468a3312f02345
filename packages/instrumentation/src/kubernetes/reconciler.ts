import { SpanStatusCode, type Span } from '@opentelemetry/api'
import { attempt } from '../attempt.ts'
import { withTraceContext } from '../context/active-trace-context.ts'
import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation, MaybeObject } from '../instrumentation.ts'
import { internalsOf } from '../internals.ts'
import { BoundedMap } from '../known/bounded-map.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import type { ObjectType } from '../objects/object-reference.ts'
import { changeAttributes } from '../telemetry/change-attributes.ts'
import { clusterOf } from './object-clusters.ts'
import { tellStatusWrite } from './status-writes.ts'
import { inWork, Work, type LastChange } from './work.ts'

const MOST_KEYS = 10_000
const MOST_WAKERS = 64

/** A reconcile of keys, for any work queue: call it with the key, as the plain function before. */
export interface Reconciler<Key extends string, Outcome> {
  (key: Key): Promise<Outcome>
  /** Says which object has a key reconciled next; whoever puts the key into the queue knows. Returns the key. */
  wokenBy: (key: Key, object: MaybeObject, type?: ObjectType) => Key
}

interface Waker {
  readonly object: KubernetesObject
  readonly type: ObjectType
}

export interface ReconcilerSettings {
  /** Whether a reconcile that wrote nothing, and did not fail, leaves a span. */
  readonly keepsIdleSpans: boolean
  /** Whether a write of a status by Kubernetes itself that woke a reconcile is told. */
  readonly tellsStatusWrites: boolean
}

/**
 * Wraps a reconcile: it is a span of the change that it writes for, else of what woke it; it fails as before. Who woke it
 * stays known while it is tried again, until somebody wakes it anew.
 */
export function tracedReconciler<Key extends string, Outcome>(
  name: string,
  reconcile: (key: Key) => Promise<Outcome>,
  instrumentation: Instrumentation,
  { keepsIdleSpans, tellsStatusWrites }: ReconcilerSettings,
): Reconciler<Key, Outcome> {
  const woken = new BoundedMap<Key, Map<string, Waker>>(MOST_KEYS)
  const earlier = new BoundedMap<Key, ReadonlyMap<string, Waker>>(MOST_KEYS)
  const last = new BoundedMap<Key, LastChange>(MOST_KEYS)

  /** Those since the last time, else those of the last time: then it is tried again. */
  function takeWakers(key: Key): readonly Waker[] {
    const wakers = woken.get(key) ?? earlier.get(key)
    woken.delete(key)
    if (wakers === undefined) return []
    earlier.set(key, wakers)
    return [...wakers.values()]
  }

  function leaveSpan(ending: Ending): void {
    end(ending)
    if (tellsStatusWrites)
      for (const { object } of ending.wakers) attempt(() => tellStatusWrite(object), undefined)
  }

  async function run(key: Key): Promise<Outcome> {
    const work = new Work(last.get(key))
    const wakers = attempt(() => takeWakers(key), [])
    for (const { object, type } of wakers)
      attempt(() => work.read(object, type, clusterOf(object) ?? instrumentation), undefined)
    const cause = work.causes().at(-1)
    return withTraceContext(cause, () =>
      internalsOf(instrumentation)
        .tracer()
        .startActiveSpan(name, async (span) => {
          work.noteReads(instrumentation)
          try {
            const outcome = await inWork(work, () => reconcile(key))
            if (work.hasWritten || keepsIdleSpans) leaveSpan({ span, work, wakers, cause, instrumentation })
            return outcome
          } catch (error) {
            span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) })
            leaveSpan({ span, work, wakers, cause, instrumentation })
            throw error
          } finally {
            const change = work.lastChange()
            if (change !== undefined) last.set(key, change)
          }
        }),
    )
  }

  return Object.assign(run, {
    wokenBy(key: Key, object: MaybeObject, type: ObjectType = {}) {
      attempt(() => {
        if (object === undefined || object === null) return
        const wakers = woken.get(key) ?? new Map<string, Waker>()
        const { uid, name = '' } = object.metadata ?? {}
        if (wakers.size < MOST_WAKERS || wakers.has(uid ?? name)) wakers.set(uid ?? name, { object, type })
        woken.set(key, wakers)
      }, undefined)
      return key
    },
  })
}

interface Ending {
  readonly span: Span
  readonly work: Work
  readonly wakers: readonly Waker[]
  readonly cause: TraceContext | undefined
  readonly instrumentation: Instrumentation
}

function end({ span, work, wakers, cause, instrumentation }: Ending): void {
  // Where it is known what woke the work, what it read beside that stands on its writes: it was not waited for.
  if (wakers.length === 0) work.noteReads(instrumentation)
  work.useCauses()
  span.setAttributes(changeAttributes(work.change ?? cause ?? work.causes()[0]))
  span.end()
}
