import { cpidOfBytes, type Cpid } from '../../../model/cpid.ts'
import type { Pages, Position } from '../../../model/ports/query-port.ts'
import type { ObjectFacts } from '../../../model/ports/object-history.ts'
import type { Sqlite } from '../../open-database.ts'
import { ObjectEvents, type ObjectEventRow } from './object-event-rows.ts'
import { ObjectNumbers } from './object-numbers.ts'
import { matcher, referenceOf } from './wanted-object.ts'

const PAGE = 200
const LAST = 2n ** 63n - 1n
const ACTIONS = ['observed', 'wrote', 'mergelog'] as const
const MERGELOG = 2n

/** Reads what happened to objects. The time is when a span that wrote ended, when one that observed started, when a merge happened. */
export class ObjectFactsReader {
  readonly #numbers: ObjectNumbers
  readonly #happenings: ObjectEvents
  readonly #cascadesOf: (cpid: number) => readonly Cpid[]

  constructor(db: Sqlite, cascadesOf: (cpid: number) => readonly Cpid[], happenings = new ObjectEvents(db)) {
    this.#numbers = new ObjectNumbers(db)
    this.#cascadesOf = cascadesOf
    this.#happenings = happenings
  }

  named(text: string): Pages<string> {
    return this.#numbers.named(text)
  }

  /** A position is an arrival and how many things of that arrival came before. The first page has at most `first`. */
  *pages(
    reference: string,
    after: Position = [],
    first = PAGE,
  ): Pages<ObjectFacts> & Generator<ObjectFacts[]> {
    const ids: number[] = []
    for (const page of this.#numbers.of(reference.split('?', 1)[0] ?? '')) {
      ids.push(...page)
      yield []
    }
    const wanted = JSON.stringify(ids)
    const isWanted = matcher(reference)
    let [arrival = LAST, skip = 0n] = after
    for (let most = Math.min(first, PAGE); ; most = PAGE) {
      const rows = this.#happenings.upTo(arrival, wanted, most + Number(skip))
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

  #factsOf(row: ObjectEventRow, position: Position): ObjectFacts {
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

function textOf(column: string | null): string | undefined {
  return column === null || column === '' ? undefined : column
}
