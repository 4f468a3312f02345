import { STATUS_ERROR } from '../model/arrivals.ts'
import { kindOfObject, objectOfReference } from '../model/kubernetes-objects.ts'
import type { LinkedSpan } from '../model/queries.ts'
import type { UnixNanos } from '../model/time-and-size.ts'
import { durationNs, type SpanTimes } from './span-tree.ts'

export interface ServiceTime {
  readonly service: string
  /** That of its first span. */
  readonly cluster: string | undefined
  /** Durations of its spans added up: a span within another one counts too. */
  totalNs: bigint
  selfNs: bigint
  waitNs: bigint
  spans: number
  errors: number
  firstNs: UnixNanos
  lastNs: UnixNanos
}

/** What is added up together. */
type KeyOf = (span: Pick<LinkedSpan, 'service' | 'cluster'>) => string

/** A service in each cluster that it works in. */
export const serviceInCluster: KeyOf = ({ service, cluster = '' }) => `${cluster} ${service}`

/** Adds up the time of received spans by service, or otherwise, trace by trace; a span that stands in several traces counts once, and what another change drives not at all. */
export class TimePerService {
  readonly #services = new Map<string, ServiceTime>()
  readonly #counted = new Set<number>()
  readonly #keyOf: KeyOf

  constructor(keyOf: KeyOf = ({ service }) => service) {
    this.#keyOf = keyOf
  }

  /** Self and waiting time are added up where they are given. */
  add(spans: Iterable<LinkedSpan>, times?: ReadonlyMap<LinkedSpan, SpanTimes>): void {
    for (const span of spans) {
      const { row, startNs, endNs, status, activity } = span
      if (row === undefined || !activity || this.#counted.has(row)) continue
      this.#counted.add(row)
      const time = this.#of(span)
      const { selfNs = 0n, waitNs = 0n } = times?.get(span) ?? {}
      time.totalNs += durationNs(span)
      time.selfNs += selfNs
      time.waitNs += waitNs
      time.spans++
      if (status === STATUS_ERROR) time.errors++
      if (startNs < time.firstNs) time.firstNs = startNs
      if (endNs > time.lastNs) time.lastNs = endNs
    }
  }

  /** The services, most time first. */
  totals(): ServiceTime[] {
    return [...this.#services.values()].sort(
      (a, b) => Number(b.totalNs - a.totalNs) || (this.#keyOf(a) < this.#keyOf(b) ? -1 : 1),
    )
  }

  #of(span: LinkedSpan): ServiceTime {
    const key = this.#keyOf(span)
    let time = this.#services.get(key)
    if (time === undefined) {
      const { service, cluster, startNs, endNs } = span
      const nothing = { totalNs: 0n, selfNs: 0n, waitNs: 0n, spans: 0, errors: 0 }
      time = { service, cluster, ...nothing, firstNs: startNs, lastNs: endNs }
      this.#services.set(key, time)
    }
    return time
  }
}

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
