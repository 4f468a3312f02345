import type { UnixNanos } from '../model/clock.ts'
import type { LinkedSpan } from '../model/query-port.ts'

export interface ServiceTime {
  readonly service: string
  /** Durations of its spans added up: a span within another one counts too. */
  totalNs: bigint
  spans: number
  firstNs: UnixNanos
  lastNs: UnixNanos
}

/** Adds up the time of received spans by service, trace by trace; a span that stands in several traces counts once. */
export class TimePerService {
  readonly #services = new Map<string, ServiceTime>()
  readonly #counted = new Set<number>()

  add(spans: Iterable<LinkedSpan>): void {
    for (const { row, service, startNs, endNs } of spans) {
      if (row === undefined || this.#counted.has(row)) continue
      this.#counted.add(row)
      const durationNs = endNs > startNs ? endNs - startNs : 0n
      const time = this.#services.get(service)
      if (time === undefined) {
        this.#services.set(service, {
          service,
          totalNs: durationNs,
          spans: 1,
          firstNs: startNs,
          lastNs: endNs,
        })
        continue
      }
      time.totalNs += durationNs
      time.spans++
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
}
