import type { Statement } from 'better-sqlite3'
import type { LinkEvent, LinkEvents } from '../../model/ports/linking/events.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'
import type { DecisionTable } from './decision-table.ts'
import type { SqliteLogLinks } from './log-link-store.ts'
import type { SpanReader } from './span-reader.ts'

interface EventRow {
  arrival: number
  cpid: number
  kind: number
}

interface Parts {
  readonly spans: SpanReader
  readonly logs: SqliteLogLinks
  readonly outbox: DecisionTable
}

/** The line of arrivals: spans, log records and news of the merge graph, by the numbers they have in common. */
export class LinkEventQueue implements LinkEvents {
  readonly #progress: Progress
  readonly #parts: Parts
  readonly #news: Statement<[number, number], EventRow>
  readonly #drop: Statement<[number]>

  constructor(db: Sqlite, progress: Progress, parts: Parts) {
    this.#progress = progress
    this.#parts = parts
    this.#news = db.prepare(
      'SELECT arrival, cpid, kind FROM graph_events WHERE arrival > +? ORDER BY arrival LIMIT +?',
    )
    this.#drop = db.prepare('DELETE FROM graph_events WHERE arrival <= ?')
  }

  next(limit: number): LinkEvent[] {
    const { spans, logs, outbox } = this.#parts
    const after = this.#progress.linkedArrival
    const news = this.#news.all(after, limit)
    const arrived = spans.next(after, limit)
    const events: LinkEvent[] = []
    let next = 0
    const addNewsBefore = (arrival: number): void => {
      for (let one = news[next]; one !== undefined && one.arrival < arrival; one = news[++next]) {
        events.push({
          kind: one.kind === 0 ? 'mergelog' : 'explained',
          arrival: one.arrival,
          cpid: one.cpid,
        })
      }
    }
    for (const span of arrived) {
      addNewsBefore(span.row)
      events.push({ kind: 'span', arrival: span.row, span })
    }
    addNewsBefore(Infinity)
    if (events.length > limit) events.length = limit
    const all = logs.addEvents(events, after, limit)
    for (const event of all) if (event.kind === 'span') outbox.firstLinked(event.span.row)
    return all
  }

  passed(arrival: number): void {
    this.#progress.linkedArrival = arrival
  }

  passedAll(): void {
    this.#progress.linkedArrival = this.#progress.lastArrival
  }

  isLinked(arrival: number): boolean {
    return arrival <= this.#progress.linkedArrival
  }

  /** Removes the news that the linker has passed. */
  dropPassed(): void {
    this.#drop.run(this.#progress.linkedArrival)
  }
}
