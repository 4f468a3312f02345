import { createHash } from 'node:crypto'
import { BoundedMap } from '../known/bounded-map.ts'
import type { TraceContext } from '../context/trace-context.ts'
import type { Merged, Mergelog } from './merge-trace-contexts.ts'
import type { MergelogDetail } from './mergelog-sender.ts'

/** How many planned changes are kept for retries. */
const MOST_OUTCOMES = 4_096
/** The most sources of all unreported mergelogs, each counted with one more: enough for some 100,000 writes in flight. */
const MOST_UNREPORTED = 262_144
/** Longer keys are replaced by digests. */
const LONGEST_KEY = 256

interface Unreported {
  readonly mergelog: Mergelog
  readonly detail: MergelogDetail
  /** When it was last decided on, in milliseconds since 1970. */
  readonly atMs: number
  readonly key: string
}

/** Sends a mergelog that was decided at `atMs`. */
type Tell = (mergelog: Mergelog, detail: MergelogDetail, atMs: number) => void

/**
 * Merges for writes that the API server has yet to accept. The same causes and object give the same change, so that a retry makes no
 * second one. The mergelog is sent when the first write is accepted.
 */
export class PlannedMerges {
  readonly #outcomes = new BoundedMap<string, TraceContext>(MOST_OUTCOMES)
  readonly #unreported = new BoundedMap<string, Unreported>(
    MOST_UNREPORTED,
    ({ mergelog }) => mergelog.sources.length + 1,
  )
  readonly #tell: Tell
  readonly #nowMs: () => number

  constructor(tell: Tell, nowMs: () => number) {
    this.#tell = tell
    this.#nowMs = nowMs
  }

  /** How many mergelogs wait for their write to be accepted. */
  get size(): number {
    return this.#unreported.size
  }

  plan(
    causes: readonly TraceContext[],
    target: string | undefined,
    detail: MergelogDetail,
    merge: () => Merged,
  ): TraceContext {
    const key = keyOf(causes, target)
    const isKept = target !== undefined || causes.length > 0
    const earlier = isKept ? this.#outcomes.get(key) : undefined
    if (earlier !== undefined) return this.#again(earlier)
    const { context, mergelog } = merge()
    if (mergelog === undefined) return context
    if (isKept) this.#outcomes.set(key, context)
    this.#unreported.set(context.cpid, { mergelog, detail, atMs: this.#nowMs(), key })
    return context
  }

  /** Whether a CPID was planned and no write of it was accepted yet. */
  isUnreported(cpid: string): boolean {
    return this.#unreported.get(cpid) !== undefined
  }

  /** Sends the mergelog of a CPID whose write was accepted, unless it has none or was sent. */
  accept(cpid: string): void {
    const unreported = this.#unreported.get(cpid)
    if (unreported === undefined) return
    this.#unreported.delete(cpid)
    // A root change is used once: the next write of the object begins another.
    if (unreported.mergelog.sources.length === 0) this.#outcomes.delete(unreported.key)
    this.#tell(unreported.mergelog, unreported.detail, unreported.atMs)
  }

  #again(context: TraceContext): TraceContext {
    const unreported = this.#unreported.get(context.cpid)
    if (unreported !== undefined) this.#unreported.set(context.cpid, { ...unreported, atMs: this.#nowMs() })
    return context
  }
}

function keyOf(causes: readonly TraceContext[], target = ''): string {
  const cpids = causes.map(({ cpid }) => cpid).sort()
  const key = `${cpids.join()} ${target}`
  return key.length <= LONGEST_KEY ? key : createHash('sha256').update(key).digest('base64')
}
