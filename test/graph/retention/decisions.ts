import type { Statement } from 'better-sqlite3'
import { outgoingLog } from '../../../src/exporter/drain.ts'
import type { LinkedSignal } from '../../../src/model/otlp-requests.ts'
import { outgoingSpan } from '../../../src/model/otlp/outgoing-records.ts'
import { jsonOfProtobuf } from '../../../src/model/otlp/protobuf-to-json.ts'
import type { ScopeEnvelopes } from '../../../src/model/outbox.ts'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { SqliteLogOutbox, SqliteOutbox } from '../../../src/store/sqlite/outbox.ts'
import { check, same } from './faults.ts'

/** What is sent for one decision: the bytes of the span or log record, its resource and its scope. */
interface Decided {
  decision: number
  sent: string
}

/** Of a span in a trace of Causeway's, both ids in hex. */
interface Placed {
  traceId: string
  spanId: string | null
  synthetic: Buffer | null
}

const SIGNALS = ['traces', 'logs'] as const
const ALL = 1_000_000

export type ReadDecided = (position: number, most: number) => Decided[]

/**
 * What an exporter's reader gives after a position; what has no bytes any more is sent to nobody. `envelopesOf` is there
 * where what the reader remembers of resources is not to be trusted.
 */
export function readerOf(
  db: Sqlite,
  signal: LinkedSignal,
  envelopesOf?: (scope: number) => ScopeEnvelopes | undefined,
): ReadDecided {
  const spans = new SqliteOutbox(db)
  const logs = new SqliteLogOutbox(db, spans)
  const envelopes = envelopesOf ?? ((scope: number) => spans.envelopes(scope))
  const text = (bytes: Uint8Array | undefined, envelopes: ScopeEnvelopes | undefined): string => {
    if (bytes === undefined) return 'nothing'
    if (envelopes === undefined) return 'no resource'
    return [bytes, envelopes.resource, envelopes.scope]
      .map((part) => Buffer.from(part).toString('latin1'))
      .join('\n')
  }
  const most = (count: number): number => Math.min(count, ALL)
  return signal === 'traces'
    ? (position, count) =>
        spans.after(position, most(count)).map((item) => ({
          decision: item.decision,
          sent: text(outgoingSpan(item), envelopes(item.scope)),
        }))
    : (position, count) =>
        logs.after(position, most(count)).map((item) => ({
          decision: item.decision,
          sent: text(outgoingLog(item), envelopes(item.scope)),
        }))
}

/** Everything that was decided, as it was decided, and what of it force took from the exporters. */
export class Decisions {
  readonly #read: Record<LinkedSignal, ReadDecided>
  readonly #last: Statement<[], { traces: number | null; logs: number | null }>
  readonly #made: Record<LinkedSignal, Decided[]> = { traces: [], logs: [] }
  readonly #places: Statement<[number], Placed>
  readonly #placed = new Set<string>()
  readonly #excused: Record<LinkedSignal, Set<number>> = { traces: new Set(), logs: new Set() }

  constructor(db: Sqlite) {
    const stored = db.prepare<[number], ScopeEnvelopes>(
      `SELECT r.id AS resourceId, r.envelope AS resource, s.envelope AS scope
       FROM scopes s JOIN resources r ON r.id = s.resource WHERE s.id = ?`,
    )
    const read = (signal: LinkedSignal): ReadDecided => readerOf(db, signal, (scope) => stored.get(scope))
    this.#read = { traces: read('traces'), logs: read('logs') }
    this.#places = db.prepare(
      `SELECT lower(hex(t.trace_id)) AS traceId, CASE WHEN s.id IS NOT NULL THEN printf('%016x', s.span_id) END AS spanId, iif(o.span IS NULL, o.extra, NULL) AS synthetic
       FROM outbox o JOIN traces t ON t.id = o.trace LEFT JOIN spans s ON s.id = o.span WHERE o.decision > +?`,
    )
    this.#last = db.prepare(
      'SELECT (SELECT max(decision) FROM outbox) AS traces, (SELECT max(decision) FROM log_outbox) AS logs',
    )
  }

  /** Notes what was decided since the last call; throws where a span goes into a trace again, unless it can repeat. */
  note(canRepeat: (spanId: string) => boolean): void {
    const last = this.#last.get()
    for (const signal of SIGNALS) {
      const made = this.#made[signal]
      const noted = made.at(-1)?.decision ?? 0
      if ((last?.[signal] ?? 0) <= noted) continue
      const fresh = this.#read[signal](noted, ALL)
      for (const { decision, sent } of fresh) check(sent.includes('\n'), `decision ${decision} sends ${sent}`)
      made.push(...fresh)
      if (signal === 'traces') this.#notePlaces(noted, canRepeat)
    }
  }

  /** A backend keeps one of two spans with the same ids, or shows both. */
  #notePlaces(after: number, canRepeat: (spanId: string) => boolean): void {
    for (const { traceId, spanId: received, synthetic } of this.#places.all(after)) {
      const spanId = received ?? idOf(synthetic ?? Buffer.alloc(0))
      const key = `${traceId} ${spanId}`
      check(canRepeat(spanId) || !this.#placed.has(key), `span ${spanId} goes into trace ${traceId} again`)
      this.#placed.add(key)
    }
  }

  /** What was decided after a position, up to another. */
  between(signal: LinkedSignal, after: number, upTo: number): Decided[] {
    return this.#made[signal].filter(
      ({ decision }) => decision > after && decision <= upTo && !this.isExcused(signal, decision),
    )
  }

  /** Those of these spans, by their ids in hex, that no decision sent anywhere. */
  spansNotSent(ids: Iterable<string>): string[] {
    const sent = this.#made.traces.map((made) => made.sent).join('\n')
    return [...ids].filter((id) => !sent.includes(Buffer.from(id, 'hex').toString('latin1')))
  }

  isExcused(signal: LinkedSignal, decision: number): boolean {
    return this.#excused[signal].has(decision)
  }

  /** After pruning: what exporters have still to take is as it was decided, unless `forced` had to take some. */
  expectKept(signal: LinkedSignal, after: number, forced: boolean): void {
    const expected = this.between(signal, after, Infinity)
    if (expected.length === 0) return
    const there = this.#read[signal](after, ALL)
    if (forced) {
      const intact = new Map(there.map(({ decision, sent }) => [decision, sent]))
      for (const { decision, sent } of expected)
        if (intact.get(decision) !== sent) this.#excused[signal].add(decision)
    } else
      same(
        there.filter(({ decision }) => !this.isExcused(signal, decision)),
        expected,
        `pruning changed ${signal} that were not sent`,
      )
  }
}

/** The id of an encoded span, in hex. */
function idOf(span: Buffer): string {
  const { spanId } = jsonOfProtobuf('Span', span) as { spanId?: string }
  return spanId ?? ''
}
