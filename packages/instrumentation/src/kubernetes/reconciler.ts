import { metrics, SpanStatusCode, type Span } from '@opentelemetry/api'
import { attempt } from '../attempt.ts'
import { withTraceContext } from '../context/active-trace-context.ts'
import type { Instrumentation, MaybeObject } from '../instrumentation.ts'
import { internalsOf } from '../internals.ts'
import { BoundedMap } from '../known/bounded-map.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import type { ObjectType } from '../objects/object-reference.ts'
import { changeAttributes } from '../telemetry/change-attributes.ts'
import { SCOPE } from '../scope.ts'
import { endSpan, errorLine, inSpan } from '../writes/in-span.ts'
import { clusterOf } from './object-clusters.ts'
import { generationOf, isStillSet, isNotActedOn, type SetFields, setFieldsOf } from './set-fields.ts'
import { reportStatusWrite } from './status-writes.ts'
import { withWork, Work, type LastChange } from './work.ts'

const FORGOTTEN = 'cpid.instrumentation.forgotten_causes'
const MOST_KEYS = 10_000
const MOST_WAKERS = 64
/** What the last changes of all keys come from: what is forgotten is named once more. */
const MOST_CAUSES = 262_144

/** A reconcile of keys, for any work queue: call it with the key, as the plain function before. */
export interface Reconciler<Key extends string, Outcome> {
  (key: Key): Promise<Outcome>
  /** Says which object has a key reconciled next; whoever puts the key into the queue knows. Returns the key. */
  wokenBy: (key: Key, object: MaybeObject, type?: ObjectType) => Key
}

interface Waker {
  /** What is looked at of it, lest the rest be kept. */
  readonly object: KubernetesObject
  readonly type: ObjectType
  /** Undefined where no informer told of it. */
  readonly cluster: Instrumentation | undefined
  /** The object itself, where a write of its status may have to be told. */
  readonly version: object | undefined
  /** How often an author has changed what is wanted of it; undefined where it does not say. */
  readonly generation: number | undefined
  readonly cpid: string | undefined
  /** What it set, where that is known. */
  readonly set: SetFields | undefined
}

type Wakers = ReadonlyMap<string, Waker>
const NOBODY: Wakers = new Map()

interface ReconcilerSettings {
  /** Whether a reconcile that wrote nothing, and did not fail, leaves a span. */
  readonly keepsIdleSpans: boolean
  /** Whether a write of a status by Kubernetes itself that woke a reconcile is told. */
  readonly tellsStatusWrites: boolean
}

/**
 * Wraps a reconcile: it is a span of the change that it writes for, else of what woke it; it fails as before. Who woke it
 * stays known while it is tried again; once it succeeded, until somebody wakes it anew.
 */
export function tracedReconciler<Key extends string, Outcome>(
  name: string,
  reconcile: (key: Key) => Promise<Outcome>,
  instrumentation: Instrumentation,
  { keepsIdleSpans, tellsStatusWrites }: ReconcilerSettings,
): Reconciler<Key, Outcome> {
  const { trimmedCopy, tracer } = internalsOf(instrumentation)
  const woken = new BoundedMap<Key, Wakers>(MOST_KEYS)
  const earlier = new BoundedMap<Key, Wakers>(MOST_KEYS)
  const last = new BoundedMap<Key, LastChange>(MOST_CAUSES, ({ causes }) => causes.size + 1)

  /** Those since the last time, else those of the last time: then it is tried again. */
  function takeWakers(key: Key): Wakers {
    const wakers = woken.get(key) ?? earlier.get(key)
    woken.delete(key)
    if (wakers === undefined) return NOBODY
    earlier.set(key, wakers)
    return wakers
  }

  /** It has not done what it was woken for, whoever wakes it beside them now. */
  function giveBack(key: Key, wakers: Wakers): void {
    if (wakers.size === 0) return
    const all = [...new Map([...wakers, ...(woken.get(key) ?? NOBODY)])]
    woken.set(key, new Map(all.slice(-MOST_WAKERS)))
  }

  async function run(key: Key): Promise<Outcome> {
    const work = new Work(last.get(key))
    const wakers = attempt(() => takeWakers(key), NOBODY)
    for (const { object, type, cluster } of wakers.values())
      attempt(() => work.read(object, type, cluster ?? instrumentation), undefined)
    const cause = work.causes().at(-1)

    function end(span: Span): void {
      // Where it is known what woke the work, what it read beside that stands on its writes: it was not waited for.
      if (wakers.size === 0) work.noteReads(instrumentation)
      work.useCauses()
      span.setAttributes(changeAttributes(work.change ?? cause ?? work.causes()[0]))
      endSpan(span)
      for (const { version } of wakers.values())
        if (version !== undefined) attempt(() => reportStatusWrite(version), undefined)
    }

    return withTraceContext(cause, () =>
      inSpan(tracer, name, {}, async (span) => {
        work.noteReads(instrumentation)
        try {
          const outcome = await withWork(work, () => reconcile(key))
          if (work.change !== undefined || keepsIdleSpans) attempt(() => end(span), undefined)
          return outcome
        } catch (error) {
          attempt(() => {
            giveBack(key, wakers)
            span.setStatus({ code: SpanStatusCode.ERROR, message: errorLine(error) })
            end(span)
          }, undefined)
          throw error
        } finally {
          if (work.last !== undefined) last.set(key, work.last)
          countForgotten(work.forgotten)
          work.end()
        }
      }),
    )
  }

  return Object.assign(run, {
    wokenBy(key: Key, object: MaybeObject, type: ObjectType = {}) {
      attempt(() => {
        if (object === undefined || object === null) return
        const wakers = new Map(woken.get(key) ?? NOBODY)
        const { uid, name = '' } = object.metadata ?? {}
        const id = uid ?? name
        const cluster = clusterOf(object)
        const { known, readCarried, cpidKey } = internalsOf(cluster ?? instrumentation)
        const cpid = (known.of(object) ?? readCarried(object))?.cpid
        const before = wakers.get(id)
        const isOverwritten = before?.cpid !== undefined && before.cpid !== cpid
        if (isOverwritten && isNotActedOn(object, before.generation) && wakers.size < MOST_WAKERS) {
          // The newest version stays last.
          wakers.delete(id)
          wakers.set(`${id} ${before.cpid}`, before)
        }
        // An earlier version of which nothing is left is no cause.
        for (const [other, { set }] of wakers)
          if (other.startsWith(`${id} `) && set !== undefined && !isStillSet(set, object, cpidKey))
            wakers.delete(other)
        if (wakers.size < MOST_WAKERS || wakers.has(id))
          wakers.set(id, {
            object: trimmedCopy(object),
            type,
            cluster,
            version: tellsStatusWrites ? object : undefined,
            generation: generationOf(object),
            cpid,
            set: setFieldsOf(object),
          })
        woken.set(key, wakers)
      }, undefined)
      return key
    },
  })
}

function countForgotten(causes: number): void {
  if (causes === 0) return
  attempt(() => {
    const description = 'Causes of the last change of a key that were forgotten, since there were too many.'
    metrics.getMeter(SCOPE).createCounter(FORGOTTEN, { unit: '{cause}', description }).add(causes)
  }, undefined)
}
