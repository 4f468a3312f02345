import type { CascadeFacts, CascadeFilter } from '../../model/ports/query-port.ts'
import { PageCut } from '../../query/page-cut.ts'
import { rfc3339 } from '../../model/rfc3339.ts'
import { limitOf, stateOf, wantsJson } from '../arguments.ts'
import type { Run } from './command.ts'
import type { CommandLine } from '../command-line.ts'
import { writeJson } from '../found.ts'
import { withQueries } from '../open-store.ts'
import { actorText } from '../text/actor-text.ts'
import { duration, objectText } from '../text/show.ts'
import { textTable } from '../text/text-table.ts'

const DEFAULT_LIMIT = 100
const HEADINGS = [
  'root CPID',
  'state',
  'start',
  ' duration',
  ' spans',
  ' services',
  ' merges',
  ' missing',
  'begun by',
  'object',
]

export const runCascades: Run = (line, io) => {
  const json = wantsJson(line)
  const limit = limitOf(line, DEFAULT_LIMIT)
  const filter = filterOf(line)
  return withQueries(line, io, (queries) => {
    if (json) {
      writeJson(io.stdout, queries, { kind: 'cascades', filter, part: { limit } })
      return 0
    }
    const cut = new PageCut(limit)
    const cascades = [...cut.take(queries.cascades(filter, undefined))].flat()
    for (const row of textTable(HEADINGS, cascades.map(rowOf))) io.stdout.write(`${row}\n`)
    if (cascades.length === 0) io.stderr.write(nothingFound(filter))
    if (cut.next !== undefined) io.stderr.write('Note: there are older ones; raise --limit to see them\n')
    return 0
  })
}

function nothingFound(filter: CascadeFilter): string {
  return Object.keys(filter).length === 0
    ? 'Note: there are no cascades; see with causeway doctor whether spans and mergelogs arrive\n'
    : 'Note: there are no such cascades; leave out one of the filters\n'
}

function filterOf(line: CommandLine): CascadeFilter {
  const state = stateOf(line)
  const { object, service, actor, namespace } = line
  return {
    ...(state !== undefined && { state }),
    ...(object !== undefined && { object }),
    ...(service !== undefined && { service }),
    ...(actor !== undefined && { actor }),
    ...(namespace !== undefined && { namespace }),
  }
}

function rowOf(facts: CascadeFacts): string[] {
  return [
    facts.root,
    facts.open ? 'open' : 'settled',
    rfc3339(facts.startNs),
    duration(facts.lastNs - facts.startNs),
    String(facts.spans),
    String(facts.services),
    String(facts.merges),
    String(facts.missing),
    actorText(facts.actor, facts.service),
    objectText(facts.object),
  ]
}
