import type { Statement } from 'better-sqlite3'
import { cpidOfBytes, type Cpid } from '../../model/cpid.ts'
import type { ObjectFacts, Pages, Position } from '../../model/query-port.ts'
import type { Sqlite } from '../open-database.ts'
import { ObjectNumbers } from './object-numbers.ts'

const PAGE = 200
const LAST = 2n ** 63n - 1n
const ACTIONS = ['observed', 'wrote', 'mergelog'] as const
const MERGELOG = 2n

interface FactsRow {
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

/**
 * What happened to some objects in the order of arrival, newest first; several things of one arrival are told apart by
 * their place. The time is when a span that wrote ended, when one that observed started, when a merge happened.
 */
const FACTS = `WITH happened AS (
   SELECT o.span AS arrival, o.object, o.role AS action, o.version, o.uid,
     (o.object * 2 + o.role) * 4 AS place
   FROM json_each(@ids) j JOIN span_objects o ON o.object = j.value WHERE o.span <= @arrival
   UNION ALL
   SELECT m.arrival, m.object_id, 2, -1, NULL, m.object_id * 8 + 1
   FROM json_each(@ids) j JOIN mergelogs m ON m.object_id = j.value WHERE m.arrival <= @arrival
   ORDER BY 1 DESC, 6 DESC, 4 DESC LIMIT @most)
 SELECT h.arrival, h.place, h.action, coalesce(m.object, b.object) AS object, h.version, h.uid, c.id AS cpid, c.uuid,
   coalesce(m.time_ns, CASE h.action WHEN 1 THEN s.end_ns ELSE s.start_ns END) AS time_ns, r.service, r.cluster
 FROM happened h JOIN objects b ON b.id = h.object LEFT JOIN spans s ON h.action < 2 AND s.id = h.arrival
 LEFT JOIN mergelogs m ON h.action = 2 AND m.arrival = h.arrival
 LEFT JOIN cpids c ON c.id = coalesce(m.cpid, s.cpid)
 LEFT JOIN scopes p ON p.id = coalesce(m.scope, s.scope) LEFT JOIN resources r ON r.id = p.resource
 ORDER BY h.arrival DESC, h.place DESC, h.version DESC`

/** Reads what happened to objects. */
export class ObjectFactsReader {
  readonly #numbers: ObjectNumbers
  readonly #facts: Statement<[{ ids: string; arrival: bigint; most: number }], FactsRow>
  readonly #cascadesOf: (cpid: number) => readonly Cpid[]

  constructor(db: Sqlite, cascadesOf: (cpid: number) => readonly Cpid[]) {
    this.#numbers = new ObjectNumbers(db)
    this.#cascadesOf = cascadesOf
    this.#facts = db.prepare<[{ ids: string; arrival: bigint; most: number }], FactsRow>(FACTS).safeIntegers()
  }

  named(text: string): Pages<string> {
    return this.#numbers.named(text)
  }

  /** A position is an arrival and how many things of that arrival came before. */
  *pages(reference: string, after: Position = []): Pages<ObjectFacts> & Generator<ObjectFacts[]> {
    const ids: number[] = []
    for (const page of this.#numbers.of(reference.split('?', 1)[0] ?? '')) {
      ids.push(...page)
      yield []
    }
    const wanted = JSON.stringify(ids)
    const isWanted = matcher(reference)
    let [arrival = LAST, skip = 0n] = after
    for (let most = PAGE; ; most = PAGE) {
      const rows = this.#facts.all({ ids: wanted, arrival, most: most + Number(skip) })
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

  #factsOf(row: FactsRow, position: Position): ObjectFacts {
    return {
      position,
      object: row.action === MERGELOG ? row.object : referenceOf(row),
      action: ACTIONS[Number(row.action)] ?? 'observed',
      cpid: row.uuid === null ? undefined : cpidOfBytes(row.uuid),
      timeNs: row.time_ns,
      service: textOf(row.service),
      cluster: textOf(row.cluster),
      cascades: row.cpid === null ? [] : this.#cascadesOf(Number(row.cpid)),
    }
  }
}

/** With a uid or a version in the reference, only what has the same. */
function matcher(reference: string): (facts: ObjectFacts) => boolean {
  const wanted = [...new URLSearchParams(reference.split('?', 2)[1] ?? '')]
  return ({ object }) => {
    const has = new URLSearchParams(object.split('?', 2)[1] ?? '')
    return wanted.every(([name, value]) => has.get(name) === value)
  }
}

function referenceOf({ object, uid, version }: FactsRow): string {
  const values = [...(uid === null ? [] : [`uid=${uid}`]), ...(version < 0n ? [] : [`rv=${version}`])]
  return values.length === 0 ? object : `${object}?${values.join('&')}`
}

function textOf(column: string | null): string | undefined {
  return column === null || column === '' ? undefined : column
}
