import type { Statement } from 'better-sqlite3'
import type { Sqlite } from '../../open-database.ts'
import { SPAN_REPEATED } from '../../linking/sent-once.ts'

/** So much of what spans named is looked through for what happened lately, whatever it happened to. */
const LATELY = 2_000

/** What happened to an object once. Several things of one arrival are told apart by their place. */
export interface ObjectEventRow {
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
export const NAMED_ONCE = `(named.span <= (SELECT linked_arrival FROM progress WHERE only = 1)
     OR NOT EXISTS (SELECT 1 FROM spans s WHERE s.id = named.span AND ${SPAN_REPEATED}))`

/** The newest `@most` things are chosen by what indexes hold; only for them is the rest looked up. */
const happenings = (spans: string): string => `WITH happened AS (
   SELECT named.span AS arrival, named.object, named.role AS action, named.version,
     (named.object * 2 + named.role) * 4 AS place
   FROM ${spans} AND named.span > @least AND named.span <= @arrival AND ${NAMED_ONCE}
   UNION ALL
   SELECT mergelogs.arrival, mergelogs.object_id, 2, -1, mergelogs.object_id * 8 + 1
   FROM json_each(@ids) wanted JOIN mergelogs ON mergelogs.arrival IN (
     SELECT newest.arrival FROM mergelogs newest
     WHERE newest.object_id = wanted.value AND newest.arrival > @least AND newest.arrival <= @arrival
     ORDER BY newest.arrival DESC LIMIT @most)
   ORDER BY 1 DESC, 5 DESC, 4 DESC LIMIT @most)
 SELECT happened.arrival, happened.place, happened.action, coalesce(mergelogs.object, objects.object) AS object,
   happened.version, span_objects.uid, cpids.id AS cpid, cpids.uuid,
   coalesce(mergelogs.time_ns, CASE happened.action WHEN 1 THEN spans.end_ns ELSE spans.start_ns END) AS time_ns,
   resources.service, resources.cluster
 FROM happened JOIN objects ON objects.id = happened.object
 LEFT JOIN spans ON happened.action < 2 AND spans.id = happened.arrival
 LEFT JOIN span_objects ON span_objects.span = happened.arrival AND span_objects.role = happened.action
   AND span_objects.object = happened.object AND span_objects.version = happened.version
 LEFT JOIN mergelogs ON happened.action = 2 AND mergelogs.arrival = happened.arrival
 LEFT JOIN cpids ON cpids.id = coalesce(mergelogs.cpid, spans.cpid)
 LEFT JOIN scopes ON scopes.id = coalesce(mergelogs.scope, spans.scope)
 LEFT JOIN resources ON resources.id = scopes.resource
 ORDER BY happened.arrival DESC, happened.place DESC, happened.version DESC`

/** Back through what spans named, newest first, until there is enough: the plus keeps SQLite from the object's index. */
export const RECENT_EVENTS = happenings(
  'span_objects named WHERE +named.object IN (SELECT value FROM json_each(@ids))',
)

/** No index has an object's spans by arrival: all that named it are looked through, in an index alone. */
export const ALL_EVENTS = happenings(
  'json_each(@ids) wanted JOIN span_objects named ON named.object = wanted.value WHERE true',
)

/**
 * Reads what happened to some objects in the order of arrival, newest first. What happened lately costs the same however
 * often the objects changed; where that is not enough, the cost grows with their changes.
 */
export class ObjectEvents {
  readonly #lately: Statement<[Bind], ObjectEventRow>
  readonly #ever: Statement<[Bind], ObjectEventRow>
  readonly #lateness: Statement<[{ arrival: bigint; lately: number }], bigint>
  readonly #namedLately: number

  constructor(db: Sqlite, namedLately = LATELY) {
    this.#lately = db.prepare<[Bind], ObjectEventRow>(RECENT_EVENTS).safeIntegers()
    this.#ever = db.prepare<[Bind], ObjectEventRow>(ALL_EVENTS).safeIntegers()
    this.#lateness = db
      .prepare<[{ arrival: bigint; lately: number }], bigint>(
        'SELECT span FROM span_objects WHERE span <= @arrival ORDER BY span DESC LIMIT 1 OFFSET @lately',
      )
      .pluck()
      .safeIntegers()
    this.#namedLately = namedLately
  }

  /** The newest `most` things of an arrival and those before; fewer only when there are no more. */
  upTo(arrival: bigint, ids: string, most: number): ObjectEventRow[] {
    const least = this.#lateness.get({ arrival, lately: this.#namedLately }) ?? 0n
    const found = this.#lately.all({ ids, least, arrival, most })
    return found.length === most || least === 0n ? found : this.#ever.all({ ids, least: 0n, arrival, most })
  }
}
