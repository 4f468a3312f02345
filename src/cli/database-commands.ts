import type { CpidConfig } from '../config/causeway-config.ts'
import type {
  CascadeFacts,
  CascadeFilter,
  CausewayQueries,
  CpidFacts,
  MergelogFacts,
  Pages,
} from '../model/queries.ts'
import { noPruneCounts, type PruneCounts } from '../model/store-ports.ts'
import { rfc3339 } from '../model/time-and-size.ts'
import { LimitedPages } from '../query/list-json.ts'
import { requireFound, withQueries, withWritableStore, writeJson } from './ask-database.ts'
import { type CommandLine, cpidOf, limitOf, type Run, stateOf, wantsJson } from './command-line.ts'
import { loadCommandConfig } from './configuration.ts'
import { type ChangesDatabase, migrateDatabase } from './database-file.ts'
import { actorText, AlignedRows, count, duration, objectText, printable, textTable } from './text.ts'

export const runMigrate: Run = async (line, io) => {
  const json = wantsJson(line)
  const { path } = loadCommandConfig(line, io).config.cpid.storage
  const applied = await migrateDatabase(path)
  if (json) io.stdout.write(`${JSON.stringify({ path, applied })}\n`)
  else if (applied.length === 0) io.stdout.write(`${path} is up to date\n`)
  else for (const name of applied) io.stdout.write(`${path}: applied ${name}\n`)
  return 0
}

/** Small enough that a Causeway that runs on the same database need not wait long for its turn. */
const CPIDS_AT_ONCE = 200

export const runPrune: Run = (line, io) => {
  const json = wantsJson(line)
  const { cpid } = loadCommandConfig(line, io).config
  return withWritableStore(cpid.storage.path, (database) => {
    const counts = pruneAll(database, cpid)
    io.stdout.write(json ? `${JSON.stringify(counts)}\n` : textOf(counts))
    return 0
  })
}

function pruneAll(database: ChangesDatabase, { linking, maxSources, retention }: CpidConfig): PruneCounts {
  const writer = database.writer({ linking: { ...linking, logs: false }, maxSources, retention })
  const total = noPruneCounts()
  for (let more = true; more;) {
    const result = writer.prune(CPIDS_AT_ONCE, { isCalendarRight: true })
    total.cpids += result.cpids
    total.spans += result.spans
    total.logs += result.logs
    total.unsettled += result.unsettled
    total.unsent += result.unsent
    more = result.more
  }
  return total
}

function textOf({ cpids, spans, logs, unsettled, unsent }: PruneCounts): string {
  const forced = unsettled === 0 ? '' : `; ${count(unsettled, 'CPID')} of open or unsent cascades among them`
  const without = unsent === 0 ? '' : `; ${unsent} spans and log records without a CPID were not sent yet`
  return `pruned ${count(cpids, 'CPID')}, ${count(spans, 'span')} and ${count(logs, 'log record')}${forced}${without}\n`
}

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
    const cut = new LimitedPages(limit)
    const cascades = [...cut.take(queries.cascades(filter, undefined))].flat()
    for (const row of textTable(HEADINGS, cascades.map(cascadeRow))) io.stdout.write(`${row}\n`)
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

function cascadeRow(facts: CascadeFacts): string[] {
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

export const runMergelogs: Run = (line, io) => {
  const json = wantsJson(line)
  const [text] = line.args
  const named = text === undefined ? undefined : cpidOf(text)
  const limit = limitOf(line, undefined)
  return withQueries(line, io, (queries) => {
    const cpid = named?.(queries)
    if (json) {
      const part = limit === undefined ? {} : { limit }
      writeJson(io.stdout, queries, { kind: 'mergelogs', part, ...(cpid !== undefined && { cpid }) }, cpid)
      return 0
    }
    const pages: Pages<MergelogFacts> =
      cpid === undefined
        ? queries.mergelogs(undefined)
        : requireFound(cpid, queries.mergelogsOf(cpid, undefined))
    const cut = new LimitedPages(limit)
    const aligned = new AlignedRows()
    let isEmpty = true
    for (const page of cut.take(pages)) {
      isEmpty &&= page.length === 0
      io.stdout.write(aligned.lines(page.map(mergelogRow)))
    }
    if (isEmpty)
      io.stderr.write('Note: there are no mergelogs; see with causeway doctor whether any arrive\n')
    if (cut.next !== undefined) io.stderr.write('Note: there are more; raise --limit to see them\n')
    return 0
  })
}

/** The sources come last, since there may be many. */
function mergelogRow({ timeNs, cpid, service, object, reason, sources }: MergelogFacts): string[] {
  const from = sources.length === 0 ? 'root' : `<- ${sources.join(' ')}`
  return [rfc3339(timeNs), cpid, printable(service), objectText(object), printable(reason), from]
}

const NO_TIME = 'no mergelog yet'.padEnd('2026-01-01T00:00:00.000000000Z'.length)

export const runRelated: Run = (line, io) => {
  const json = wantsJson(line)
  const named = cpidOf(line.args[0] ?? '')
  return withQueries(line, io, (queries) => {
    const cpid = named(queries)
    if (json) writeJson(io.stdout, queries, { kind: 'related', cpid }, cpid)
    else {
      const aligned = new AlignedRows()
      for (const page of requireFound(cpid, queries.related(cpid))) {
        io.stdout.write(aligned.lines(page.map((related) => relatedRow(queries, related))))
      }
    }
    return 0
  })
}

function relatedRow(queries: CausewayQueries, cpid: CpidFacts['cpid']): string[] {
  const facts = queries.cpid(cpid)
  if (typeof facts === 'string') return [cpid]
  const time = facts.timeNs === undefined ? NO_TIME : rfc3339(facts.timeNs)
  return [facts.cpid, time, printable(facts.service), objectText(facts.object)]
}
