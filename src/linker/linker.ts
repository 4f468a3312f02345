import { Ancestry } from '../dag/ancestry.ts'
import type { CascadeObservation } from '../model/cascade-figures.ts'
import { noLinkCounts, type LinkCounts } from '../model/link-counts.ts'
import type { MergeGraph } from '../model/ports/graph-port.ts'
import type { LinkPorts } from '../model/ports/linking/link-ports.ts'
import { EXPIRY_STAGES, lookAtDue, type ExpiryStage } from './expiry.ts'
import type { LinkerSettings } from '../model/link-settings.ts'
import type { LinkContext } from './link-context.ts'
import { takeSteps } from './take-steps.ts'

/*
 * The way of a span, from where it was stored to the outbox:
 *
 * 1. Arrivals have one number each, spans, log records and news of the merge graph alike. `link` takes the next of them
 *    (`events`), moves the linker's position past each, and makes it the first step in the queue (steps.ts). take-steps.ts is
 *    the one place that says which code does which step; steps add steps, and the queue is empty before the next arrival.
 * 2. hearing.ts. A span that was sent before goes away. One without a CPID looks for its nearest ancestor's (attribute.ts); where
 *    that has not arrived, or waits itself, it waits for its parent. A parent that does not come is missed for `wait`, and then the
 *    span goes to its original trace as it came. One that waits is waited for until it goes, for twice `wait` at most: then
 *    the topmost that waits gives up (behind/topmost-waiting.ts), and the others follow it.
 *    One that names a request, a Pod or a link joins what that is (joins/find-join.ts), and waits for it as long.
 * 3. send-or-wait.ts. With a CPID it waits (`waiting`) until all mergelogs above are there, or those that are not have been
 *    missed for `wait` (causes/waits.ts), and until what it observed has been sent by whoever wrote it (behind/awaited-writers.ts).
 * 4. send-span.ts. traces/trace-openings.ts says which traces it goes into: those of its CPID's roots, opened where there is
 *    none, divided where one is full (traces/trace-room.ts). place-span.ts finds its parent there (its own, its cause, or the
 *    change span of its CPID, which changes/change-spans.ts makes) and writes the decision to `outbox`: it is on its way.
 * 5. What waited for it becomes steps: children that take its CPID or parent, spans that observed what it wrote, log records
 *    of it. Children that went ahead are followed by it (`parents`).
 * 6. What misses nothing any more goes behind those that wait themselves (behind/wait-behind.ts), and many follow in turns
 *    (behind/follow.ts).
 *
 * What else moves spans that wait: release.ts, once a mergelog has arrived or a CPID is explained; expiry.ts, once their time
 * is up. A mergelog enters its change into the traces (changes/enter-change.ts), late ones with all that was sent already
 * (changes/late-mergelogs.ts). Traces end in traces/settling.ts. Log records take a shorter way: logs/link-log.ts.
 */

/**
 * Decides, once and in ingest order, where every span goes (docs/linking.md). Each call belongs inside one transaction of
 * the store; what it decides rests on what the same transaction writes.
 */
export class Linker {
  readonly #ctx: LinkContext

  constructor(ports: LinkPorts, graph: MergeGraph, settings: LinkerSettings) {
    const ancestry = new Ancestry(graph, settings)
    const begun = { plausible: undefined, counts: noLinkCounts(), observations: [], steps: [], followed: 0 }
    this.#ctx = { ...ports, graph, settings, ancestry, ...begun }
  }

  /** Links at most `limit` events, fewer where much has to be looked at; returns how many. */
  link(limit: number): number {
    this.#beginRound()
    const { events, steps, ancestry } = this.#ctx
    const next = events.next(limit)
    let linked = 0
    for (const event of next) {
      if (ancestry.isSpent) return linked
      linked++
      events.passed(event.arrival)
      steps.push(event)
      takeSteps(this.#ctx)
    }
    if (next.length < limit) events.passedAll()
    return next.length
  }

  /** Lets go what has waited long enough and settles what is due, at most `limit` of each; true when more may be due. */
  expire(limit: number): boolean {
    const more = EXPIRY_STAGES.map((stage) => this.expireOnly(stage, limit))
    return more.includes(true)
  }

  /** One part of that. */
  expireOnly(stage: ExpiryStage, limit: number): boolean {
    this.#beginRound()
    return lookAtDue(this.#ctx, stage, limit)
  }

  /** Gives back what undoes the counts and observations of work that is rolled back. */
  checkpoint(): () => void {
    const { observations } = this.#ctx
    const counts = { ...this.#ctx.counts }
    const seen = observations.length
    return () => {
      this.#ctx.counts = counts
      observations.length = Math.min(observations.length, seen)
    }
  }

  /** What has been done since the last call. */
  takeCounts(): LinkCounts {
    const { counts } = this.#ctx
    this.#ctx.counts = noLinkCounts()
    return counts
  }

  /** What there is to measure since the last call. */
  takeObservations(): CascadeObservation[] {
    return this.#ctx.observations.splice(0)
  }

  #beginRound(): void {
    this.#ctx.ancestry.beginRound(this.#ctx.clock.activeMs)
    this.#ctx.plausible = undefined
    // What a call that threw left undone was rolled back with it.
    this.#ctx.steps.length = 0
    this.#ctx.followed = 0
  }
}
