import { cpidOfBytes, parseCpid, parseCpidPrefix, type Cpid } from '../../model/cpid.ts'
import type { Absent, CausewayQueries, Pages } from '../../model/ports/query-port.ts'
import type { Sqlite } from '../open-database.ts'

/** What can stand in FROM beside tables, each with a CPID as its argument and rows (cpid, place) as its answer. */
export const GRAPH_TABLES = ['related', 'ancestors', 'roots'] as const

const CPID_BYTES = 16

/**
 * Adds the functions `related(cpid)`, `ancestors(cpid)` and `roots(cpid)` to a connection. `place` counts from 1 in
 * the order of the API. A CPID of which nothing is known has no rows and is told to `onAbsent`; what is no CPID is an
 * error, and NULL has no rows.
 */
export function addGraphTables(
  db: Sqlite,
  queries: CausewayQueries,
  onAbsent: (cpid: Cpid, why: Absent) => void,
): void {
  for (const name of GRAPH_TABLES) {
    db.table(name, {
      columns: ['cpid', 'place'],
      parameters: ['of'],
      *rows(of: unknown) {
        if (of === null) return
        const cpid = cpidIn(name, of, queries)
        const pages: Pages<Cpid> | Absent = queries[name](cpid)
        if (typeof pages === 'string') {
          onAbsent(cpid, pages)
          return
        }
        let place = 0
        for (const page of pages) for (const one of page) yield { cpid: one, place: ++place }
      },
    })
  }
}

function cpidIn(name: string, value: unknown, queries: CausewayQueries): Cpid {
  if (value === undefined) throw new Error(`${name} needs a CPID; write ${name}('<cpid>')`)
  if (Buffer.isBuffer(value) && value.length === CPID_BYTES) return cpidOfBytes(value)
  const cpid = typeof value === 'string' ? parseCpid(value) : undefined
  if (cpid !== undefined) return cpid
  const prefix = typeof value === 'string' ? parseCpidPrefix(value) : undefined
  if (prefix !== undefined) {
    const [first, second] = queries.cpidsBeginning(prefix, 2)
    if (first !== undefined && second === undefined) return first
    const many = first === undefined ? 'no CPID begins' : 'several CPIDs begin'
    throw new Error(`${many} with ${prefix}, which ${name} was given; write more digits of one that there is`)
  }
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 64)) : `a ${typeof value}`
  throw new Error(
    `${name} was given ${shown}, which is no CPID; write a UUID in quotes, as ${name}('<cpid>')`,
  )
}
