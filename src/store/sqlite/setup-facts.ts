import { SPAN_MALFORMED_CPID } from '../../model/arrivals.ts'
import type {
  ClockFacts,
  ExporterFacts,
  RefusalFacts,
  SenderFacts,
  SenderFactsReader,
  SetAsideFacts,
} from '../../model/queries.ts'
import { OnConnection, type Sqlite } from './open-database.ts'

const NEWEST_SPANS = 20_000
const NEWEST_MERGELOGS = 5_000
const MS_PER_NS = 1e6

/** Reads facts that show whether senders are set up correctly. */
export class SqliteSenderFacts extends OnConnection implements SenderFactsReader {
  lastArrivalMs(): number | undefined {
    return this.column<[], number>('SELECT arrived_ms FROM requests ORDER BY id DESC LIMIT 1').get()
  }

  senders(seenBeforeMs: number): SenderFacts[] {
    return this.db
      .prepare<[number, number], SenderFacts>(
        `SELECT resources.service, count(*) AS spans,
           sum(spans.flags & ${SPAN_MALFORMED_CPID} <> 0) AS malformed,
           count(DISTINCT spans.cpid) AS cpids,
           count(DISTINCT CASE WHEN cpids.has_mergelog = 0 AND cpids.explained = 0 AND cpids.state = 0
             AND cpids.first_seen_ms < ? THEN cpids.id END) AS missing
         FROM spans JOIN scopes ON scopes.id = spans.scope JOIN resources ON resources.id = scopes.resource
         LEFT JOIN cpids ON cpids.id = spans.cpid
         WHERE spans.id > (SELECT last_arrival FROM progress) - ?
         GROUP BY resources.service ORDER BY resources.service`,
      )
      .all(seenBeforeMs, NEWEST_SPANS)
  }

  clocks(nowMs: number): ClockFacts[] {
    const clocks = new Map<string, { service: string; aheadMs: number; behindMs: number }>()
    const note = (service: string, leastDelayMs: number, mostDelayMs: number): void => {
      const known = clocks.get(service) ?? { service, aheadMs: 0, behindMs: Infinity }
      clocks.set(service, {
        service,
        aheadMs: Math.max(known.aheadMs, -mostDelayMs),
        behindMs: Math.min(known.behindMs, Math.max(leastDelayMs, 0)),
      })
    }
    for (const { service, delayMs } of this.#mergelogDelays()) note(service, delayMs, delayMs)
    const marks = this.#marks()
    for (const { service, id, end } of this.#newestSpans()) {
      const next = marks.findIndex(({ arrival }) => arrival >= id)
      const afterMs = marks[next]?.wallMs ?? nowMs
      const beforeMs = (next < 0 ? marks.at(-1) : marks[next - 1])?.wallMs ?? 0
      note(service, beforeMs - end / MS_PER_NS, afterMs - end / MS_PER_NS)
    }
    return [...clocks.values()].sort((a, b) => (a.service < b.service ? -1 : 1))
  }

  refusals(sinceMs: number): RefusalFacts[] {
    return this.db
      .prepare<[number], RefusalFacts>(
        `SELECT coalesce(resources.service, '') AS service, rejected.reason, count(*) AS count
         FROM rejected_mergelogs rejected LEFT JOIN scopes ON scopes.id = rejected.scope
         LEFT JOIN resources ON resources.id = scopes.resource
         WHERE rejected.arrived_ms >= ? GROUP BY 1, 2 ORDER BY 3 DESC, 1`,
      )
      .all(sinceMs)
  }

  rejected(sinceMs: number): { items: number; message: string } {
    const items = this.column<[number], number>(
      'SELECT coalesce(sum(rejected), 0) FROM requests WHERE arrived_ms >= ?',
    ).get(sinceMs)
    const message = this.column<[], string>(
      "SELECT message FROM requests WHERE message <> '' ORDER BY id DESC LIMIT 1",
    ).get()
    return { items: items ?? 0, message: message ?? '' }
  }

  exporters(): ExporterFacts[] {
    return this.db
      .prepare<[], ExporterFacts>(
        `SELECT name, 'traces' AS signal, last_decision - position AS waiting, refused FROM exporters, progress
         UNION ALL SELECT name, 'traces', last_decision - decision, refused FROM archives, progress
         UNION ALL SELECT name, 'logs', last_log_decision - position, refused FROM log_exporters, progress
         UNION ALL SELECT name, 'metrics', last_metric_decision - position, refused FROM metric_exporters, progress
         ORDER BY 1, 2 DESC`,
      )
      .all()
  }

  #marks(): { wallMs: number; arrival: number }[] {
    return this.db
      .prepare<[], { wallMs: number; arrival: number }>(
        `SELECT wall_ms AS wallMs, arrival FROM arrival_marks ORDER BY wall_ms DESC LIMIT 100`,
      )
      .all()
      .reverse()
  }

  #mergelogDelays(): { service: string; delayMs: number }[] {
    return this.db
      .prepare<[number], { service: string; delayMs: number }>(
        `SELECT resources.service, newest.arrived_ms - newest.time_ns / 1e6 AS delayMs
         FROM (SELECT * FROM mergelogs ORDER BY arrival DESC LIMIT ?) newest
         JOIN scopes ON scopes.id = newest.scope JOIN resources ON resources.id = scopes.resource`,
      )
      .all(NEWEST_MERGELOGS)
  }

  #newestSpans(): { service: string; id: number; end: number }[] {
    return this.db
      .prepare<[number], { service: string; id: number; end: number }>(
        `SELECT resources.service, spans.id, spans.end_ns / 1.0 AS end FROM spans
         JOIN scopes ON scopes.id = spans.scope JOIN resources ON resources.id = scopes.resource
         WHERE spans.id > (SELECT last_arrival FROM progress) - ?`,
      )
      .all(NEWEST_MERGELOGS)
  }
}

/** Reads the items that were set aside; undefined if there are none. */
export function readSetAside(db: Sqlite): SetAsideFacts | undefined {
  return db
    .prepare<[], SetAsideFacts>(
      `SELECT (SELECT count(*) FROM set_aside) AS items, time, reason FROM audit_set_aside ORDER BY time DESC LIMIT 1`,
    )
    .get()
}
