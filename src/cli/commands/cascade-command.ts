import type { Cpid } from '../../model/cpid.ts'
import type { CausewayQueries } from '../../model/ports/query-port.ts'
import { cascadeJson } from '../../query/cascade/cascade-json.ts'
import { cpidOf, wantsJson } from '../arguments.ts'
import { cascadeText } from '../text/cascade-text.ts'
import { CliError } from '../cli-error.ts'
import type { Run } from './command.ts'
import { found } from '../found.ts'
import { withQueries } from '../open-store.ts'
import { terminalOf, type Terminal } from '../text/terminal.ts'
import { count } from '../text/show.ts'

export const runCascade: Run = (line, io) => {
  const json = wantsJson(line)
  const named = cpidOf(line.args[0] ?? '')
  return withQueries(line, io, (queries) => {
    const cpid = named(queries)
    const roots = rootsOf(queries, cpid)
    for (const text of json
      ? asJson(queries, cpid, roots)
      : asText(queries, cpid, roots, terminalOf(io), line.all === true))
      io.stdout.write(text)
    return 0
  })
}

/** A root whose tombstone is left may still have cascades. */
function rootsOf(queries: CausewayQueries, cpid: Cpid): readonly Cpid[] {
  const own = queries.cascade(cpid)
  const roots = typeof own === 'string' ? found(cpid, queries.cascadesOf(cpid)) : [cpid]
  if (roots.length > 0) return roots
  throw new CliError(
    `CPID ${cpid} takes part in no cascade yet, since nothing of it has been linked; ` +
      'ask again in a few seconds, or start causeway if none is running',
  )
}

function* asText(
  queries: CausewayQueries,
  cpid: Cpid,
  roots: readonly Cpid[],
  screen: Terminal,
  all: boolean,
): Generator<string> {
  if (roots.length > 1)
    yield `CPID ${cpid} takes part in ${count(roots.length, 'cascade')}, newest first.\n\n`
  let separator = ''
  for (const root of roots) {
    const facts = queries.cascade(root)
    if (typeof facts === 'string') continue
    yield separator
    yield* cascadeText(queries, facts, screen, all)
    separator = '\n'
  }
}

/** `{"cpid":"...","cascades":[...]}` */
function* asJson(queries: CausewayQueries, cpid: Cpid, roots: readonly Cpid[]): Generator<string> {
  yield `{"cpid":"${cpid}","cascades":[`
  let separator = ''
  for (const root of roots) {
    const facts = queries.cascade(root)
    if (typeof facts === 'string') continue
    yield separator
    yield* cascadeJson(queries, facts)
    separator = ','
  }
  yield ']}\n'
}
