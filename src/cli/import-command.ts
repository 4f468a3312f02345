import { type Imported, importInto } from '../importing/import-recordings.ts'
import { ownValue } from '../model/untrusted-names.ts'
import { type Run, UsageError, wantsJson } from './command-line.ts'
import { loadCommandConfig } from './configuration.ts'
import { count } from './text.ts'

/** A configuration with all defaults; the database is ./data/causeway.db. */
const WITHOUT_CONFIG = `yaml:
receivers: { otlp: { protocols: { http: } } }
connectors: { cpid: }
exporters: { debug: }
service:
  pipelines:
    traces/in: { receivers: [otlp], exporters: [cpid] }
    traces/out: { receivers: [cpid], exporters: [debug] }
`

export const runImport: Run = async (line, io) => {
  const json = wantsJson(line)
  const { cluster, audit = [], watch = [] } = line
  if (cluster === undefined || cluster === '')
    throw new UsageError('import needs --cluster <name>, which becomes k8s.cluster.name')
  const recordings = [
    ...audit.map((path) => ({ source: 'audit', path }) as const),
    ...watch.map((path) => ({ source: 'watch', path }) as const),
  ]
  if (recordings.length === 0) throw new UsageError('import needs --audit <file>, --watch <file> or both')
  const sources = line.sources.length > 0 ? line.sources : [WITHOUT_CONFIG]
  const { config } = loadCommandConfig({ ...line, sources }, io)
  const options = line.follow === true ? { follow: (io.untilAsked ?? never)() } : {}
  const imported = await importInto(config, cluster, recordings, options)
  io.stdout.write(
    json ? `${JSON.stringify(imported)}\n` : textOf(imported, config.cpid.storage.path, line.follow),
  )
  return isUseless(imported) ? 1 : 0
}

const never = (): AbortSignal => new AbortController().signal

/** Whether the recording has lines, but none of the kind that its option names. */
function isUseless({ lines, told, faulty }: Imported): boolean {
  return lines > 0 && told === 0 && faulty > 0
}

function textOf(imported: Imported, path: string, follows = false): string {
  const { lines, known, told, skipped, faulty, faults, warnings } = imported
  const others = Object.entries(skipped).map(([why, number]) => `${number} ${ownValue(WHY, why) ?? why}`)
  const text = [
    `read ${count(lines, 'line')}${known === 0 ? '' : `; ${known} more were imported before`}`,
    `found ${count(told, 'version')} and requests${others.length === 0 ? '' : `; left out: ${others.join(', ')}`}`,
  ]
  if (faulty > 0) {
    text.push(`${count(faulty, 'line')} could not be read and ${faulty === 1 ? 'was' : 'were'} skipped:`)
    text.push(...faults.map((fault) => `  ${fault}`))
  }
  text.push(...warnings)
  if (isUseless(imported))
    text.push(
      'no line could be used: check that --audit names an audit log as the API server writes it, and --watch what kubectl get … --watch --output-watch-events -o json printed, both an object a line',
    )
  else if (lines + known === 0) text.push('the recordings are empty')
  else text.push(`stored in ${path}; causeway cascades lists what there is`)
  if (follows)
    text.push(
      'cascades that are open stay open: name the same files again to continue, and leave out --follow once they are complete',
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
