import type { CausewayQueries, CpidFacts } from '../../model/ports/query-port.ts'
import { rfc3339 } from '../../model/rfc3339.ts'
import { cpidOf, wantsJson } from '../arguments.ts'
import type { Run } from './command.ts'
import { found, writeJson } from '../found.ts'
import { withQueries } from '../open-store.ts'
import { AlignedRows } from '../text/aligned-rows.ts'
import { objectText, plain } from '../text/show.ts'

const NO_TIME = 'no mergelog yet'.padEnd('2026-01-01T00:00:00.000000000Z'.length)

export const runRelated: Run = (line, io) => {
  const json = wantsJson(line)
  const named = cpidOf(line.args[0] ?? '')
  return withQueries(line, io, (queries) => {
    const cpid = named(queries)
    if (json) writeJson(io.stdout, queries, { kind: 'related', cpid }, cpid)
    else {
      const aligned = new AlignedRows()
      for (const page of found(cpid, queries.related(cpid))) {
        io.stdout.write(aligned.lines(page.map((related) => rowOf(queries, related))))
      }
    }
    return 0
  })
}

function rowOf(queries: CausewayQueries, cpid: CpidFacts['cpid']): string[] {
  const facts = queries.cpid(cpid)
  if (typeof facts === 'string') return [cpid]
  const time = facts.timeNs === undefined ? NO_TIME : rfc3339(facts.timeNs)
  return [facts.cpid, time, plain(facts.service), objectText(facts.object)]
}
