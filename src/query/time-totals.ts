import { STATUS_ERROR } from '../model/arrivals.ts'
import { kindOfObject, objectOfReference } from '../model/kubernetes-objects.ts'
import type { LinkedSpan } from '../model/queries.ts'
import type { UnixNanos } from '../model/time-and-size.ts'
import { durationNs, type SpanTimes } from './span-tree.ts'

export interface ServiceTime {
  readonly service: string
  /** The cluster of its first span. */
  readonly cluster: string | undefined
  /** The sum of the durations of its spans; nested spans count too. */
  totalNs: bigint
  selfNs: bigint
  waitNs: bigint
  spans: number
  errors: number
  firstNs: UnixNanos
  lastNs: UnixNanos
}

/** The grouping key of a total. */
type KeyOf = (span: Pick<LinkedSpan, 'service' | 'cluster'>) => string

/** Groups by service and cluster. */
export const serviceInCluster: KeyOf = ({ service, cluster = '' }) => `${cluster} ${service}`

/** Totals the time of received spans by a key. Copies of a span count once; spans driven by another change do not count. */
export class TimePerService {
  readonly #services = new Map<string, ServiceTime>()
  readonly #counted = new Set<number>()
  readonly #keyOf: KeyOf

  constructor(keyOf: KeyOf = ({ service }) => service) {
    this.#keyOf = keyOf
  }

  /** Adds spans. `times`, if given, adds their self and waiting time. */
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

  /** The services, those with the most time first. */
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
  /** How many times objects of the kind were written. */
  writes: number
  /** How many objects of the kind were written, or observed by spans without writes. */
  objects: number
}

/**
 * Totals the time of received spans by the kinds of the objects they wrote. A span without writes counts for the kind it observed first; a
 * span without references does not count. A span with copies in several traces counts once; spans that another change drives do not count.
 * Self and waiting times may be added later than the spans.
 */
export class TimePerKind {
  readonly #kinds = new Map<string, KindTime & { names: Set<string> }>()
  readonly #counted = new Set<number>()
  readonly #kindsByRow = new Map<number, readonly KindTime[]>()
  readonly #lists = new Map<string, readonly KindTime[]>()

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
      this.#kindsByRow.set(row, this.#shared([...seen]))
    }
  }

  /** Adds the self and waiting times of spans that were added before; for each span once. */
  addTimes(times: ReadonlyMap<LinkedSpan, SpanTimes>): void {
    for (const [{ row }, { selfNs, waitNs }] of times) {
      if (row === undefined) continue
      for (const time of this.#kindsByRow.get(row) ?? []) {
        time.selfNs += selfNs
        time.waitNs += waitNs
      }
      this.#kindsByRow.delete(row)
    }
  }

  /** The kinds, those with the most time first. */
  totals(): KindTime[] {
    return [...this.#kinds.values()]
      .map(({ names, ...time }) => ({ ...time, objects: names.size }))
      .sort((a, b) => Number(b.totalNs - a.totalNs) || (a.kind < b.kind ? -1 : 1))
  }

  /** Returns one shared list for all spans with the same kinds. */
  #shared(kinds: readonly KindTime[]): readonly KindTime[] {
    const key = kinds.map(({ kind }) => kind).join(' ')
    const known = this.#lists.get(key)
    if (known !== undefined) return known
    this.#lists.set(key, kinds)
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
