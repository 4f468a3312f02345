import type { UnixNanos } from '../../model/clock.ts'
import type { LinkedSpan } from '../../model/ports/query-port.ts'
import { durationNs, type SpanTimes } from './span-times.ts'

const ERROR = 2

export interface ServiceTime {
  readonly service: string
  /** Durations of its spans added up: a span within another one counts too. */
  totalNs: bigint
  selfNs: bigint
  waitNs: bigint
  spans: number
  errors: number
  firstNs: UnixNanos
  lastNs: UnixNanos
}

/** Adds up the time of received spans by service, trace by trace; a span that stands in several traces counts once, and what another change drives not at all. */
export class TimePerService {
  readonly #services = new Map<string, ServiceTime>()
  readonly #counted = new Set<number>()

  /** Self and waiting time are added up where they are given. */
  add(spans: Iterable<LinkedSpan>, times?: ReadonlyMap<LinkedSpan, SpanTimes>): void {
    for (const span of spans) {
      const { row, service, startNs, endNs, status, activity } = span
      if (row === undefined || !activity || this.#counted.has(row)) continue
      this.#counted.add(row)
      const time = this.#of(service, span)
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
      (a, b) => Number(b.totalNs - a.totalNs) || (a.service < b.service ? -1 : 1),
    )
  }

  #of(service: string, { startNs, endNs }: LinkedSpan): ServiceTime {
    let time = this.#services.get(service)
    if (time === undefined) {
      const nothing = { totalNs: 0n, selfNs: 0n, waitNs: 0n, spans: 0, errors: 0 }
      time = { service, ...nothing, firstNs: startNs, lastNs: endNs }
      this.#services.set(service, time)
    }
    return time
  }
}
