import { AsyncLocalStorage } from 'node:async_hooks'
import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation } from '../instrumentation.ts'
import { useContext } from '../known/report-on-use.ts'
import { internalsOf } from '../internals.ts'
import { MAX_NOTED } from '../objects/noted-objects.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import type { ObjectType } from '../objects/object-reference.ts'

/** What the last change of a key is known to come from, beyond the ancestors that fit on an object. */
export interface LastChange {
  readonly context: TraceContext
  readonly causes: ReadonlySet<string>
}

/** An outcome, and what it was decided on. */
interface Plan {
  readonly change: TraceContext
  readonly causes: ReadonlySet<string>
  /** Where the mergelog goes out, also when the first that is accepted is a write in another cluster. */
  readonly by: Instrumentation
}

/** If some of what one reconcile reads were forgotten each time, there would be no end of merges: as much as that is kept always. */
const MOST_CAUSES_OF_KEY = 16_384

type Reads = ReadonlyMap<KubernetesObject, ObjectType>

/** A reconcile that is going on: what it read, in whichever cluster, is what its writes follow from. */
export class Work {
  readonly #causes = new Map<string, TraceContext>()
  /** What was followed since something came from it. */
  readonly #unused = new Set<TraceContext>()
  /** What is to be noted on a span of each cluster; no span takes more. */
  readonly #reads = new Map<Instrumentation, Map<KubernetesObject, ObjectType>>()
  #last: LastChange | undefined
  #plan: Plan | undefined
  #isOver = false
  /** The outcome of the last merge that was written for. */
  change: TraceContext | undefined
  /** How much of what the last change comes from had to go; it is named once more where it is read again. */
  forgotten = 0

  constructor(last: LastChange | undefined) {
    this.#last = last
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Notes that the work read an object of a cluster, and what that comes from. */
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
   * What a write follows from that is made now: not what the last change of this key came from, if that was read again, or what comes
   * of it.
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

  /** Something comes from all that was read so far. What another of them descends from was told by whoever wrote that. */
  useCauses(): void {
    const told = new Set([...this.#causes.values()].flatMap(({ ancestors }) => ancestors))
    for (const context of this.#unused) if (!told.has(context.cpid)) useContext(context)
    this.#unused.clear()
  }

  /** The outcome for these causes, decided once, in whichever cluster is written first. */
  planned(causes: readonly TraceContext[], by: Instrumentation, decide: () => TraceContext): Plan {
    const before = this.#plan
    if (before?.causes.size === causes.length && causes.every(({ cpid }) => before.causes.has(cpid)))
      return before
    return (this.#plan = { change: decide(), causes: new Set(causes.map(({ cpid }) => cpid)), by })
  }

  /** A write for a plan was accepted: what comes now comes from that, and what it came from is no news. */
  wrote({ change, causes }: Plan): void {
    const earlier = this.#last
    const isOfEarlier =
      earlier !== undefined && [...causes].some((cpid) => this.#isOf(cpid, earlier.context.cpid))
    const covered = new Set(isOfEarlier ? earlier.causes : [])
    for (const cpid of this.#causes.keys()) {
      // What was read again is forgotten last.
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

  /** The last change that was written for, also in an earlier reconcile, and everything that it comes from. */
  get last(): LastChange | undefined {
    return this.#last
  }

  /** Notes what was read of a cluster since the last time on the active span, which is a step in that cluster. */
  noteReads(of: Instrumentation): Reads {
    const noted: Reads = this.#reads.get(of) ?? new Map<KubernetesObject, ObjectType>()
    for (const [object, type] of noted) of.observed(object, type)
    this.#reads.delete(of)
    return noted
  }

  /** The span that these were noted on is not told: the next one has them. */
  noteAgain(reads: Reads, of: Instrumentation): void {
    const all = [...reads, ...(this.#reads.get(of) ?? [])]
    this.#reads.set(of, new Map(all.slice(0, MAX_NOTED)))
  }

  /** What was begun in it and goes on, as a timer or a watch, is no part of it. */
  end(): void {
    this.#isOver = true
    this.#reads.clear()
  }
}

const going = new AsyncLocalStorage<Work>()

/** The reconcile that is going on here, also after an `await`. */
export function currentWork(): Work | undefined {
  const work = going.getStore()
  return work?.isOver === true ? undefined : work
}

export function withWork<T>(work: Work, play: () => T): T {
  return going.run(work, play)
}
