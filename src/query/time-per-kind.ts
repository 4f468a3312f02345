import type { LinkedSpan } from '../model/query-port.ts'
import { kindOfObject, objectOfReference } from '../model/object-reference.ts'
import { durationNs, type SpanTimes } from './span-times.ts'

export interface KindTime {
  /** `<apiVersion>/<resource>` */
  readonly kind: string
  totalNs: bigint
  selfNs: bigint
  waitNs: bigint
  spans: number
  /** How often something of the kind was written. */
  writes: number
  /** How many objects of the kind were written, or observed by spans that wrote nothing. */
  objects: number
}

/**
 * Adds up the time of received spans by the kinds they wrote; a span that wrote nothing counts for the kind it observed
 * first, one that names no object for none. A span that stands in several traces counts once.
 */
export class TimePerKind {
  readonly #kinds = new Map<string, KindTime & { names: Set<string> }>()
  readonly #counted = new Set<number>()

  add(spans: Iterable<LinkedSpan>, times: ReadonlyMap<LinkedSpan, SpanTimes>): void {
    for (const span of spans) {
      const { row, wrote, observed } = span
      if (row === undefined || wrote.length + observed.length === 0 || this.#counted.has(row)) continue
      this.#counted.add(row)
      const { selfNs = 0n, waitNs = 0n } = times.get(span) ?? {}
      const isWriter = wrote.some((reference) => kindOfObject(reference) !== undefined)
      const seen = new Set<string>()
      for (const reference of isWriter ? wrote : observed.slice(0, 1)) {
        const kind = kindOfObject(reference)
        if (kind === undefined) continue
        const time = this.#of(kind)
        time.names.add(objectOfReference(reference))
        if (isWriter) time.writes++
        if (seen.has(kind)) continue
        seen.add(kind)
        time.spans++
        time.totalNs += durationNs(span)
        time.selfNs += selfNs
        time.waitNs += waitNs
      }
    }
  }

  /** The kinds, most time first. */
  totals(): KindTime[] {
    return [...this.#kinds.values()]
      .map(({ names, ...time }) => ({ ...time, objects: names.size }))
      .sort((a, b) => Number(b.totalNs - a.totalNs) || (a.kind < b.kind ? -1 : 1))
  }

  #of(kind: string): KindTime & { names: Set<string> } {
    let time = this.#kinds.get(kind)
    if (time === undefined) {
      const nothing = { totalNs: 0n, selfNs: 0n, waitNs: 0n, spans: 0, writes: 0, objects: 0 }
      time = { kind, ...nothing, names: new Set() }
      this.#kinds.set(kind, time)
    }
    return time
  }
}
