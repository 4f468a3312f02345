import type { Statement } from 'better-sqlite3'
import { cpidOfBytes, type Cpid } from '../../../model/cpid.ts'
import type { Pages, Position } from '../../../model/ports/query-port.ts'
import type { ObjectVersionFacts } from '../../../model/ports/object-history.ts'
import { namedObjects } from '../../../otlp/read/named-objects.ts'
import type { Sqlite } from '../../open-database.ts'
import { seenWriteOf, type SeenColumns } from '../seen-write-row.ts'
import { NAMED_ONCE } from './object-event-rows.ts'
import { ObjectNumbers } from './object-numbers.ts'
import { matcher, referenceOf, versionIn } from './wanted-object.ts'

const PAGE = 200
const LAST = 2n ** 63n - 1n

interface Written {
  span: bigint
  object: bigint
  /** -1 where the span gave none. */
  version: bigint
}

interface Bind {
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
  ...SeenColumns,
]

/** Reads who wrote which version of objects, the highest version first. The cost grows with what is asked for, not with what was written. */
export class ObjectVersionsReader {
  readonly #numbers: ObjectNumbers
  readonly #cascadesOf: (cpid: number) => readonly Cpid[]
  readonly #newest: Statement<[Bind], Written>
  readonly #details: Statement<[Written], Details>

  constructor(db: Sqlite, cascadesOf: (cpid: number) => readonly Cpid[]) {
    this.#numbers = new ObjectNumbers(db)
    this.#cascadesOf = cascadesOf
    this.#newest = db
      .prepare<[Bind], Written>(
        `SELECT named.span, named.object, named.version FROM span_objects named
         WHERE named.object = @object AND named.role = 1 AND named.version >= @least
           AND (named.version, named.span) <= (@version, @span) AND ${NAMED_ONCE}
         ORDER BY named.version DESC, named.span DESC LIMIT @most`,
      )
      .safeIntegers()
    this.#details = db
      .prepare<[Written], Details>(
        `SELECT objects.object, span_objects.uid, spans.name, spans.span_id, spans.end_ns, spans.raw, cpids.id, cpids.uuid,
           resources.service, resources.cluster, seen_writes.user_name, seen_writes.cause, seen_writes.gap
         FROM spans JOIN objects ON objects.id = @object
         JOIN span_objects ON span_objects.span = spans.id AND span_objects.role = 1
           AND span_objects.object = @object AND span_objects.version = @version
         JOIN scopes ON scopes.id = spans.scope JOIN resources ON resources.id = scopes.resource
         LEFT JOIN cpids ON cpids.id = spans.cpid LEFT JOIN seen_writes ON seen_writes.span = spans.id
         WHERE spans.id = @span`,
      )
      .raw()
      .safeIntegers()
  }

  /** A position is a version, the span that wrote it, and its object. */
  *pages(
    reference: string,
    after: Position = [],
    first = PAGE,
  ): Pages<ObjectVersionFacts> & Generator<ObjectVersionFacts[]> {
    const ids: number[] = []
    for (const page of this.#numbers.of(reference.split('?', 1)[0] ?? '')) {
      ids.push(...page)
      yield []
    }
    const isWanted = matcher(reference)
    const only = versionIn(reference)
    let [version = only ?? LAST, span = LAST, object = LAST] = after
    for (let most = Math.min(first, PAGE); ; most = PAGE) {
      const found = this.#upTo(ids, { version, span, object, least: only ?? -1n, most })
      yield found.flatMap((written) => this.#factsOf(written)).filter(isWanted)
      const last = found.at(-1)
      if (last === undefined || found.length < most) return
      ;({ version, span, object } = last)
    }
  }

  #upTo(ids: readonly number[], bind: Omit<Bind, 'object'> & { object: bigint }): Written[] {
    const { version, span, object, most } = bind
    return ids
      .flatMap((id) => this.#newest.all({ ...bind, object: id, most: most + 1 }))
      .filter((one) => one.version !== version || one.span !== span || one.object < object)
      .sort(highestFirst)
      .slice(0, most)
  }

  /** None for what was pruned since. */
  #factsOf(written: Written): ObjectVersionFacts[] {
    const row = this.#details.get(written)
    if (row === undefined) return []
    const [object, uid, name, spanId, timeNs, raw, cpid, uuid, service, cluster, ...seen] = row
    return [
      {
        position: [written.version, written.span, written.object],
        object: referenceOf({ object, uid, version: written.version }),
        timeNs,
        name,
        spanId,
        service,
        cluster: cluster === null || cluster === '' ? undefined : cluster,
        cpid: uuid === null ? undefined : cpidOfBytes(uuid),
        cascades: cpid === null ? [] : this.#cascadesOf(Number(cpid)),
        observed: namedObjects(raw).observed,
        seen: seenWriteOf(...seen),
      },
    ]
  }
}

function highestFirst(a: Written, b: Written): number {
  if (a.version !== b.version) return a.version > b.version ? -1 : 1
  if (a.span !== b.span) return a.span > b.span ? -1 : 1
  return Number(b.object - a.object)
}
