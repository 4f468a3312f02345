import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMPONENTS, WATCHING } from '../../app/components.ts'
import { kubeconfigAccess } from '../../cluster/kubeconfig-access.ts'
import type { LoadedConfig } from '../../config/load-config.ts'
import { CliError, messageOf } from '../cli-error.ts'
import type { CliIo } from '../cli-io.ts'
import type { CommandLine } from '../command-line.ts'
import { checkReceivers } from '../doctor/check-receivers.ts'
import { logForPeople } from '../observe/log-for-people.ts'
import { observeConfig } from '../observe/observe-config.ts'
import { SettledCascades, watchSettled, type SettledCascade } from '../observe/settled-cascades.ts'
import { configOf } from '../open-store.ts'
import { count, duration, objectText, plain } from '../text/show.ts'
import type { Command } from './command.ts'

const LOOK_EVERY_MS = 1_000
const NANOS_PER_MS = 1e6
const SHOWN_SERVICES = 5

const HELP = `
Needs no configuration and no rights but to list and watch; what may not be seen is said first. Watches the current context of
the kubeconfig as kubectl does, prints each cascade as it settles, and serves the dashboard until it is ended with Ctrl-C. What was
seen is kept in --database, and gone without it. --namespace takes several with commas between them. --set changes anything of
the configuration that this comes to.
`

export const OBSERVE: Command = {
  usage: '',
  summary: 'watch a cluster that nobody patched, and print each cascade as it settles',
  help: HELP,
  options: ['kubeconfig', 'context', 'namespace', 'database'],
  leastArgs: 0,
  mostArgs: 0,
  run: async (line, io) => {
    if (line.sources.length > 0)
      throw new CliError('observe is a configuration by itself; leave --config out, and change it with --set')
    using folder = line.database === undefined ? temporaryFolder() : undefined
    const loaded = load(line, line.database ?? join(folder?.path ?? '', 'causeway.db'), io)
    await sayWhatIsSeen(loaded, io)
    const [listener] = loaded.config.extensions.flatMap(({ listeners }) => listeners)
    const url = `http://${listener?.host ?? 'localhost'}:${listener?.port ?? 0}`
    const stop = new AbortController()
    const show = (cascade: SettledCascade): void => void io.stdout.write(`${lineOf(cascade, url)}\n`)
    const watching = watchSettled(new SettledCascades(url), LOOK_EVERY_MS, show, stop.signal)
    const writeLog = logForPeople({
      listed: (resources) =>
        io.stdout.write(`Watching ${resources} resources; the dashboard is at ${url}/. Ctrl-C ends it.\n`),
      complaint: (text) => io.stderr.write(`${text}\n`),
    })
    try {
      return await io.run(loaded, () => loaded, writeLog)
    } finally {
      stop.abort()
      await watching
    }
  },
}

function load(line: CommandLine, database: string, io: CliIo): LoadedConfig {
  const { kubeconfig, context } = line
  const namespaces = line.namespace?.split(',') ?? []
  const cluster = nameOfCluster(kubeconfig, context)
  const source = observeConfig(WATCHING, { cluster, kubeconfig, context, namespaces, database })
  return configOf({ ...line, sources: [source] }, io)
}

function nameOfCluster(path: string | undefined, context: string | undefined): string {
  try {
    return kubeconfigAccess({ path, context }).name
  } catch (error) {
    throw new CliError(messageOf(error))
  }
}

/** Says what is seen and what is not. Throws CliError when nothing is. */
async function sayWhatIsSeen({ config }: LoadedConfig, io: CliIo): Promise<void> {
  for await (const { state, message, advice = '' } of checkReceivers(config, io.components ?? COMPONENTS)) {
    if (state === 'fail') throw new CliError(`${plain(message)}; ${advice}`)
    io.stdout.write(`${plain(message)}${advice === '' ? '' : `\n  ${advice}`}\n`)
  }
}

function temporaryFolder(): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'causeway-observe-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** What, who, which services, how long; and where there is more. */
function lineOf({ root, object, actor, services, spans, durationMs }: SettledCascade, url: string): string {
  const shown = services.slice(0, SHOWN_SERVICES).map(plain).join(', ')
  const more = services.length > SHOWN_SERVICES ? ` and ${services.length - SHOWN_SERVICES} more` : ''
  const took = duration(BigInt(Math.round(durationMs * NANOS_PER_MS)))
  const what = `${objectText(object ?? undefined)} by ${plain(actor ?? undefined)}`
  return `${what}: ${count(spans, 'write')} of ${shown}${more} in ${took}  ${url}/cascades/${root}`
}
