import { importInto } from '../../app/importing/import-into.ts'
import type { Imported } from '../../app/importing/import-counts.ts'
import { ownValue } from '../../model/own-value.ts'
import { wantsJson } from '../arguments.ts'
import { CliError, EXIT_USAGE } from '../cli-error.ts'
import { configOf } from '../open-store.ts'
import { count } from '../text/show.ts'
import type { Command } from './command.ts'

const HELP = `
Reads what was recorded of a cluster, and stores what a Causeway that had been there would have stored: its clock is that of
the recording. An audit log is read as the API server writes it (audit.k8s.io/v1, an event a line); of a watch is read what
kubectl get … --watch --output-watch-events -o json prints, each line optionally with a "time". Files may be compressed with
gzip. Either source is enough; both together say more.

What is stored depends on the lines alone: they may stand in one file or in many, rotated or one for each resource, in any
order. An import that was interrupted goes on when the same files are named again. Importing the same again changes nothing.

Without --follow the recording is over where the files end: time goes on until every cascade has settled. A recording that
grows is imported with --follow: then nothing settles before the recording's own clock says so, and Ctrl-C leaves open what is
open. Name the files again to go on, with --follow or, once nothing more comes, without.

No Causeway may run on the database, which is ./data/causeway.db without --config, and none should before the import is over.
`

/** Everything as it is by itself: the database is ./data/causeway.db. */
const WITHOUT_CONFIG = `yaml:
receivers: { otlp: { protocols: { http: } } }
connectors: { cpid: }
exporters: { debug: }
service:
  pipelines:
    traces/in: { receivers: [otlp], exporters: [cpid] }
    traces/out: { receivers: [cpid], exporters: [debug] }
`

export const IMPORT: Command = {
  usage: '',
  summary: 'store the cascades of a cluster from recordings of its audit log and of a watch',
  help: HELP,
  config: 'optional',
  options: ['cluster', 'audit', 'watch', 'follow', 'format'],
  leastArgs: 0,
  mostArgs: 0,
  run: async (line, io) => {
    const json = wantsJson(line)
    const { cluster, audit = [], watch = [] } = line
    if (cluster === undefined || cluster === '')
      throw new CliError('import needs --cluster <name>, which becomes k8s.cluster.name', EXIT_USAGE)
    const recordings = [
      ...audit.map((path) => ({ source: 'audit', path }) as const),
      ...watch.map((path) => ({ source: 'watch', path }) as const),
    ]
    if (recordings.length === 0)
      throw new CliError('import needs --audit <file>, --watch <file> or both', EXIT_USAGE)
    const sources = line.sources.length > 0 ? line.sources : [WITHOUT_CONFIG]
    const { config } = configOf({ ...line, sources }, io)
    const options = line.follow === true ? { follow: (io.untilAsked ?? never)() } : {}
    const imported = await importInto(config, cluster, recordings, options)
    io.stdout.write(
      json ? `${JSON.stringify(imported)}\n` : textOf(imported, config.cpid.storage.path, line.follow),
    )
    return isUseless(imported) ? 1 : 0
  },
}

const never = (): AbortSignal => new AbortController().signal

/** Nothing of it was what it was named as. */
function isUseless({ lines, told, faulty }: Imported): boolean {
  return lines > 0 && told === 0 && faulty > 0
}

function textOf(imported: Imported, path: string, follows = false): string {
  const { lines, known, told, skipped, faulty, faults, warnings } = imported
  const others = Object.entries(skipped).map(([why, number]) => `${number} ${ownValue(WHY, why) ?? why}`)
  const text = [
    `read ${count(lines, 'line')}${known === 0 ? '' : `; ${known} more were imported before`}`,
    `told of ${count(told, 'version')} and requests${others.length === 0 ? '' : `; left out: ${others.join(', ')}`}`,
  ]
  if (faulty > 0) {
    text.push(`${count(faulty, 'line')} could not be read and ${faulty === 1 ? 'was' : 'were'} passed over:`)
    text.push(...faults.map((fault) => `  ${fault}`))
  }
  text.push(...warnings)
  if (isUseless(imported))
    text.push(
      'nothing was told: check that --audit names an audit log as the API server writes it, and --watch what kubectl get … --watch --output-watch-events -o json printed, both an object a line',
    )
  else if (lines + known === 0) text.push('nothing is in it')
  else text.push(`stored in ${path}; causeway cascades lists what there is`)
  if (follows)
    text.push(
      'what is open stays open: name the same files again to go on, without --follow once nothing more comes',
    )
  return `${text.join('\n')}\n`
}

const WHY: Readonly<Record<string, string>> = {
  read: 'that only read',
  stage: 'of other stages',
  failed: 'that failed',
  dry_run: 'dry runs',
  event: 'of Events',
  lease: 'of leases',
  heartbeat: 'heartbeats',
  no_object: 'of no object',
  unversioned: 'whose resourceVersion is no number',
}
