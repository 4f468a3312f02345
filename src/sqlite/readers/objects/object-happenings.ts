import type { Statement } from 'better-sqlite3'
import type { Sqlite } from '../../open-database.ts'
import { SPAN_REPEATED } from '../../linking/sent-once.ts'

/** So much of what spans named is looked through for what happened lately, whatever it happened to. */
const LATELY = 2_000

/** What happened to an object once. Several things of one arrival are told apart by their place. */
export interface Happening {
  arrival: bigint
  place: bigint
  action: bigint
  object: string
  version: bigint
  uid: string | null
  cpid: bigint | null
  uuid: Buffer | null
  time_ns: bigint
  service: string | null
  cluster: string | null
}

interface Bind {
  ids: string
  /** Later arrivals than this, */
  least: bigint
  /** and none later than this. */
  arrival: bigint
  most: number
}

/** The span that named it was not sent before. */
const NAMED_ONCE = `(o.span <= (SELECT linked_arrival FROM progress WHERE only = 1)
     OR NOT EXISTS (SELECT 1 FROM spans s WHERE s.id = o.span AND ${SPAN_REPEATED}))`

/** The newest `@most` things are chosen by what indexes hold; only for them is the rest looked up. */
const happenings = (spans: string): string => `WITH happened AS (
   SELECT o.span AS arrival, o.object, o.role AS action, o.version, (o.object * 2 + o.role) * 4 AS place
   FROM ${spans} AND o.span > @least AND o.span <= @arrival AND ${NAMED_ONCE}
   UNION ALL
   SELECT m.arrival, m.object_id, 2, -1, m.object_id * 8 + 1
   FROM json_each(@ids) j JOIN mergelogs m ON m.arrival IN (SELECT n.arrival FROM mergelogs n
     WHERE n.object_id = j.value AND n.arrival > @least AND n.arrival <= @arrival ORDER BY n.arrival DESC LIMIT @most)
   ORDER BY 1 DESC, 5 DESC, 4 DESC LIMIT @most)
 SELECT h.arrival, h.place, h.action, coalesce(m.object, b.object) AS object, h.version, x.uid, c.id AS cpid, c.uuid,
   coalesce(m.time_ns, CASE h.action WHEN 1 THEN s.end_ns ELSE s.start_ns END) AS time_ns, r.service, r.cluster
 FROM happened h JOIN objects b ON b.id = h.object LEFT JOIN spans s ON h.action < 2 AND s.id = h.arrival
 LEFT JOIN span_objects x ON x.span = h.arrival AND x.role = h.action AND x.object = h.object AND x.version = h.version
 LEFT JOIN mergelogs m ON h.action = 2 AND m.arrival = h.arrival
 LEFT JOIN cpids c ON c.id = coalesce(m.cpid, s.cpid)
 LEFT JOIN scopes p ON p.id = coalesce(m.scope, s.scope) LEFT JOIN resources r ON r.id = p.resource
 ORDER BY h.arrival DESC, h.place DESC, h.version DESC`

/** Back through what spans named, newest first, until there is enough: the plus keeps SQLite from the object's index. */
export const RECENT_EVENTS = happenings(
  'span_objects o WHERE +o.object IN (SELECT value FROM json_each(@ids))',
)

/** No index has an object's spans by arrival: all that named it are looked through, in an index alone. */
export const ALL_EVENTS = happenings('json_each(@ids) j JOIN span_objects o ON o.object = j.value WHERE true')

/**
 * Reads what happened to some objects in the order of arrival, newest first. What happened lately costs the same however
 * often the objects changed; where that is not enough, the cost grows with their changes.
 */
export class ObjectEvents {
  readonly #lately: Statement<[Bind], Happening>
  readonly #ever: Statement<[Bind], Happening>
  readonly #lateness: Statement<[{ arrival: bigint; lately: number }], bigint>
  readonly #namedLately: number

  constructor(db: Sqlite, namedLately = LATELY) {
    this.#lately = db.prepare<[Bind], Happening>(RECENT_EVENTS).safeIntegers()
    this.#ever = db.prepare<[Bind], Happening>(ALL_EVENTS).safeIntegers()
    this.#lateness = db
      .prepare<[{ arrival: bigint; lately: number }], bigint>(
        'SELECT span FROM span_objects WHERE span <= @arrival ORDER BY span DESC LIMIT 1 OFFSET @lately',
      )
      .pluck()
      .safeIntegers()
    this.#namedLately = namedLately
  }

  /** The newest `most` things of an arrival and those before; fewer only when there are no more. */
  upTo(arrival: bigint, ids: string, most: number): Happening[] {
    const least = this.#lateness.get({ arrival, lately: this.#namedLately }) ?? 0n
    const found = this.#lately.all({ ids, least, arrival, most })
    return found.length === most || least === 0n ? found : this.#ever.all({ ids, least: 0n, arrival, most })
  }
}
