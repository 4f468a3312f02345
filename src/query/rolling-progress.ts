import type { LinkedSpan } from '../model/queries.ts'
import type { TreeSpan } from './span-tree.ts'

/**
 * Controllers that go on with an owner when what it owns has come far enough: a rollout when Pods are ready. Inference says of their
 * writes that they follow from what the owner wants, which is why they were made, not when they could be.
 */
const WAITING: ReadonlySet<string> = new Set([
  'deployment-controller',
  'statefulset-controller',
  'daemon-set-controller',
])

/** What a controller of a seen write may have waited for. */
export class RollingProgress<Span extends LinkedSpan> {
  /** The writes by others to objects of an owner, in the order of their ends. */
  readonly #byOwner: Map<string, Span[]>

  constructor(tree: readonly TreeSpan<Span>[]) {
    const written = tree.map(({ span }) => span).filter(isProgress)
    this.#byOwner = Map.groupBy(written, ({ owner }) => owner ?? '')
    for (const spans of this.#byOwner.values()) spans.sort((a, b) => Number(a.endNs - b.endNs))
  }

  /**
   * Takes the last write by others to an object of the same owner that ended after `sinceNs` and before a span began. To be called for
   * later spans first: it drops the writes that ended after the span began.
   */
  takeBefore({ seen, service, owner, startNs }: Span, sinceNs: bigint): Span | undefined {
    if (seen === undefined || !WAITING.has(service) || owner === undefined) return undefined
    const spans = this.#byOwner.get(owner) ?? []
    let last = spans.pop()
    while (last !== undefined && last.endNs > startNs) last = spans.pop()
    if (last === undefined || last.endNs > sinceNs) return last
    spans.push(last)
    return undefined
  }
}

function isProgress({ seen, service, owner, row, activity }: LinkedSpan): boolean {
  return seen !== undefined && !WAITING.has(service) && Boolean(owner) && row !== undefined && activity
}
