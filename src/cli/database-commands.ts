import type { CpidConfig } from '../config/causeway-config.ts'
import { noPruneCounts, type PruneCounts } from '../model/store-ports.ts'
import { type ChangesDatabase, migrateDatabase } from './database-file.ts'
import { withWritableStore } from './ask-database.ts'
import { type Run, wantsJson } from './command-line.ts'
import { loadCommandConfig } from './configuration.ts'
import { count } from './text.ts'

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
