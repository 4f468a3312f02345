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
  readonly cluster: Instrumentation
}

/** A reconcile that is going on: what it read, in whichever cluster, is what its writes follow from. */
export class Work {
  readonly #causes = new Map<string, TraceContext>()
  /** What was followed since something came from it, by whoever knows whether it is told. */
  #unused: { readonly context: TraceContext; readonly cluster: Instrumentation }[] = []
  /** Who planned a CPID: the mergelog goes out there, also when the first that is accepted is a write in another cluster. */
  readonly #planners = new Map<string, Instrumentation>()
  #reads: Read[] = []
  readonly #last: LastChange | undefined
  #plan: { readonly key: string; readonly change: TraceContext } | undefined
  /** The outcome of the last merge: what is written for. */
  change: TraceContext | undefined
  hasWritten = false

  constructor(last: LastChange | undefined) {
    this.#last = last
  }

  /** Notes that the work read an object of a cluster, and what that comes from. */
  read(object: KubernetesObject, type: ObjectType, cluster: Instrumentation): void {
    this.#reads.push({ object, type, cluster })
    const { known } = internalsOf(cluster)
    this.follow(known.of(object) ?? cluster.extractFromObject(object), cluster)
  }

  follow(context: TraceContext | undefined, cluster: Instrumentation): void {
    if (context === undefined) return
    this.#causes.set(context.cpid, context)
    this.#unused.push({ context, cluster })
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
    for (const { context, cluster } of this.#unused) internalsOf(cluster).known.use(context)
    this.#unused = []
  }

  /** The outcome for these causes, decided once, in whichever cluster is written first. */
  planned(
    causes: readonly (TraceContext | undefined)[],
    cluster: Instrumentation,
    decide: () => TraceContext,
  ): TraceContext {
    const key = causes.map((cause) => cause?.cpid).join()
    if (this.#plan?.key === key) return this.#plan.change
    const change = decide()
    this.#plan = { key, change }
    this.#planners.set(change.cpid, cluster)
    return change
  }

  /** Whether a change was planned, in whichever cluster, and nothing of it was accepted so far. */
  isUntold(change: TraceContext): boolean {
    const planner = this.#planners.get(change.cpid)
    return planner !== undefined && internalsOf(planner).isUntold(change)
  }

  /** Says that a write of a change was accepted, wherever it was planned. */
  accepted(change: TraceContext): void {
    this.#planners.get(change.cpid)?.accepted(change)
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

  /** Notes what was read of a cluster since the last time on the active span, which is a step in that cluster. */
  noteReads(of: Instrumentation): void {
    for (const { object, type, cluster } of this.#reads) if (cluster === of) of.observed(object, type)
    this.#reads = this.#reads.filter(({ cluster }) => cluster !== of)
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
