import { AsyncLocalStorage } from 'node:async_hooks'
import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation } from '../instrumentation.ts'
import { internalsOf } from '../internals.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import type { ObjectType } from '../objects/object-reference.ts'

/** What the last change of a key is known to come from, beyond the ancestors that fit on an object. */
export interface LastChange {
  readonly context: TraceContext
  readonly causes: ReadonlySet<string>
}

interface Read {
  readonly object: KubernetesObject
  readonly type: ObjectType
}

/** A reconcile that is going on: what it read is what its writes follow from. */
export class Work {
  readonly #instrumentation: Instrumentation
  readonly #causes = new Map<string, TraceContext>()
  #reads: Read[] = []
  readonly #last: LastChange | undefined
  #plan: { readonly key: string; readonly change: TraceContext } | undefined
  /** The outcome of the last merge: what is written for. */
  change: TraceContext | undefined
  hasWritten = false

  constructor(instrumentation: Instrumentation, last: LastChange | undefined) {
    this.#instrumentation = instrumentation
    this.#last = last
  }

  /** Notes that the work read an object, on the span that is active then, and what that comes from. */
  read(object: KubernetesObject, type: ObjectType): void {
    this.#reads.push({ object, type })
    const { known } = internalsOf(this.#instrumentation)
    this.follow(known.of(object) ?? this.#instrumentation.extractFromObject(object))
  }

  follow(context: TraceContext | undefined): void {
    if (context !== undefined) this.#causes.set(context.cpid, context)
  }

  /** What a write follows from that is made now: not what the last change of this key, if that was read again, came from. */
  causes(): readonly TraceContext[] {
    const causes = [...this.#causes.values()]
    const last = this.#last
    if (last === undefined || !this.#causes.has(last.context.cpid)) return causes
    return causes.filter(({ cpid }) => cpid === last.context.cpid || !last.causes.has(cpid))
  }

  /** Something comes from all that was read so far. */
  useCauses(): void {
    const { known } = internalsOf(this.#instrumentation)
    for (const context of this.#causes.values()) known.use(context)
  }

  /** The outcome for these causes, decided once. */
  planned(causes: readonly (TraceContext | undefined)[], decide: () => TraceContext): TraceContext {
    const key = causes.map((cause) => cause?.cpid).join()
    if (this.#plan?.key !== key) this.#plan = { key, change: decide() }
    return this.#plan.change
  }

  /** Everything that the change comes from, for the next reconcile of the key. */
  lastChange(): LastChange | undefined {
    if (this.change === undefined || !this.hasWritten) return this.#last
    const causes = new Set(this.#causes.keys())
    if (this.#last !== undefined && causes.has(this.#last.context.cpid))
      for (const cpid of this.#last.causes) if (causes.size < MOST_CAUSES) causes.add(cpid)
    causes.delete(this.change.cpid)
    return { context: this.change, causes }
  }

  /** Notes what was read since the last time on the active span. */
  noteReads(): void {
    for (const { object, type } of this.#reads) this.#instrumentation.observed(object, type)
    this.#reads = []
  }
}

/** As many as one mergelog may have: what is forgotten is named once more. */
const MOST_CAUSES = 1_024
const going = new AsyncLocalStorage<Work>()

/** The reconcile that is going on here, also after an `await`. */
export function workHere(): Work | undefined {
  return going.getStore()
}

export function inWork<T>(work: Work, play: () => T): T {
  return going.run(work, play)
}
