import type { LinkedSpan } from '../../model/ports/query-port.ts'
import { kindOfObject, objectOfReference } from '../../model/object-reference.ts'
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
 * first, one that names no object for none. A span that stands in several traces counts once, and one that another change drives not at all. Self and waiting time
 * may be known later than what a span named.
 */
export class TimePerKind {
  readonly #kinds = new Map<string, KindTime & { names: Set<string> }>()
  readonly #counted = new Set<number>()
  readonly #awaited = new Map<number, readonly KindTime[]>()
  readonly #together = new Map<string, readonly KindTime[]>()

  add(spans: Iterable<LinkedSpan>): void {
    for (const span of spans) {
      const { row, wrote, observed, activity } = span
      if (row === undefined || !activity || wrote.length + observed.length === 0 || this.#counted.has(row))
        continue
      this.#counted.add(row)
      const isWriter = wrote.some((reference) => kindOfObject(reference) !== undefined)
      const seen = new Set<KindTime>()
      for (const reference of isWriter ? wrote : observed.slice(0, 1)) {
        const kind = kindOfObject(reference)
        if (kind === undefined) continue
        const time = this.#of(kind)
        time.names.add(objectOfReference(reference))
        if (isWriter) time.writes++
        if (seen.has(time)) continue
        seen.add(time)
        time.spans++
        time.totalNs += durationNs(span)
      }
      this.#awaited.set(row, this.#once([...seen]))
    }
  }

  /** Adds the times of spans that were added before, those of each span once. */
  addTimes(times: ReadonlyMap<LinkedSpan, SpanTimes>): void {
    for (const [{ row }, { selfNs, waitNs }] of times) {
      if (row === undefined) continue
      for (const time of this.#awaited.get(row) ?? []) {
        time.selfNs += selfNs
        time.waitNs += waitNs
      }
      this.#awaited.delete(row)
    }
  }

  /** The kinds, most time first. */
  totals(): KindTime[] {
    return [...this.#kinds.values()]
      .map(({ names, ...time }) => ({ ...time, objects: names.size }))
      .sort((a, b) => Number(b.totalNs - a.totalNs) || (a.kind < b.kind ? -1 : 1))
  }

  /** One list for all spans with the same kinds. */
  #once(kinds: readonly KindTime[]): readonly KindTime[] {
    const key = kinds.map(({ kind }) => kind).join(' ')
    const known = this.#together.get(key)
    if (known !== undefined) return known
    this.#together.set(key, kinds)
    return kinds
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
