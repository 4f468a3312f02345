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
/** The most causes remembered for the last changes of all keys. A forgotten cause is named as a source again. */
const MOST_CAUSES = 262_144

/** A traced reconcile function, for any work queue; called with the key like the original. */
export interface Reconciler<Key extends string, Outcome> {
  (key: Key): Promise<Outcome>
  /** Notes the object that triggers the next reconcile of a key. Call it when the key is added to the queue. Returns the key. */
  wokenBy: (key: Key, object: MaybeObject, type?: ObjectType) => Key
}

interface Waker {
  /** A trimmed copy, to save memory. */
  readonly object: KubernetesObject
  readonly type: ObjectType
  /** Undefined if no informer delivered it. */
  readonly cluster: Instrumentation | undefined
  /** The object itself, if a write of its status may have to be reported. */
  readonly version: object | undefined
  /** Its `metadata.generation`; undefined without one. */
  readonly generation: number | undefined
  readonly cpid: string | undefined
  /** The fields that this version set, if known. */
  readonly set: SetFields | undefined
}

type Wakers = ReadonlyMap<string, Waker>
const NOBODY: Wakers = new Map()

interface ReconcilerSettings {
  /** Whether a successful reconcile without writes makes a span. */
  readonly keepsIdleSpans: boolean
  /** Whether a status write by Kubernetes itself that triggered a reconcile is reported. */
  readonly tellsStatusWrites: boolean
}

/**
 * Wraps a reconcile function in a span of the change that it writes for, or else of its trigger; errors pass through. The triggers are
 * kept for retries, and after a success until the next trigger.
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

  /** The triggers since the last reconcile, or else those of the last one, as for a retry. */
  function takeWakers(key: Key): Wakers {
    const wakers = woken.get(key) ?? earlier.get(key)
    woken.delete(key)
    if (wakers === undefined) return NOBODY
    earlier.set(key, wakers)
    return wakers
  }

  /** Returns the triggers of a failed reconcile, before newer ones. */
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
      // With known triggers, other reads are noted on the writes only: the reconcile did not wait for them.
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
        // An earlier version whose fields are all overwritten is not a cause.
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
