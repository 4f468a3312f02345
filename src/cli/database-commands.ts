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
import { archivedCascadesJson } from '../query/archive/archive-json.ts'
import { partialOf } from '../query/archive/asking-parts.ts'
import { mergelogJson } from '../query/object-json.ts'
import type { Cpid } from '../model/merge-graph.ts'
import { notePartial, wholeCpidOf, withArchive } from './ask-archive.ts'
import { requireFound, withQueries, withStore, writeJson } from './ask-database.ts'
import {
  causeOf,
  type CliIo,
  type CommandLine,
  cpidOf,
  limitOf,
  type Run,
  stateOf,
  timeOf,
  UsageError,
  wantsJson,
} from './command-line.ts'
import { loadCommandConfig } from './configuration.ts'
import { type ChangesDatabase, migrateDatabase, openForChanges } from './database-file.ts'
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

/** A small number, so that a Causeway on the same database does not wait long for the write lock. */
const CPIDS_AT_ONCE = 200

export const runPrune: Run = (line, io) => {
  const json = wantsJson(line)
  const { cpid } = loadCommandConfig(line, io).config
  return withStore(cpid.storage.path, openForChanges, (database) => {
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
  const filter = filterOf(line, io)
  if (line.archive !== undefined) return archivedCascades(line, io, filter, limit)
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

async function archivedCascades(
  line: CommandLine,
  io: CliIo,
  filter: CascadeFilter,
  limit: number,
): Promise<number> {
  return await withArchive(line, io, async (questions) => {
    if (wantsJson(line)) {
      const answer = await archivedCascadesJson(questions, filter, { limit })
      io.stdout.write(`${JSON.stringify(answer)}\n`)
      return 0
    }
    const { cascades, next, partial } = await questions.cascades(filter, { limit })
    const rows = cascades.map((facts) => [
      ...cascadeRow(facts),
      printable(facts.cluster),
      printable(facts.causeway),
    ])
    for (const row of textTable([...HEADINGS, 'cluster', 'causeway'], rows)) io.stdout.write(`${row}\n`)
    notePartial(io, partial)
    if (cascades.length === 0) io.stderr.write(nothingFound(filter))
    if (next !== undefined) io.stderr.write('Note: there are older ones; raise --limit to see them\n')
    return 0
  })
}

function nothingFound(filter: CascadeFilter): string {
  return Object.values(filter).every((value) => value === undefined)
    ? 'Note: there are no cascades; see with causeway doctor whether spans and mergelogs arrive\n'
    : 'Note: there are no such cascades; leave out one of the filters\n'
}

function filterOf(line: CommandLine, io: CliIo): CascadeFilter {
  const { object, service, cluster, actor, namespace } = line
  const [fromNs, toNs] = [timeOf('since', line, io), timeOf('until', line, io)]
  if (fromNs !== undefined && toNs !== undefined && fromNs > toNs)
    throw new UsageError('--since must be before --until; write the earlier time as --since')
  const named = { object, service, cluster, actor, namespace }
  return { state: stateOf(line), cause: causeOf(line), ...named, fromNs, toNs }
}

function cascadeRow(facts: Omit<CascadeFacts, 'position'>): string[] {
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
  if (line.archive !== undefined) return archivedMergelogs(line, io, limitOf(line, undefined))
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

async function archivedMergelogs(line: CommandLine, io: CliIo, limit: number | undefined): Promise<number> {
  if (line.args.length === 0)
    throw new UsageError(
      'name a CPID: with --archive, the mergelogs of one CPID and its descendants are listed; all mergelogs of the archive are in its view audit_mergelogs',
    )
  const cpid = wholeCpidOf(line)
  return await withArchive(line, io, async (questions) => {
    const answered = requireFound(cpid, await questions.cpids.mergelogs(cpid, { limit }))
    const { mergelogs, next, partial } = answered
    if (wantsJson(line)) {
      const listed = mergelogs.map(mergelogJson)
      io.stdout.write(`${JSON.stringify({ mergelogs: listed, next: next ?? null, ...partialOf(partial) })}\n`)
      return 0
    }
    io.stdout.write(new AlignedRows().lines(mergelogs.map(mergelogRow)))
    notePartial(io, partial)
    if (next !== undefined) io.stderr.write('Note: there are more; raise --limit to see them\n')
    return 0
  })
}

/** The sources come last, since there may be many. */
function mergelogRow({
  timeNs,
  cpid,
  service,
  object,
  reason,
  sources,
}: Omit<MergelogFacts, 'position'>): string[] {
  const from = sources.length === 0 ? 'root' : `<- ${sources.join(' ')}`
  return [rfc3339(timeNs), cpid, printable(service), objectText(object), printable(reason), from]
}

const NO_TIME = 'no mergelog yet'.padEnd('2026-01-01T00:00:00.000000000Z'.length)

export const runRelated: Run = (line, io) => {
  const json = wantsJson(line)
  if (line.archive !== undefined) return archivedRelated(line, io)
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

async function archivedRelated(line: CommandLine, io: CliIo): Promise<number> {
  const cpid = wholeCpidOf(line)
  return await withArchive(line, io, async (questions, database) => {
    const found = requireFound(cpid, await questions.cpids.related(cpid))
    if (wantsJson(line)) {
      const { cpids, partial } = found
      io.stdout.write(`${JSON.stringify({ cpid, related: cpids, ...partialOf(partial) })}\n`)
      return 0
    }
    const queries = database?.queries()
    const rowOf = (related: Cpid): string[] => {
      const here = queries?.cpid(related)
      const facts =
        here === undefined || typeof here === 'string' || here.timeNs === undefined
          ? found.described(related)
          : here
      const time = facts?.timeNs === undefined ? NO_TIME : rfc3339(facts.timeNs)
      return [related, time, printable(facts?.service), objectText(facts?.object)]
    }
    io.stdout.write(new AlignedRows().lines(found.cpids.map(rowOf)))
    notePartial(io, found.partial)
    return 0
  })
}

function relatedRow(queries: CausewayQueries, cpid: CpidFacts['cpid']): string[] {
  const facts = queries.cpid(cpid)
  if (typeof facts === 'string') return [cpid]
  const time = facts.timeNs === undefined ? NO_TIME : rfc3339(facts.timeNs)
  return [facts.cpid, time, printable(facts.service), objectText(facts.object)]
}
