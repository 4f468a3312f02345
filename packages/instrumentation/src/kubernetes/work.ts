import { AsyncLocalStorage } from 'node:async_hooks'
import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation } from '../instrumentation.ts'
import { useContext } from '../known/report-on-use.ts'
import { internalsOf } from '../internals.ts'
import { MAX_NOTED } from '../objects/noted-objects.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import type { ObjectType } from '../objects/object-reference.ts'

/** The last change of a key with its known causes, which may be more than the ancestors that fit on an object. */
export interface LastChange {
  readonly context: TraceContext
  readonly causes: ReadonlySet<string>
}

/** A planned change, and the causes that it was decided on. */
interface Plan {
  readonly change: TraceContext
  readonly causes: ReadonlySet<string>
  /** The cluster that sends the mergelog, even if the first accepted write is in another cluster. */
  readonly by: Instrumentation
}

/** The most remembered causes of a key, or as many as one reconcile reads if more: forgetting some of those would cause endless merges. */
const MOST_CAUSES_OF_KEY = 16_384

type Reads = ReadonlyMap<KubernetesObject, ObjectType>

/** A running reconcile: what it read, in any cluster, is the cause of its writes. */
export class Work {
  readonly #causes = new Map<string, TraceContext>()
  /** Causes that were not used since they were read. */
  readonly #unused = new Set<TraceContext>()
  /** The reads to be noted on the next span of each cluster, at most as many as a span takes. */
  readonly #reads = new Map<Instrumentation, Map<KubernetesObject, ObjectType>>()
  #last: LastChange | undefined
  #plan: Plan | undefined
  #isOver = false
  /** The change of the last accepted write. */
  change: TraceContext | undefined
  /** How many causes of the last change were forgotten. A forgotten cause is named again when it is read again. */
  forgotten = 0

  constructor(last: LastChange | undefined) {
    this.#last = last
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Notes that the work read an object of a cluster, and follows its change. */
  read(object: KubernetesObject, type: ObjectType, cluster: Instrumentation): void {
    const reads = this.#reads.get(cluster) ?? new Map<KubernetesObject, ObjectType>()
    if (reads.size < MAX_NOTED) this.#reads.set(cluster, reads.set(object, type))
    const { known } = internalsOf(cluster)
    this.follow(known.of(object) ?? cluster.extractFromObject(object))
  }

  follow(context: TraceContext | undefined): void {
    if (context === undefined) return
    this.#causes.set(context.cpid, context)
    this.#unused.add(context)
  }

  /**
   * The causes of a write that is made now. If the last change of this key, or a descendant, was read again, its own causes are left out.
   */
  causes(): readonly TraceContext[] {
    const causes = [...this.#causes.values()]
    const last = this.#last
    if (last === undefined) return causes
    const ofLast = new Set([...this.#causes.keys()].filter((cpid) => this.#isOf(cpid, last.context.cpid)))
    if (ofLast.size === 0) return causes
    return causes.filter(({ cpid }) => ofLast.has(cpid) || !last.causes.has(cpid))
  }

  #isOf(cause: string, change: string): boolean {
    return cause === change || this.#causes.get(cause)?.ancestors.includes(change) === true
  }

  /** Reports all unreported causes read so far as used, except ancestors of others, which their writers have reported. */
  useCauses(): void {
    const told = new Set([...this.#causes.values()].flatMap(({ ancestors }) => ancestors))
    for (const context of this.#unused) if (!told.has(context.cpid)) useContext(context)
    this.#unused.clear()
  }

  /** The plan for these causes, decided once, in the cluster that is written first. */
  planned(causes: readonly TraceContext[], by: Instrumentation, decide: () => TraceContext): Plan {
    const before = this.#plan
    if (before?.causes.size === causes.length && causes.every(({ cpid }) => before.causes.has(cpid)))
      return before
    return (this.#plan = { change: decide(), causes: new Set(causes.map(({ cpid }) => cpid)), by })
  }

  /** A write of a plan was accepted: its change is now the last one, and covers its causes. */
  wrote({ change, causes }: Plan): void {
    const earlier = this.#last
    const isOfEarlier =
      earlier !== undefined && [...causes].some((cpid) => this.#isOf(cpid, earlier.context.cpid))
    const covered = new Set(isOfEarlier ? earlier.causes : [])
    for (const cpid of this.#causes.keys()) {
      // Causes that were read again are forgotten last.
      if (covered.delete(cpid) || causes.has(cpid)) covered.add(cpid)
    }
    covered.delete(change.cpid)
    const most = Math.max(MOST_CAUSES_OF_KEY, this.#causes.size)
    for (const oldest of covered) {
      if (covered.size <= most) break
      covered.delete(oldest)
      this.forgotten++
    }
    this.#last = { context: change, causes: covered }
    this.change = change
    this.follow(change)
  }

  /** The last written change of the key, also from an earlier reconcile, with its causes. */
  get last(): LastChange | undefined {
    return this.#last
  }

  /** Notes the reads of a cluster since the last call on the active span. */
  noteReads(of: Instrumentation): Reads {
    const noted: Reads = this.#reads.get(of) ?? new Map<KubernetesObject, ObjectType>()
    for (const [object, type] of noted) of.observed(object, type)
    this.#reads.delete(of)
    return noted
  }

  /** Returns reads whose span was dropped, for the next span. */
  noteAgain(reads: Reads, of: Instrumentation): void {
    const all = [...reads, ...(this.#reads.get(of) ?? [])]
    this.#reads.set(of, new Map(all.slice(0, MAX_NOTED)))
  }

  /** Ends the work: timers and watches that it started are not part of it. */
  end(): void {
    this.#isOver = true
    this.#reads.clear()
  }
}

const going = new AsyncLocalStorage<Work>()

/** The running reconcile of this async context. */
export function currentWork(): Work | undefined {
  const work = going.getStore()
  return work?.isOver === true ? undefined : work
}

export function withWork<T>(work: Work, play: () => T): T {
  return going.run(work, play)
}
