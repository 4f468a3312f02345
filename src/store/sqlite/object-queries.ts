import { CORE_API_VERSION, objectOfReference } from '../../model/kubernetes-objects.ts'
import { cpidOfBytes } from '../../model/merge-graph.ts'
import { namedObjects } from '../../model/otlp/read-stored-span.ts'
import {
  type CascadesOfCpid,
  type ObjectActivity,
  type ObjectVersionFacts,
  type Pages,
  type Position,
  textOrNone,
} from '../../model/queries.ts'
import { type SeenColumns, inferredWriteOf } from './linked-span-queries.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { SPAN_IS_REPEAT } from './repeated-records.ts'
import { SupersededVersions } from './superseded-versions.ts'

const EVENTS_A_PAGE = 200
const LAST_ARRIVAL = 2n ** 63n - 1n
const ACTIONS = ['observed', 'wrote', 'mergelog'] as const
const MERGELOG = 2n
const IN_NONE: CascadesOfCpid = { cascades: [], drivenBy: [] }

/** Reads events of objects. An event's time is the end of a span that wrote, the start of one that observed, or the time of a mergelog. */
export class ObjectFactsReader {
  readonly numbers: ObjectNumbers
  readonly #events: ObjectEvents
  readonly #cascadesOf: (cpid: number) => CascadesOfCpid

  constructor(db: Sqlite, cascadesOf: (cpid: number) => CascadesOfCpid, events = new ObjectEvents(db)) {
    this.numbers = new ObjectNumbers(db)
    this.#cascadesOf = cascadesOf
    this.#events = events
  }

  /** A position is an arrival and the index of an event within it. The first page has at most `first` items. */
  *pages(
    reference: string,
    after: Position = [],
    first = EVENTS_A_PAGE,
  ): Pages<ObjectActivity> & Generator<ObjectActivity[]> {
    const ids = yield* this.numbers.of(objectOfReference(reference))
    const wanted = JSON.stringify(ids)
    const isWanted = matchesReference(reference)
    let [arrival = LAST_ARRIVAL, skip = 0n] = after
    for (let most = Math.min(first, EVENTS_A_PAGE); ; most = EVENTS_A_PAGE) {
      const rows = this.#events.upTo(arrival, wanted, most + Number(skip))
      const fresh = rows.slice(Number(skip))
      let place = skip
      let at = arrival
      const facts = fresh.map((row) => {
        place = row.arrival === at ? place + 1n : 1n
        at = row.arrival
        return this.#factsOf(row, [at, place])
      })
      yield facts.filter(isWanted)
      if (fresh.length < most) return
      arrival = at
      skip = place
    }
  }

  #factsOf(row: ObjectEventRow, position: Position): ObjectActivity {
    return {
      position,
      object: row.action === MERGELOG ? row.object : referenceOf(row),
      action: ACTIONS[Number(row.action)] ?? 'observed',
      cpid: row.uuid === null ? undefined : cpidOfBytes(row.uuid),
      timeNs: row.time_ns,
      service: textOrNone(row.service),
      cluster: textOrNone(row.cluster),
      ...(row.cpid === null ? IN_NONE : this.#cascadesOf(Number(row.cpid))),
    }
  }
}

const VERSIONS_A_PAGE = 200
const LAST_VERSION = 2n ** 63n - 1n

interface Written {
  span: bigint
  object: bigint
  /** -1 if the span named no version. */
  version: bigint
}

interface VersionsBind {
  object: number
  version: bigint
  span: bigint
  least: bigint
  most: number
}

type Details = [
  object: string,
  uid: string | null,
  name: string,
  spanId: bigint,
  endNs: bigint,
  raw: Buffer,
  cpid: bigint | null,
  uuid: Buffer | null,
  service: string,
  cluster: string | null,
  reason: string | null,
  isRoot: bigint | null,
  ...SeenColumns,
]

/** How many ancestor spans of a write are searched for what was read for it. */
const LEVELS_ABOVE = 8

/** The ancestors of a span from the same service, nearest first. */
const ABOVE = `WITH RECURSIVE above(origin, parent_id, scope, raw, height) AS (
    SELECT origin, parent_id, scope, NULL, 0 FROM spans WHERE id = ?
    UNION ALL
    SELECT p.origin, p.parent_id, p.scope, p.raw, above.height + 1 FROM above CROSS JOIN spans p
      ON p.id = (SELECT min(f.id) FROM spans f WHERE f.origin = above.origin AND f.span_id = above.parent_id)
      JOIN scopes of_p ON of_p.id = p.scope JOIN resources resource_p ON resource_p.id = of_p.resource
      JOIN scopes of_child ON of_child.id = above.scope JOIN resources resource_child ON resource_child.id = of_child.resource
      WHERE above.parent_id <> 0 AND above.height < ${LEVELS_ABOVE} AND resource_p.service = resource_child.service)
  SELECT raw FROM above WHERE height > 0 ORDER BY height`

/** Reads who wrote which version of objects, the highest first. The cost grows with what is requested, not with what is stored. */
export class ObjectVersionsReader extends OnConnection {
  readonly #numbers: ObjectNumbers
  readonly #cascadesOf: (cpid: number) => CascadesOfCpid
  readonly #newest = this.exactRows<[VersionsBind], Written>(
    `SELECT named.span, named.object, named.version FROM span_objects named
       WHERE named.object = @object AND named.role = 1 AND named.version >= @least
         AND (named.version, named.span) <= (@version, @span) AND ${NAMING_SPAN_IS_NO_REPEAT}
       ORDER BY named.version DESC, named.span DESC LIMIT @most`,
  )
  readonly #details = this.exactRows<[Written], Details>(
    `SELECT objects.object, span_objects.uid, spans.name, spans.span_id, spans.end_ns, spans.raw, cpids.id, cpids.uuid,
         resources.service, resources.cluster, mergelogs.reason, length(mergelogs.sources) = 0 AND mergelogs.object_id = objects.id AND by.service = resources.service,
         seen_writes.user_name, seen_writes.cause, seen_writes.gap, seen_writes.missed
       FROM spans JOIN objects ON objects.id = @object
       JOIN span_objects ON span_objects.span = spans.id AND span_objects.role = 1
         AND span_objects.object = @object AND span_objects.version = @version
       JOIN scopes ON scopes.id = spans.scope JOIN resources ON resources.id = scopes.resource
       LEFT JOIN cpids ON cpids.id = spans.cpid LEFT JOIN seen_writes ON seen_writes.span = spans.id
       LEFT JOIN mergelogs ON mergelogs.cpid = spans.cpid
       LEFT JOIN scopes by_scope ON by_scope.id = mergelogs.scope LEFT JOIN resources by ON by.id = by_scope.resource
       WHERE spans.id = @span`,
  ).raw()
  readonly #above = this.column<[bigint], Buffer>(ABOVE)
  readonly #superseded: SupersededVersions

  constructor(db: Sqlite, cascadesOf: (cpid: number) => CascadesOfCpid) {
    super(db)
    this.#numbers = new ObjectNumbers(db)
    this.#cascadesOf = cascadesOf
    this.#superseded = new SupersededVersions(db)
  }

  /** A position is a version, the span that wrote it, and its object. */
  *pages(
    reference: string,
    after: Position = [],
    first = VERSIONS_A_PAGE,
  ): Pages<ObjectVersionFacts> & Generator<ObjectVersionFacts[]> {
    const ids = yield* this.#numbers.of(objectOfReference(reference))
    const isWanted = matchesReference(reference)
    const only = versionIn(reference)
    let [version = only ?? LAST_VERSION, span = LAST_VERSION, object = LAST_VERSION] = after
    for (let most = Math.min(first, VERSIONS_A_PAGE); ; most = VERSIONS_A_PAGE) {
      const found = this.#upTo(ids, { version, span, object, least: only ?? -1n, most })
      yield found.flatMap((written) => this.#factsOf(written)).filter(isWanted)
      const last = found.at(-1)
      if (last === undefined || found.length < most) return
      ;({ version, span, object } = last)
    }
  }

  #upTo(ids: readonly number[], bind: Omit<VersionsBind, 'object'> & { object: bigint }): Written[] {
    const { version, span, object, most } = bind
    return ids
      .flatMap((id) => this.#newest.all({ ...bind, object: id, most: most + 1 }))
      .filter((one) => one.version !== version || one.span !== span || one.object < object)
      .sort(highestFirst)
      .slice(0, most)
  }

  /** Empty if it was pruned meanwhile. */
  #factsOf(written: Written): ObjectVersionFacts[] {
    const row = this.#details.get(written)
    if (row === undefined) return []
    const [
      object,
      uid,
      name,
      spanId,
      timeNs,
      raw,
      cpid,
      uuid,
      service,
      cluster,
      reason,
      isRoot,
      ...inferred
    ] = row
    const { observed, changed = [] } = namedObjects(raw)
    const seen = inferredWriteOf(...inferred)
    const reference = referenceOf({ object, uid, version: written.version })
    return [
      {
        position: [written.version, written.span, written.object],
        object: reference,
        timeNs,
        name,
        spanId,
        service,
        cluster: cluster === null || cluster === '' ? undefined : cluster,
        cpid: uuid === null ? undefined : cpidOfBytes(uuid),
        ...(cpid === null ? IN_NONE : this.#cascadesOf(Number(cpid))),
        observed: observed.length > 0 || seen !== undefined ? observed : this.#observedAbove(written.span),
        changed,
        seen,
        reason: textOrNone(reason),
        begins: isRoot === 1n,
        supersededBy: this.#superseded.by(reference),
      },
    ]
  }

  /** What an ancestor span observed, such as a reconcile: instrumented controllers name it there. */
  #observedAbove(span: bigint): readonly string[] {
    for (const raw of this.#above.iterate(span)) {
      const { observed } = namedObjects(raw)
      if (observed.length > 0) return observed
    }
    return []
  }
}

function highestFirst(a: Written, b: Written): number {
  if (a.version !== b.version) return a.version > b.version ? -1 : 1
  if (a.span !== b.span) return a.span > b.span ? -1 : 1
  return Number(b.object - a.object)
}

/** How many of the newest references of spans, to any object, are searched for recent events. */
const LATELY = 2_000

/** An event of an object. `place` tells the events of one arrival apart. */
interface ObjectEventRow {
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

interface EventsBind {
  ids: string
  /** Only arrivals above this, */
  least: bigint
  /** and up to this. */
  arrival: bigint
  most: number
}

/** The span with the reference does not repeat another one. */
const NAMING_SPAN_IS_NO_REPEAT = `(named.span <= (SELECT linked_arrival FROM progress WHERE only = 1)
     OR NOT EXISTS (SELECT 1 FROM spans s WHERE s.id = named.span AND ${SPAN_IS_REPEAT}))`

/** Chooses the newest `@most` events from indexes alone, then reads further columns for these. */
const eventsSql = (spans: string): string => `WITH event AS (
   SELECT named.span AS arrival, named.object, named.role AS action, named.version,
     (named.object * 2 + named.role) * 4 AS place
   FROM ${spans} AND named.span > @least AND named.span <= @arrival AND ${NAMING_SPAN_IS_NO_REPEAT}
   UNION ALL
   SELECT mergelogs.arrival, mergelogs.object_id, 2, -1, mergelogs.object_id * 8 + 1
   FROM json_each(@ids) wanted JOIN mergelogs ON mergelogs.arrival IN (
     SELECT newest.arrival FROM mergelogs newest
     WHERE newest.object_id = wanted.value AND newest.arrival > @least AND newest.arrival <= @arrival
     ORDER BY newest.arrival DESC LIMIT @most)
   ORDER BY 1 DESC, 5 DESC, 4 DESC LIMIT @most)
 SELECT event.arrival, event.place, event.action, coalesce(mergelogs.object, objects.object) AS object,
   event.version, span_objects.uid, cpids.id AS cpid, cpids.uuid,
   coalesce(mergelogs.time_ns, CASE event.action WHEN 1 THEN spans.end_ns ELSE spans.start_ns END) AS time_ns,
   resources.service, resources.cluster
 FROM event JOIN objects ON objects.id = event.object
 LEFT JOIN spans ON event.action < 2 AND spans.id = event.arrival
 LEFT JOIN span_objects ON span_objects.span = event.arrival AND span_objects.role = event.action
   AND span_objects.object = event.object AND span_objects.version = event.version
 LEFT JOIN mergelogs ON event.action = 2 AND mergelogs.arrival = event.arrival
 LEFT JOIN cpids ON cpids.id = coalesce(mergelogs.cpid, spans.cpid)
 LEFT JOIN scopes ON scopes.id = coalesce(mergelogs.scope, spans.scope)
 LEFT JOIN resources ON resources.id = scopes.resource
 ORDER BY event.arrival DESC, event.place DESC, event.version DESC`

/** Scans the references of spans, newest first, until there are enough. The plus keeps SQLite from using the index by object. */
export const RECENT_EVENTS = eventsSql(
  'span_objects named WHERE +named.object IN (SELECT value FROM json_each(@ids))',
)

/** No index has the spans of an object by arrival, so all its references are read, but from an index alone. */
export const ALL_EVENTS = eventsSql(
  'json_each(@ids) wanted JOIN span_objects named ON named.object = wanted.value WHERE true',
)

/**
 * Reads events of objects in order of arrival, newest first. Recent events cost the same for all objects. If they are not enough, the cost
 * grows with the number of the objects' changes.
 */
export class ObjectEvents extends OnConnection {
  readonly #recent = this.exactRows<[EventsBind], ObjectEventRow>(RECENT_EVENTS)
  readonly #all = this.exactRows<[EventsBind], ObjectEventRow>(ALL_EVENTS)
  readonly #oldestRecent = this.column<[{ arrival: bigint; recent: number }], bigint>(
    'SELECT span FROM span_objects WHERE span <= @arrival ORDER BY span DESC LIMIT 1 OFFSET @recent',
  ).safeIntegers()
  readonly #recentReferences: number

  constructor(db: Sqlite, namedLately = LATELY) {
    super(db)
    this.#recentReferences = namedLately
  }

  /** The newest `most` events up to an arrival; fewer only if there are no more. */
  upTo(arrival: bigint, ids: string, most: number): ObjectEventRow[] {
    const least = this.#oldestRecent.get({ arrival, recent: this.#recentReferences }) ?? 0n
    const found = this.#recent.all({ ids, least, arrival, most })
    return found.length === most || least === 0n ? found : this.#all.all({ ids, least: 0n, arrival, most })
  }
}

/** How many objects are searched at once. */
const WINDOW = 20_000
/** The most objects that a reference may match; the newest ones are taken. */
const MOST = 1_000

interface ObjectRow {
  id: number
  object: string
}

/** Finds objects by a reference, its beginning, or a part of it. */
class ObjectNumbers extends OnConnection {
  readonly #within = this.column<[{ part: string }], number>(
    `SELECT id FROM objects WHERE object = @part OR (object > @part || '/' AND object < @part || '0')
       ORDER BY id DESC LIMIT ${MOST}`,
  )
  readonly #parts = this.db.prepare<[{ before: number; least: number; part: string }], ObjectRow>(
    `SELECT id, object FROM objects WHERE id >= @least AND id < @before
         AND instr('/' || object || '/', '/' || @part || '/') > 0 ORDER BY id DESC`,
  )
  readonly #containing = this.db.prepare<[{ before: number; least: number; pattern: string }], ObjectRow>(
    `SELECT id, object FROM objects WHERE id >= @least AND id < @before AND object LIKE @pattern ESCAPE '\\'
       ORDER BY id DESC`,
  )
  readonly #newest = this.column<[number], number | null>('SELECT max(id) FROM objects WHERE id < ?');

  /**
   * Objects that match a reference without query, the beginning of one, or a part of one, newest first. Yields an empty page after each
   * step of the search.
   */
  *of(reference: string): Generator<never[], number[]> {
    const part = reference.replace(/^\/+|\/+$/g, '')
    if (part === '') return []
    if (beginsWithKind(part)) {
      const ids = this.#within.all({ part })
      yield []
      return ids
    }
    const found: number[] = []
    for (const window of this.#windows()) {
      found.push(...this.#parts.all({ ...window, part }).map(({ id }) => id))
      yield []
      if (found.length >= MOST) break
    }
    return found.slice(0, MOST)
  }

  /** References that contain the text, ignoring the case of ASCII letters, newest first. */
  *named(text: string): Pages<string> & Generator<string[]> {
    const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
    const seen = new Set<string>()
    for (const window of this.#windows()) {
      const fresh = new Set(this.#containing.all({ ...window, pattern }).map(({ object }) => object))
      const objects = [...fresh].filter((object) => !seen.has(object))
      for (const object of objects) seen.add(object)
      yield objects
    }
  }

  *#windows(): Generator<{ least: number; before: number }> {
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const newest = this.#newest.get(before) ?? null
      if (newest === null) return
      yield { least: newest - WINDOW, before }
      before = newest - WINDOW
    }
  }
}

/** `v1/pods…` or `apps/v1/deployments…`: found by a prefix search in an index. */
function beginsWithKind(reference: string): boolean {
  const parts = reference.split('/')
  return parts.length > 1 && (CORE_API_VERSION.test(parts[0] ?? '') || CORE_API_VERSION.test(parts[1] ?? ''))
}

const INTEGER = /^\d{1,18}$/

/** A filter for events: where the reference has a uid or a version, they must have the same. */
function matchesReference(reference: string): (facts: { object: string }) => boolean {
  const wanted = [...new URLSearchParams(reference.split('?', 2)[1] ?? '')]
  return ({ object }) => {
    const has = new URLSearchParams(object.split('?', 2)[1] ?? '')
    return wanted.every(([name, value]) => has.get(name) === value)
  }
}

/** The version in a reference. */
function versionIn(reference: string): bigint | undefined {
  const version = new URLSearchParams(reference.split('?', 2)[1] ?? '').get('rv') ?? ''
  return INTEGER.test(version) ? BigInt(version) : undefined
}

/** A reference as spans write it; -1n means no version. */
function referenceOf({
  object,
  uid,
  version,
}: {
  object: string
  uid: string | null
  version: bigint
}): string {
  const values = [...(uid === null ? [] : [`uid=${uid}`]), ...(version < 0n ? [] : [`rv=${version}`])]
  return values.length === 0 ? object : `${object}?${values.join('&')}`
}
