import type { UnixNanos } from '../../model/clock.ts'
import type { LinkedSpan } from '../../model/ports/query-port.ts'
import { durationNs, type SpanTimes } from './span-times.ts'

const ERROR = 2

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
      if (status === ERROR) time.errors++
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
